// The clock that streams use, so that tests can replace it.

/** The current time and a timer. */
export interface Clock {
  /** The current time in Unix milliseconds. */
  now(): number;
  /** Runs once after `delayMs`. Returns a function that cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

/** A clock with the real time. */
export function createClock(): Clock {
  return {
    now: () => Date.now(),
    after(delayMs, run) {
      const timer = setTimeout(run, delayMs);
      return () => clearTimeout(timer);
    },
  };
}
