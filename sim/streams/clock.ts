// The clock that simulated streams and workloads use. Tests replace it.

/** The current time and a timer. */
export interface Clock {
  /** The current time in Unix milliseconds. */
  now(): number;
  /** Calls `run` once after `delayMs` milliseconds. Returns a function that cancels the timer. */
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
