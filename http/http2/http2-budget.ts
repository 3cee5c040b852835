// Bounds what a client may do on one HTTP/2 connection that costs us and serves nobody: resets (CVE-2023-44487 and
// CVE-2025-8671) and frames without content. Honest clients send more of them the more they are sent, so answers earn
// some back.

/** Resets at once, and more of them every second; nghttp2 allows 1,000 and 33. */
const resetBurst = 500;
const resetsPerSecond = 50;
/** PING, SETTINGS, PRIORITY, empty DATA, WINDOW_UPDATE, unknown frames. */
const frameBurst = 10_000;
const framesPerSecond = 500;
/** Go's client sends two WINDOW_UPDATEs for every 4 KiB it has read. */
const bytesPerFrame = 1024;

/** Counts down what one connection has left. No clock: the listener's sweep refills it. */
export class FloodBudget {
  #resets = resetBurst;
  #frames = frameBurst;

  /** A stream was reset, by the client or for a fault of it. False when that was one too many. */
  spendReset(): boolean {
    return --this.#resets >= 0;
  }

  /** A frame that moves nothing forward. False when it was one too many. */
  spendFrame(): boolean {
    return --this.#frames >= 0;
  }

  /** An answer was completed. */
  earnAnswer(): void {
    if (this.#resets < resetBurst) this.#resets++;
    this.#earn(8);
  }

  /** So many bytes of body went out. */
  earnBytes(bytes: number): void {
    this.#earn(1 + bytes / bytesPerFrame);
  }

  /** A second has passed. */
  refill(): void {
    this.#resets = Math.min(resetBurst, this.#resets + resetsPerSecond);
    this.#earn(framesPerSecond);
  }

  #earn(frames: number): void {
    this.#frames = Math.min(frameBurst, this.#frames + frames);
  }
}
