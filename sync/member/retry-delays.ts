// How long to wait before a failed cluster is tried again: a few times soon, then rarely. The first waits have no
// random part, as in Clusterpedia. Clusters do not all retry together, because they start at different moments and the
// later waits are random.
import type { Backoff } from '../../lib/backoff.ts';

/**
 * The settings of Clusterpedia's item exponential failure and jitter slow rate limiter, for one cluster. In
 * milliseconds.
 */
export interface RetryDelays {
  /** The first wait. Each further wait is twice as long, up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** How many waits grow as `firstMs` says. All later waits are a random time from `slowMs` to twice `slowMs`. */
  readonly fastTries: number;
  readonly slowMs: number;
}

/**
 * Waits of 1, 2, 4, 5 and 5 s, then 10 to 20 s. These are the values of Clusterpedia's test. Clusterpedia itself waits
 * 2 to 15 s, then 1 to 2 min, which would only make the index late.
 */
export const defaultRetryDelays: RetryDelays = Object.freeze({
  firstMs: 1_000,
  maxMs: 5_000,
  fastTries: 5,
  slowMs: 10_000,
});

/** The waits of one cluster between failed attempts. Call `reset` after an attempt succeeded. */
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
