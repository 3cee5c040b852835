// A token bucket, which limits a rate and allows a burst. As in golang.org/x/time/rate, tokens are computed when they
// are needed; there is no timer. Easy to get wrong: the clock must be monotonic. If the clock went back, the bucket
// would stay empty until the clock has caught up.

/** A token bucket: limits a rate and allows a burst. All times are milliseconds of a monotonic clock. */
export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #atMs: number;

  /**
   * @param perSecond tokens added per second
   * @param burst the most tokens that the bucket can hold; a new bucket holds this many
   */
  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /** Takes one token; returns false when there is none. */
  take(nowMs: number): boolean {
    this.#refill(nowMs);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Milliseconds until the bucket has a token; 0 when it has one. */
  untilNextMs(nowMs: number): number {
    this.#refill(nowMs);
    return this.#tokens >= 1 ? 0 : (1 - this.#tokens) / this.#perMs;
  }

  /** True when the bucket holds `burst` tokens, like a new one. */
  isFull(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#tokens >= this.#burst;
  }

  #refill(nowMs: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, nowMs - this.#atMs) * this.#perMs);
    this.#atMs = nowMs;
  }
}
