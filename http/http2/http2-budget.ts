// Limits the frames that cost CPU time although the client wants no answer: resets (CVE-2023-44487 and CVE-2025-8671)
// and frames without content. A connection that sends more of them is closed. Honest clients send more of these frames
// the more data they receive, so answers increase the budget.

/**
 * How many resets a new connection may send at once, and how many more it may send for each second that passes. nghttp2
 * allows 1,000 and 33.
 */
const resetBurst = 500;
const resetsPerSecond = 50;
/**
 * How many frames without content a new connection may send at once, and how many more for each second that passes.
 * They are PING, SETTINGS, PRIORITY, empty DATA, WINDOW_UPDATE, unknown types.
 */
const frameBurst = 10_000;
const framesPerSecond = 500;
/**
 * For this many bytes of answers, a client may send one more frame without content. Go's client sends two WINDOW_UPDATE
 * frames for every 4 KiB it reads.
 */
const bytesPerFrame = 1024;

/**
 * Counts how many resets and frames without content one connection may still send. It reads no clock; the listener
 * refills it every second.
 */
export class FloodBudget {
  #resets = resetBurst;
  #frames = frameBurst;

  /** Counts a reset of a stream, by the client or because of its error. False when the budget is used up. */
  spendReset(): boolean {
    return --this.#resets >= 0;
  }

  /** Counts a frame without content. False when the budget is used up. */
  spendFrame(): boolean {
    return --this.#frames >= 0;
  }

  /** Increases the budget, because an answer was completed. */
  earnAnswer(): void {
    if (this.#resets < resetBurst) this.#resets++;
    this.#earn(8);
  }

  /** Increases the budget, because bytes of an answer's body were sent. */
  earnBytes(bytes: number): void {
    this.#earn(1 + bytes / bytesPerFrame);
  }

  /** Adds what a connection regains each second. To be called once a second. */
  refill(): void {
    this.#resets = Math.min(resetBurst, this.#resets + resetsPerSecond);
    this.#earn(framesPerSecond);
  }

  #earn(frames: number): void {
    this.#frames = Math.min(frameBurst, this.#frames + frames);
  }
}
