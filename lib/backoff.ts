// How long to wait before asking again after failures: growing, bounded and spread, so that replicas do not come back
// as one. Easy to get wrong: a success that fails again at once must not start over from the shortest wait.

/** Waits of one loop. */
export interface Backoff {
  /** Milliseconds to wait now; the next is longer. */
  next(): number;
  /** What was asked for works and has worked for a while. */
  reset(): void;
}

/**
 * Waits double from `firstMs` up to `maxMs` (client-go's reflector: 800 ms to 30 s), each spread over its upper half.
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

/** Waits of one loop for a server that asks for a moment: 429 with `Retry-After`. */
export interface BusyWaits {
  /**
   * Milliseconds to wait without telling anybody; undefined when it has asked for a moment for so long that somebody
   * should know.
   */
  next(retryAfterMs: number): number | undefined;
  /** It has answered. */
  reset(): void;
}

/**
 * A kube-apiserver asks so while the watch cache of a kind that has just come is filled ("storage is
 * (re)initializing"), when it has too much to do and when it stops; client-go waits and repeats without a word, ten
 * times.
 * @param firstMs at least this, also where `Retry-After` is 0
 * @param graceMs since the first such answer
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

/** The seconds of a `Retry-After` as milliseconds; undefined for none, and for a date, which no API server sends. */
export function retryAfterMsOf(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,6}$/.test(value) ? Number(value) * 1000 : undefined;
}
