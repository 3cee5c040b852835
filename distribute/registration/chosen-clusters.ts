// Which ManagedClusters the gateway is the agent of, and which cluster record is that of a ManagedCluster.
import type { ApiObject } from '../../kube/types.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import type { ClusterReader } from '../../model/store.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { ownPrefix } from '../work/manifest-work.ts';

export const managedClusters: ResourceType = {
  group: 'cluster.open-cluster-management.io',
  version: 'v1',
  resource: 'managedclusters',
};
/**
 * Annotation of a ManagedCluster: with `"true"` the gateway executes its ManifestWorks; with `"false"` it does not,
 * although the ManagedCluster is in one of the configured sets.
 */
const chosenAnnotation = `${ownPrefix}execute-works`;
const setLabel = 'cluster.open-cluster-management.io/clusterset';
/**
 * Sources of clusters that read ManagedClusters. A cluster of another source may have the same name by chance, and is
 * not the ManagedCluster.
 */
const sources: ReadonlySet<string> = new Set(['ocm', 'cluster-gateway']);

/** Whether the gateway executes the ManifestWorks of this ManagedCluster. */
export function isExecuted(
  { metadata: { labels = {}, annotations = {} } }: ApiObject,
  clusterSets: readonly string[],
): boolean {
  const said = annotations[chosenAnnotation];
  if (said !== undefined) return said === 'true';
  return clusterSets.includes(labels[setLabel] ?? '');
}

/** Returns the record of the ManagedCluster with this name; undefined while the gateway has none. */
export function recordOf(store: Pick<ClusterReader, 'get'>, name: string): ClusterRecord | undefined {
  const record = store.get(name);
  if (record === undefined || record.spec.originalName !== name) return undefined;
  return sources.has(record.spec.source) ? record : undefined;
}
