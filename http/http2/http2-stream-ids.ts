// What a connection remembers of streams that have ended (RFC 9113 section 5.1). A client may still be sending on a
// stream we have reset, which is no fault; on a stream that ended for both sides it is one. What is remembered is
// bounded.
const rememberedResets = 256;
const rememberedGaps = 32;

/** The ids of one connection; its client opens the odd ones, upwards. */
export class StreamIds {
  /** The highest id that was opened. */
  last = 0;
  readonly #resetByUs = new Set<number>();
  /** Ranges that were passed over, first and last in turn; such an id can never be opened (section 5.1.1). */
  readonly #gaps: number[] = [];

  /** A stream is opened; `id` is above {@link last}. */
  open(id: number): void {
    if (id > this.last + 2) {
      this.#gaps.push(this.last + 2, id - 2);
      if (this.#gaps.length > rememberedGaps * 2) this.#gaps.splice(0, 2);
    }
    this.last = id;
  }

  wasPassedOver(id: number): boolean {
    const gaps = this.#gaps;
    for (let i = 0; i < gaps.length; i += 2) if (id >= gaps[i]! && id <= gaps[i + 1]!) return true;
    return false;
  }

  /** What still comes for this stream is dropped in silence. */
  rememberReset(id: number): void {
    this.#resetByUs.add(id);
    if (this.#resetByUs.size <= rememberedResets) return;
    for (const oldest of this.#resetByUs) {
      this.#resetByUs.delete(oldest);
      return;
    }
  }

  wasResetByUs(id: number): boolean {
    return this.#resetByUs.has(id);
  }
}
