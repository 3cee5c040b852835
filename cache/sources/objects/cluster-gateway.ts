// The source that makes one cluster of each cluster-gateway Secret, for hubs without Open Cluster Management. When the
// source `ocm` is used as well, ocm.ts reads these Secrets instead. The watch selects Secrets that have the credential
// type label with any value, so that a wrong value shows up as a problem.
import type { HubSource } from '../hub-source.ts';
import {
  credentialTypeLabel,
  isGatewaySecret,
  secretRegistration,
  type GatewaySecretSettings,
} from './cluster-gateway-secret.ts';
import { oldestFirst } from './hub-object.ts';
import type { ExecSettings } from '../kubeconfig/kubeconfig-credential.ts';
import { makeRegistry } from './registration.ts';
import type { WatchedResource } from '../../../kube/types.ts';

export interface ClusterGatewayOptions extends GatewaySecretSettings {
  /** The namespace on the hub that holds cluster-gateway's Secrets. */
  readonly secretNamespace: string;
  readonly exec?: ExecSettings;
}

/** What to watch: the Secrets in `namespace` that have the credential type label. */
export function gatewaySecrets(namespace: string): WatchedResource {
  return { group: '', version: 'v1', resource: 'secrets', namespace, labelSelector: credentialTypeLabel };
}

export function makeClusterGatewaySource(options: ClusterGatewayOptions): HubSource {
  const registry = makeRegistry('cluster-gateway', options.exec);
  return {
    name: 'cluster-gateway',
    watches: [gatewaySecrets(options.secretNamespace)],
    compile([secrets = new Map()]) {
      const clusters = oldestFirst(secrets).filter(([, secret]) => isGatewaySecret(secret));
      return registry(clusters.map(([, secret]) => secretRegistration(secret, options)));
    },
  };
}
