// The error of a write whose writer has lost its lease.

/** The writer no longer holds the lease of the shard; nothing was written. Terminal for the follower that wrote. */
export class FencedError extends Error {
  override readonly name = 'FencedError';
}
