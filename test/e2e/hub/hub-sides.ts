// kubectl as a person of the hub, and clusters of the hub's other sources, for tests of hub mode. The token is one of
// the hub, so that whoever answers must have asked the hub who that is.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import type { Member } from '../../controlplane/fixture.ts';
import type { HubSite } from '../../hub/site.ts';
import { makeSide } from '../kubectl/sides.ts';
import type { Endpoint, Side } from '../kubectl/sides.ts';

let sides = 0;

/** kubectl with a hub user's token; on the hub unless another endpoint is given. */
export function hubSide(site: HubSite, name: keyof Member['users'], endpoint?: Endpoint): Side {
  const { hub, plane } = site;
  const { token, uid, groups } = hub.users[name];
  sides += 1;
  const parent = join(plane.dir, `hub-side-${sides}`);
  mkdirSync(parent);
  const through = endpoint ?? { url: hub.url, caFile: hub.caFile, path: '' };
  return makeSide('gateway', plane.binaries['kubectl']!, hub, { name, uid, groups, token }, parent, through);
}

/** A member as Open Cluster Management knows it: ManagedCluster and the token Secret of its managed-serviceaccount. */
export function ocmCluster(member: Member): readonly object[] {
  const { name, url, caPem, gatewayToken } = member;
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    {
      apiVersion: 'cluster.open-cluster-management.io/v1',
      kind: 'ManagedCluster',
      metadata: { name },
      spec: {
        hubAcceptsClient: true,
        leaseDurationSeconds: 60,
        managedClusterClientConfigs: [{ url, caBundle: Buffer.from(caPem).toString('base64') }],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'cluster-gateway',
        namespace: name,
        labels: { 'authentication.open-cluster-management.io/is-managed-serviceaccount': 'true' },
      },
      stringData: { token: gatewayToken, 'ca.crt': caPem },
    },
  ];
}
