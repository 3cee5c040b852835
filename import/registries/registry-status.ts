// The status of Karmada's ResourceRegistries. Karmada declares conditions and writes none, so types and reasons are
// ours: `Accepted` says whether the spec is in effect, `Indexed` whether everything that it selects can be found.
import {
  readRegistry,
  registryGroup,
  registryPlural,
  storedRegistryVersion,
  type RegisteredResource,
  type Registry,
} from '../../cache/sources/objects/karmada-registries.ts';
import type { Finding } from '../../controllers/conditions.ts';
import type { StatusSubject } from '../status-controllers.ts';

/** A cluster that a registry selects. */
export interface RegisteredCluster {
  readonly name: string;
  /** What of the registry's resources cannot be found of it, and why, in words; empty when nothing is missing. */
  readonly missing: readonly string[];
}

/** What the gateway knows of clusters, for the status of registries. */
export interface IndexedRegistries {
  /** The clusters that the registry of this name selects, with what is missing of these resources. */
  clusters(registry: string, resources: readonly RegisteredResource[]): readonly RegisteredCluster[];
  /** Calls the listener when that may have changed. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** How many clusters a message names at most. */
const mostNamed = 10;

/** The status of ResourceRegistries, as it is written from what the index has. */
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

/** What the conditions of a registry say now. @param clusters those that it selects */
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
