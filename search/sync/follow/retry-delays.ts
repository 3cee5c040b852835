// How long to wait before a cluster that could not be followed is tried again: soon a few times, then seldom. The first
// tries are exact, as Clusterpedia's are. Clusters are spread by where each of them begins, and by the slow tries.
import type { Backoff } from '../../../lib/backoff.ts';

/** Clusterpedia's item exponential failure and jitter slow rate limiter, for one key. Milliseconds. */
export interface RetryDelays {
  /** The first wait; each next one is twice as long. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** How many tries wait so; all after them wait `slowMs` and up to as long again. */
  readonly fastTries: number;
  readonly slowMs: number;
}

/**
 * 1, 2, 4, 5, 5 s, then 10 to 20 s: those its test has; its program waits 2 to 15 s, then 1 to 2 min, which makes an
 * index late for no gain.
 */
export const defaultRetryDelays: RetryDelays = Object.freeze({
  firstMs: 1_000,
  maxMs: 5_000,
  fastTries: 5,
  slowMs: 10_000,
});

/** The waits of one cluster. Call `reset` when following the cluster has worked. */
export function makeRetryDelays({ firstMs, maxMs, fastTries, slowMs }: RetryDelays, random: () => number): Backoff {
  let tries = 0;
  return {
    next() {
      tries += 1;
      return tries > fastTries ? slowMs * (1 + random()) : Math.min(firstMs * 2 ** (tries - 1), maxMs);
    },
    reset() {
      tries = 0;
    },
  };
}
