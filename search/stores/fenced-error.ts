// The error of a write whose writer has lost the lease of its shard.

/**
 * The writer no longer holds the lease of the shard, and nothing was written. The process must stop following the
 * clusters of this shard.
 */
export class FencedError extends Error {
  override readonly name = 'FencedError';
}
