// How long to wait before repeating a failed request. Waits grow up to a maximum and are randomised, so that several
// replicas do not retry at the same moment. Easy to get wrong: reset() after every success would make a server that
// fails again at once be retried at the shortest wait for ever.

/** The waits of one retry loop. */
export interface Backoff {
  /** Milliseconds to wait now. The next call returns a longer wait, up to the maximum. */
  next(): number;
  /** Starts over from the shortest wait. To be called when requests have succeeded for some time. */
  reset(): void;
}

/**
 * Waits that double from `firstMs` to `maxMs` (client-go's reflector uses 800 ms to 30 s). Each wait is a random value
 * between half of the current value and all of it.
 * @param random returns a number from 0 to 1, as Math.random does
 */
export function makeBackoff(firstMs: number, maxMs: number, random: () => number): Backoff {
  let baseMs = firstMs;
  return {
    next() {
      const waitMs = baseMs * (0.5 + random() / 2);
      baseMs = Math.min(baseMs * 2, maxMs);
      return waitMs;
    },
    reset() {
      baseMs = firstMs;
    },
  };
}

/** The waits of one retry loop for a server that answers 429 with `Retry-After`. */
export interface BusyWaits {
  /**
   * Milliseconds to wait before a retry that is not reported as an error; undefined when the server has been busy for
   * so long that the caller should report one.
   */
  next(retryAfterMs: number): number | undefined;
  /** To be called when the server answered with anything other than 429. */
  reset(): void;
}

/**
 * Waits for a busy server. A kube-apiserver answers 429 while it fills the watch cache of a new kind ("storage is
 * (re)initializing"), when it is overloaded and when it shuts down. client-go retries ten times without reporting an
 * error.
 * @param firstMs shortest wait, also when `Retry-After` is 0
 * @param graceMs how many milliseconds after the first 429 next() begins to return undefined
 * @param random returns a number from 0 to 1, as Math.random does
 */
export function makeBusyWaits(firstMs: number, graceMs: number, random: () => number): BusyWaits {
  let sinceMs: number | undefined;
  return {
    next(retryAfterMs) {
      sinceMs ??= performance.now();
      const leftMs = sinceMs + graceMs - performance.now();
      return leftMs > 0 ? Math.min(leftMs, Math.max(retryAfterMs, firstMs) * (1 + random() / 4)) : undefined;
    },
    reset() {
      sinceMs = undefined;
    },
  };
}

/**
 * The value of a `Retry-After` header in milliseconds. Undefined when it is missing or a date, which no API server
 * sends.
 */
export function retryAfterMsOf(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,6}$/.test(value) ? Number(value) * 1000 : undefined;
}
