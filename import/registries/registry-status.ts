// The status of Karmada's ResourceRegistries. Karmada's type has conditions, but Karmada writes none, so types and
// reasons are our own: `Accepted` says whether the spec is in effect, `Indexed` whether the index has everything that
// the spec selects.
import {
  readRegistry,
  registryGroup,
  registryPlural,
  storedRegistryVersion,
  type RegisteredResource,
  type Registry,
} from '../../cache/sources/objects/karmada-registries.ts';
import type { Finding } from '../../kube/objects/conditions.ts';
import type { StatusSubject } from '../../controllers/status/status-controllers.ts';

/** A cluster that a registry selects. */
export interface RegisteredCluster {
  readonly name: string;
  /**
   * What the index lacks of the registry's resources in this cluster, and why, as messages; empty when it has
   * everything.
   */
  readonly missing: readonly string[];
}

/** What the gateway knows of the clusters that ResourceRegistries select. */
export interface IndexedRegistries {
  /** The clusters that the registry with this name selects, each with those of these resources that the index lacks. */
  clusters(registry: string, resources: readonly RegisteredResource[]): readonly RegisteredCluster[];
  /**
   * Calls the listener when the answer of `clusters` may have changed. Returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void;
}

/** How many clusters the message of a condition names at most; of the rest it gives the number. */
const mostNamed = 10;

/** Says for `startStatusControllers` which conditions a ResourceRegistry gets, from what the index has. */
export function registryStatus(indexed: IndexedRegistries): StatusSubject {
  return {
    kind: 'ResourceRegistry',
    resource: { group: registryGroup, version: storedRegistryVersion, resource: registryPlural },
    findings(object) {
      const registry = readRegistry(object);
      return findingsOf(registry, indexed.clusters(object.metadata.name, registry.resources));
    },
    onChange: (listener) => indexed.onChange(listener),
  };
}

/** The conditions of a registry. @param clusters the clusters that the registry selects */
function findingsOf({ refusal }: Registry, clusters: readonly RegisteredCluster[]): readonly Finding[] {
  if (refusal !== undefined) {
    const indexed = { type: 'Indexed', status: 'False', reason: 'NotAccepted', message: 'nothing is indexed' } as const;
    return [{ type: 'Accepted', status: 'False', ...refusal }, indexed];
  }
  const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' } as const;
  return [accepted, { type: 'Indexed', ...indexedOf(clusters) }];
}

function indexedOf(clusters: readonly RegisteredCluster[]): Omit<Finding, 'type'> {
  if (clusters.length === 0)
    return { status: 'False', reason: 'NoCluster', message: 'spec.targetCluster selects no cluster of this gateway' };
  const behind = clusters.filter(({ missing }) => missing.length > 0);
  if (behind.length === 0) return { status: 'True', reason: 'Complete', message: clusterCount(clusters.length) };
  const named = behind.slice(0, mostNamed).map(({ name, missing }) => `${name}: ${missing.join(', ')}`);
  const more = behind.length > mostNamed ? [`and ${clusterCount(behind.length - mostNamed)} more`] : [];
  return { status: 'False', reason: 'Incomplete', message: [...named, ...more].join('; ') };
}

function clusterCount(count: number): string {
  return count === 1 ? '1 cluster' : `${count} clusters`;
}
