// Remembers closed streams of one connection (RFC 9113 section 5.1). A client may still send frames on a stream that
// the gateway has reset, since it may not know yet. Frames on any other closed stream are an error. To bound the
// memory, only the newest `rememberedResets` resets and the newest `rememberedGaps` ranges of skipped ids are
// remembered.
const rememberedResets = 256;
const rememberedGaps = 32;

/** The stream ids of one connection. The client uses odd ids in ascending order. */
export class StreamIds {
  /** The highest stream id that the client has opened. */
  last = 0;
  readonly #resetByUs = new Set<number>();
  /**
   * Ranges of skipped ids as a flat list [first, last, first, last, …]. A skipped id can never be opened (RFC 9113
   * section 5.1.1).
   */
  readonly #gaps: number[] = [];

  /** Records that a stream was opened; `id` must be above {@link last}. */
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

  /** Records that the gateway reset a stream; frames that still arrive for it are then ignored. */
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
