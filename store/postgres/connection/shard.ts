// Which shard (group of clusters) the rows of a cluster belong to. At most one process may write a shard at any time.
import { createHash } from 'node:crypto';
import { recordUidOf } from '../../../query/types.ts';

/** The number of shards. It cannot change, because stored rows contain their shard. */
export const shardCount = 128;

/** The shard of a cluster, from 0 to `shardCount - 1`. @param recordUid uid of the cluster's record */
export function shardOf(recordUid: string): number {
  return createHash('sha256').update(recordUid).digest().readUInt32BE(0) % shardCount;
}

/**
 * The shard of an incarnation, which is the shard of its cluster.
 * @param incarnationId `<uid of the cluster record>/<uid of the cluster's kube-system Namespace>`
 */
export function shardOfIncarnation(incarnationId: string): number {
  return shardOf(recordUidOf(incarnationId) || incarnationId);
}
