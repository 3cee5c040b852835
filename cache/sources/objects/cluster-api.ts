// The source that makes one cluster of each Cluster of Cluster API. The credential is the kubeconfig that the control
// plane provider writes into the Secret `<name>-kubeconfig`. Two namespaces may have Clusters of the same name: the
// older Cluster keeps the name, and the younger is listed with the problem NameConflict.
import type { HubObject, HubObjects, HubSource, WatchedResource } from '../../hub/hub-types.ts';
import {
  about,
  conditionsNamed,
  fieldOf,
  labelOf,
  labelsOf,
  oldestFirst,
  secretText,
  titleOf,
  trimLineEnd,
} from './hub-object.ts';
import { makeRegistry, type Registration } from './registration.ts';
import { readSecretKubeconfig } from './secret-kubeconfig.ts';
import { SourceFault, unusable } from '../unusable.ts';

/** The option of sources whose objects may be in several namespaces. */
export interface NamespacedOptions {
  /** The namespaces to watch. Empty means all namespaces. */
  readonly namespaces: readonly string[];
}

const group = 'cluster.x-k8s.io';
const nameLabel = `${group}/cluster-name`;
/**
 * API versions that are read, newer first; the fields read here are the same in both. When a hub serves both versions,
 * the objects of the newer one are used.
 */
const versions = ['v1beta2', 'v1beta1'] as const;

export function makeClusterApiSource({ namespaces }: NamespacedOptions): HubSource {
  const registry = makeRegistry('cluster-api');
  const scopes = namespacesOf(namespaces);
  return {
    name: 'cluster-api',
    watches: scopes.flatMap((scope): WatchedResource[] => [
      ...versions.map((version) => ({ group, version, resource: 'clusters', ...scope })),
      { group: '', version: 'v1', resource: 'secrets', fieldSelector: 'type=cluster.x-k8s.io/secret', ...scope },
    ]),
    compile(objects) {
      const every = versions.length + 1;
      const clusters = objects.filter((_, index) => index % every < versions.length);
      const secrets = objects.filter((_, index) => index % every === versions.length);
      return registry(
        oldestFirst(...clusters).map(([key, cluster]) => registrationOf(cluster, secretOf(secrets, key))),
      );
    },
  };
}

/**
 * The `namespace` of each watch: one element for each namespace, or a single element without namespace for all of them.
 */
export function namespacesOf(namespaces: readonly string[]): readonly Pick<WatchedResource, 'namespace'>[] {
  return namespaces.length === 0 ? [{}] : [...new Set(namespaces)].map((namespace) => ({ namespace }));
}

function secretOf(secrets: readonly HubObjects[], key: string): HubObject | undefined {
  for (const map of secrets) {
    const found = map.get(`${key}-kubeconfig`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function registrationOf(cluster: HubObject, secret: HubObject | undefined): Registration {
  const title = titleOf('Cluster API Cluster', cluster);
  const { name, namespace } = cluster.metadata;
  return {
    key: title,
    object: cluster,
    others: [secret],
    describe: () => ({
      originalName: name,
      sourceDetail: title,
      labels: labelsOf(cluster),
      conditions: conditionsNamed(cluster, { Available: 'ClusterAPIAvailable', Ready: 'ClusterAPIReady' }),
    }),
    access() {
      if (secret === undefined) {
        throw new SourceFault(
          'NoCredential',
          `${title}: the Secret ${namespace ?? ''}/${name}-kubeconfig is missing; its control plane provider writes it when the cluster is up`,
        );
      }
      return about(titleOf('Secret', secret), () => {
        const labelled = labelOf(secret, nameLabel);
        if (labelled !== undefined && labelled !== name) {
          throw unusable(`its label ${nameLabel} names another cluster than ${name}; correct one of them`);
        }
        if (fieldOf(secret, 'data', 'value') === undefined) {
          throw unusable('data["value"] is missing; it must hold the kubeconfig');
        }
        return readSecretKubeconfig('data["value"]', trimLineEnd(secretText(secret, 'value') ?? ''));
      });
    },
  };
}
