/** The writer no longer holds the lease of the shard; nothing was written. Terminal for the follower that wrote. */
export class FencedError extends Error {
  override readonly name = 'FencedError';
}
