// A rate with a burst. The tokens are computed when they are asked for, without a timer (as golang.org/x/time/rate
// does). The clock must be monotonic: if it went back, a bucket would stay empty until the clock has caught up.

/** See the file comment. Times are monotonic milliseconds. */
export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #atMs: number;

  /**
   * @param perSecond tokens added a second
   * @param burst tokens it holds at most, and at first
   */
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

  /** Milliseconds until there is a token; 0 when there is one. */
  untilNextMs(nowMs: number): number {
    this.#refill(nowMs);
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) / this.#perMs;
  }

  /** True when the bucket is as full as a new one. */
  isFull(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#tokens >= this.#burst;
  }

  #refill(nowMs: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#atMs) * this.#perMs);
    this.#atMs = nowMs;
  }
}
