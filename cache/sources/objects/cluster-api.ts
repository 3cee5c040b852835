// The source that makes one cluster of each Cluster of Cluster API. The credential is the kubeconfig that the control
// plane provider writes into the Secret `<name>-kubeconfig`. Cluster API reads that Secret by its name, whatever its
// type. Here it must have the type or the label that Cluster API's contract asks providers for, since a watch can
// select by nothing else: with neither, every Secret of the namespace would have to be read. Two namespaces may have
// Clusters of the same name: the older Cluster keeps the name, and the younger is listed with the problem NameConflict.
import type { ApiObject, ApiObjects, WatchedResource } from '../../../kube/types.ts';
import type { HubSource } from '../hub-source.ts';
import { fieldOf } from '../../../lib/objects/json-object.ts';
import {
  about,
  conditionsNamed,
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
/** Label that names the Cluster to which an object belongs. */
export const nameLabel = `${group}/cluster-name`;
/** Type of the Secrets that Cluster API writes. Some providers write `Opaque` ones, with the label alone. */
export const clusterApiSecret = `${group}/secret`;
/**
 * API versions that are read, newer first; the fields read here are the same in both. When a hub serves both versions,
 * the objects of the newer one are used.
 */
const versions = ['v1beta2', 'v1beta1'] as const;

/**
 * Two watches: the Secrets of Cluster API's type, and the Secrets of any other type that have Cluster API's label. No
 * Secret is in both.
 */
const secretSelectors = [
  { fieldSelector: `type=${clusterApiSecret}` },
  { labelSelector: nameLabel, fieldSelector: `type!=${clusterApiSecret}` },
] as const;

export function makeClusterApiSource({ namespaces }: NamespacedOptions): HubSource {
  const registry = makeRegistry('cluster-api');
  const scopes = namespacesOf(namespaces);
  return {
    name: 'cluster-api',
    watches: scopes.flatMap((scope): WatchedResource[] => [
      ...versions.map((version) => ({ group, version, resource: 'clusters', ...scope })),
      ...secretSelectors.map((selectors) => ({
        group: '',
        version: 'v1',
        resource: 'secrets',
        ...selectors,
        ...scope,
      })),
    ]),
    compile(objects) {
      const every = versions.length + secretSelectors.length;
      const clusters = objects.filter((_, index) => index % every < versions.length);
      const secrets = objects.filter((_, index) => index % every >= versions.length);
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

function secretOf(secrets: readonly ApiObjects[], key: string): ApiObject | undefined {
  for (const map of secrets) {
    const found = map.get(`${key}-kubeconfig`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function registrationOf(cluster: ApiObject, secret: ApiObject | undefined): Registration {
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
          `${title}: the Secret ${namespace ?? ''}/${name}-kubeconfig is missing, or has neither the type ${clusterApiSecret} nor the label ${nameLabel}=${name}; its control plane provider writes it when the cluster is up`,
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
