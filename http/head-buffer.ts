// Collects a head that comes in pieces. Easy to get wrong: what is dropped must be free at once. Garbage waits for a
// collection, and a flood of heads makes more of it than the heads themselves (each size on the way to 1 MiB), so
// buffers are handed back to the system instead.

const noBytes: Buffer = Buffer.alloc(0);

/** A buffer that grows. */
export class HeadBuffer {
  readonly #mostBytes: number;
  /** Bytes collected so far are at the front. */
  bytes: Buffer = noBytes;
  length = 0;

  /** @param mostBytes never larger than this; whoever appends sees to it */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Bytes of memory it takes. */
  get heldBytes(): number {
    return this.bytes.length;
  }

  append(piece: Buffer, from: number, to: number): void {
    const length = this.length + to - from;
    if (length > this.bytes.length) this.#grow(length);
    this.bytes.set(piece.subarray(from, to), this.length);
    this.length = length;
  }

  #grow(length: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(length, Math.min(this.#mostBytes, Math.max(1024, length * 2))));
    grown.set(this.bytes.subarray(0, this.length));
    release(this.bytes);
    this.bytes = grown;
  }

  /** Nobody may read {@link bytes} any more. */
  clear(): void {
    if (this.bytes === noBytes) return;
    release(this.bytes);
    this.bytes = noBytes;
    this.length = 0;
  }
}

/** Frees the memory now; the buffer is empty behind it. */
function release(bytes: Buffer): void {
  if (bytes !== noBytes) (bytes.buffer as ArrayBuffer).transfer(0);
}
