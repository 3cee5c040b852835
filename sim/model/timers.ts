// The timers of one simulated API server, which are all cancelled when it closes. After closing, new timers are not
// started; otherwise a timer set by a controller would keep the process running.

/** A set of timers that use the real clock and can be cancelled together. */
export class Timers {
  readonly #active = new Set<NodeJS.Timeout>();
  #isClosed = false;

  /** Calls `run` once after `delayMs` milliseconds. Returns a function that cancels the timer. */
  after(delayMs: number, run: () => void): () => void {
    const timer = setTimeout(() => {
      this.#active.delete(timer);
      run();
    }, delayMs);
    return this.#keep(timer);
  }

  /** Calls `run` every `periodMs` milliseconds. Returns a function that cancels the timer. */
  every(periodMs: number, run: () => void): () => void {
    return this.#keep(setInterval(run, periodMs));
  }

  /** Cancels all timers. Later calls of `after` and `every` do nothing. */
  close(): void {
    this.#isClosed = true;
    for (const timer of this.#active) clearTimeout(timer);
    this.#active.clear();
  }

  #keep(timer: NodeJS.Timeout): () => void {
    if (this.#isClosed) clearTimeout(timer);
    else this.#active.add(timer);
    return () => {
      this.#active.delete(timer);
      clearTimeout(timer);
    };
  }
}
