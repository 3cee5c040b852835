// The timers of one simulated API server, which are all cancelled when it closes. After closing, new timers are
// ignored; otherwise a timer set by a controller would keep the process running.

/** A set of timers that can be cancelled together. */
export interface Timers {
  /** Runs once after `delayMs`. Returns a function that cancels it. */
  after(delayMs: number, run: () => void): () => void;
  /** Runs every `periodMs`. Returns a function that cancels it. */
  every(periodMs: number, run: () => void): () => void;
  /** Cancels all timers. Later calls of `after` and `every` do nothing. */
  close(): void;
}

/** Makes a set of timers that use the real clock. */
export function createTimers(): Timers {
  const active = new Set<NodeJS.Timeout>();
  let isClosed = false;
  return {
    after(delayMs, run) {
      if (isClosed) return () => {};
      const timer = setTimeout(() => {
        active.delete(timer);
        run();
      }, delayMs);
      active.add(timer);
      return () => {
        active.delete(timer);
        clearTimeout(timer);
      };
    },
    every(periodMs, run) {
      if (isClosed) return () => {};
      const timer = setInterval(run, periodMs);
      active.add(timer);
      return () => {
        active.delete(timer);
        clearInterval(timer);
      };
    },
    close() {
      isClosed = true;
      for (const timer of active) clearTimeout(timer);
      active.clear();
    },
  };
}
