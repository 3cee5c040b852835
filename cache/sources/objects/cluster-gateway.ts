// The source of cluster-gateway's Secrets alone, for hubs without Open Cluster Management; together with `ocm` they are
// read there. The watch selects by the label's name only, so that a Secret with a wrong type is listed with its
// problem.
import type { HubSource } from '../../hub/hub-types.ts';
import {
  credentialTypeLabel,
  isGatewaySecret,
  secretRegistration,
  type GatewaySecretSettings,
} from './cluster-gateway-secret.ts';
import { oldestFirst } from './hub-object.ts';
import type { ExecSettings } from '../kubeconfig/kubeconfig-credential.ts';
import { makeRegistry } from './registration.ts';
import type { WatchedResource } from '../../hub/hub-types.ts';

export interface ClusterGatewayOptions extends GatewaySecretSettings {
  /** Namespace of the Secrets. */
  readonly secretNamespace: string;
  readonly exec?: ExecSettings;
}

/** The Secrets of that namespace that are clusters. */
export function gatewaySecrets(namespace: string): WatchedResource {
  return { group: '', version: 'v1', resource: 'secrets', namespace, labelSelector: credentialTypeLabel };
}

/** Makes the source. */
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
