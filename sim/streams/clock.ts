// Time as the streams see it, so that tests can set it. Code that asks for a timer must also cancel it.

/** Now, and once later. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Runs once after `delayMs`. Returns the way to cancel. */
  after(delayMs: number, run: () => void): () => void;
}

/** The real one. */
export function createClock(): Clock {
  return {
    now: () => Date.now(),
    after(delayMs, run) {
      const timer = setTimeout(run, delayMs);
      return () => clearTimeout(timer);
    },
  };
}
