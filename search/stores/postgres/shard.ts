// Which shard the rows of a cluster belong to. A shard is what one process at a time may write.
import { createHash } from 'node:crypto';

/** How many there are; rows carry the number, so it cannot change. */
export const shardCount = 128;

/** @param recordUid uid of the cluster's record */
export function shardOf(recordUid: string): number {
  return createHash('sha256').update(recordUid).digest().readUInt32BE(0) % shardCount;
}

/** @param incarnationId `<uid of the cluster record>/<uid of the member's kube-system Namespace>` */
export function shardOfIncarnation(incarnationId: string): number {
  return shardOf(incarnationId.slice(0, Math.max(0, incarnationId.lastIndexOf('/'))) || incarnationId);
}
