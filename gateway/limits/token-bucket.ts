// A rate with a burst, refilled by arithmetic when somebody asks: no timer, no memory of single requests
// (golang.org/x/time/rate counts alike). Easy to get wrong: the clock must never go back, or a bucket would stay empty
// until it has caught up.

/** See the file comment. Times are monotonic milliseconds. */
export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #atMs: number;

  /** @param perSecond tokens a second; @param burst how many it holds, and holds at first */
  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /** Takes one token; false when there is none. */
  take(nowMs: number): boolean {
    this.#refill(nowMs);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Milliseconds until there is one; 0 when there is. */
  untilNextMs(nowMs: number): number {
    this.#refill(nowMs);
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) / this.#perMs;
  }

  /** Nothing was taken lately, so a new bucket would be the same. */
  isFull(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#tokens >= this.#burst;
  }

  #refill(nowMs: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#atMs) * this.#perMs);
    this.#atMs = nowMs;
  }
}
