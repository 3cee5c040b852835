// The resource `clusters.gateway.portcullis.io`: every cluster the gateway knows, from all sources. Security:
// cluster-object.ts alone makes the objects that callers see, so that no credential gets into an answer.
import type { IdentityMode } from '../../model/records.ts';
import { gatewayGroup } from '../../request/api-groups.ts';
import { clusterCells, clusterColumns, clusterMetadata, clusterObject } from './cluster-object.ts';
import type { ServedResource } from './served-resource.ts';

/**
 * The resource `clusters`.
 * @param identity whether requests reach clusters as the impersonated caller or as the gateway itself; shown in a
 * column
 */
export function clustersResource(identity: IdentityMode): ServedResource {
  return {
    group: gatewayGroup,
    plural: 'clusters',
    kind: 'Cluster',
    columns: clusterColumns,
    fixed: [],
    showsProbe: true,
    of: (record) => ({
      name: record.spec.name,
      labels: record.spec.labels,
      resourceVersion: record.resourceVersion,
      createdAt: Date.parse(record.createdAt) / 1000,
      metadata: () => clusterMetadata(record),
      whole: () => clusterObject(record, identity),
      cells: (nowMs) => clusterCells(record, identity, nowMs),
    }),
  };
}
