// How long to wait before asking again after failures: growing, bounded and spread, so that replicas do not come back as one. Easy to get wrong:
// a success that fails again at once must not start over from the shortest wait.

/** Waits of one loop. */
export interface Backoff {
  /** Milliseconds to wait now; the next is longer. */
  next(): number;
  /** What was asked for works and has worked for a while. */
  reset(): void;
}

/** Waits double from `firstMs` up to `maxMs` (client-go's reflector: 800 ms to 30 s), each spread over its upper half. */
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
