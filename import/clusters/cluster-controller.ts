// Reconciles PediaClusters as Clusterpedia's clustersynchro-manager does: sets their finalizer, writes their status,
// and hands a PediaCluster over when it is moved to another shard (a group of gateways that share a name).
import { textAt } from '../../lib/objects/json-object.ts';
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject, ApiObjects } from '../../kube/types.ts';
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import { isDeleting } from '../../kube/objects/objects.ts';
import { pediaClusters } from '../hub/objects.ts';
import { setFinalizer } from '../../kube/objects/object-writer.ts';
import type { Outcome } from '../../controllers/queue/work-queue.ts';
import type { ImportedClusters } from './cluster-facts.ts';
import { shardOf, statusOf } from './cluster-status.ts';

export interface ClusterControllerParts {
  readonly writer: ObjectWriter;
  readonly pediaClusters: () => ApiObjects;
  readonly syncResources: () => ApiObjects;
  readonly clusters: ImportedClusters;
  /**
   * The shard of this gateway. Only PediaClusters with the same shard are reconciled; '' reconciles those without a
   * shard.
   */
  readonly shardingName: string;
}

export interface ClusterController {
  reconcile(name: string): Promise<Outcome>;
}

const noticedMs = 200;
const finalizer = 'clusterpedia.io/cluster-synchro-controller';

export function makeClusterController(parts: ClusterControllerParts): ClusterController {
  const { writer, clusters, shardingName } = parts;
  return {
    async reconcile(name) {
      const cluster = parts.pediaClusters().get(name);
      if (cluster === undefined || (shardOf(cluster) ?? textAt(cluster, 'spec', 'shardingName')) !== shardingName)
        return 'done';
      if (isDeleting(cluster)) {
        // The gateway still follows the cluster, because it has not seen the deletion yet. Rows may still be written.
        if (clusters.facts(cluster) !== undefined) return { afterMs: noticedMs };
        await clusters.rowsGone(name);
        await setFinalizer(writer, pediaClusters, cluster, { finalizer, wanted: false });
        return 'done';
      }
      // Setting the finalizer causes a watch event, and so another call of reconcile(), which then writes the status.
      if (await setFinalizer(writer, pediaClusters, cluster, { finalizer, wanted: true })) return 'done';
      if (textAt(cluster, 'spec', 'shardingName') !== shardingName) {
        // The PediaCluster was moved to another shard. The gateways of that shard take it once `status.shardingName` is
        // removed.
        await writer.patchStatus(pediaClusters, cluster, { shardingName: null });
        return 'done';
      }
      await tell(parts, cluster);
      return 'done';
    },
  };
}

async function tell({ writer, clusters, syncResources, shardingName }: ClusterControllerParts, cluster: ApiObject) {
  const facts = clusters.facts(cluster);
  if (facts === undefined) return;
  const referred = syncResources().get(textAt(cluster, 'spec', 'syncResourcesRefName'));
  const status = statusOf(cluster, facts, referred, shardingName);
  const before = { syncResources: [], ...(cluster['status'] as object | undefined) };
  if (isDeepStrictEqual(before, status)) return;
  await writer.patchStatus(pediaClusters, cluster, status);
}
