// Timers of one simulator, all cleared when it closes. A closed set ignores new timers: one that a controller sets
// after close would keep the process alive.

/** Timers with one owner. */
export interface Timers {
  /** Runs once after `delayMs`. Returns the way to cancel. */
  after(delayMs: number, run: () => void): () => void;
  /** Runs each `periodMs`. Returns the way to cancel. */
  every(periodMs: number, run: () => void): () => void;
  /** Cancels all; later calls do nothing. */
  close(): void;
}

/** Real timers. */
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
