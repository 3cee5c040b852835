// Collects a request head that arrives in several chunks. It frees each outgrown buffer at once and does not leave it
// to garbage collection: a buffer that grows to 1 MiB leaves more garbage than the head itself, so a flood of heads
// would use up the memory.

const headEnd = Buffer.from('\r\n\r\n', 'latin1');
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const noBytes: Buffer = Buffer.alloc(0);

/** A byte buffer that grows as data is appended. */
export class HeadBuffer {
  readonly #mostBytes: number;
  /** The buffer; only its first `length` bytes hold data. */
  bytes: Buffer = noBytes;
  length = 0;

  /**
   * Makes an empty buffer.
   * @param mostBytes largest size of the buffer in bytes; the caller must not append more
   */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Size of the buffer in bytes, unused space included. */
  get heldBytes(): number {
    return this.bytes.length;
  }

  append(piece: Buffer, from: number, to: number): void {
    const length = this.length + to - from;
    if (length > this.bytes.length) this.#grow(length);
    this.bytes.set(piece.subarray(from, to), this.length);
    this.length = length;
  }

  /**
   * Offset of the CRLF CRLF that ends an HTTP/1.1 head, or -1. The first `searched` bytes have been searched before,
   * without success.
   */
  endOfHead(searched: number): number {
    return this.bytes.subarray(0, this.length).indexOf(headEnd, Math.max(0, searched - 3));
  }

  /** Whether any line from offset `from` on ends with LF alone. Such a head would never be seen as complete. */
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

  /** Drops the collected data and frees the buffer. An earlier value of {@link bytes} must not be read afterwards. */
  clear(): void {
    if (this.bytes === noBytes) return;
    release(this.bytes);
    this.bytes = noBytes;
    this.length = 0;
  }
}

/** Frees the memory at once; the passed buffer has length 0 afterwards. */
function release(bytes: Buffer): void {
  if (bytes !== noBytes) (bytes.buffer as ArrayBuffer).transfer(0);
}
