// The error of a write whose writer has lost the lease of the shard (a group of clusters) that it writes to.

/**
 * The writer no longer holds the lease of the shard, and nothing was written. On this error the process must stop
 * listing and watching the clusters of the shard.
 */
export class FencedError extends Error {
  override readonly name = 'FencedError';
}
