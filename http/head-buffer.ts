// Collects a head that comes in pieces. Memory it no longer needs goes back to the system at once: garbage would wait
// for a collection, and a flood of heads makes more of it than the heads themselves (each size on the way to 1 MiB).

const headEnd = Buffer.from('\r\n\r\n', 'latin1');
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const noBytes: Buffer = Buffer.alloc(0);

/** A buffer that grows. */
export class HeadBuffer {
  readonly #mostBytes: number;
  /** Bytes collected so far are at the front. */
  bytes: Buffer = noBytes;
  length = 0;

  /** @param mostBytes never larger than this; the caller appends no more */
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

  /** Offset of the CRLF CRLF that ends an HTTP/1.1 head, or -1; it is not in the first `searched` bytes. */
  endOfHead(searched: number): number {
    return this.bytes.subarray(0, this.length).indexOf(headEnd, Math.max(0, searched - 3));
  }

  /** Whether a line that ends behind `from` ends with LF alone: such a head would never end. */
  hasBareLf(from: number): boolean {
    const bytes = this.bytes.subarray(0, this.length);
    let at = bytes.indexOf(lineFeed, from);
    while (at >= 0) {
      if (at === 0 || bytes[at - 1] !== carriageReturn) return true;
      at = bytes.indexOf(lineFeed, at + 1);
    }
    return false;
  }

  #grow(length: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(length, Math.min(this.#mostBytes, Math.max(1024, length * 2))));
    grown.set(this.bytes.subarray(0, this.length));
    release(this.bytes);
    this.bytes = grown;
  }

  /** Drops what was collected; what {@link bytes} gave before must not be read any more. */
  clear(): void {
    if (this.bytes === noBytes) return;
    release(this.bytes);
    this.bytes = noBytes;
    this.length = 0;
  }
}

/** Frees the memory now; the buffer is empty afterwards. */
function release(bytes: Buffer): void {
  if (bytes !== noBytes) (bytes.buffer as ArrayBuffer).transfer(0);
}
