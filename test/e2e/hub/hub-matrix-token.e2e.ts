// The kubectl matrix straight to the gateway, with a token that only the hub knows.
import { matrixThrough } from './hub-matrix.ts';

matrixThrough('with a hub token', async ({ hub, gateway }, person) => ({
  user: hub.users[person],
  endpoint: {
    url: gateway.url,
    caFile: gateway.caFile,
    path: '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/m2/proxy',
  },
}));
