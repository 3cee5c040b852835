// `clusters.gateway.portcullis.io`: every cluster the gateway knows, from all sources. Only cluster-object.ts turns
// records into what people see, so that no credential gets there.
import type { IdentityMode } from '../../../cache/model/records.ts';
import { gatewayGroup } from '../discovery/api-groups.ts';
import { clusterCells, clusterColumns, clusterMetadata, clusterObject } from './cluster-object.ts';
import type { ServedResource } from './served-resource.ts';

/** @param identity as whom requests reach clusters */
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
