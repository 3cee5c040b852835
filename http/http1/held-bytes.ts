// A queue of bytes that a client sent before they can be processed: pipelined requests, or a body that is not being
// read yet.

/**
 * When either limit is reached, reading from the client's socket pauses. Buffers are counted too, because each costs a
 * few hundred bytes of memory, however short it is.
 */
const maxBytes = 64 * 1024;
const maxPieces = 256;

/** Received buffers in the order they arrived. */
export class HeldBytes {
  #pieces: Buffer[] = [];
  #length = 0;

  /** Number of bytes in the queue. */
  get length(): number {
    return this.#length;
  }

  /** Whether the socket should be paused until some of the queue is used. */
  get isFull(): boolean {
    return this.#length >= maxBytes || this.#pieces.length >= maxPieces;
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  /** Removes and returns the first buffer. The queue must not be empty. */
  shift(): Buffer {
    const piece = this.#pieces.shift()!;
    this.#length -= piece.length;
    return piece;
  }

  /** Puts a buffer back to the front, without its first `used` bytes. */
  putBack(piece: Buffer, used: number): void {
    if (used === piece.length) return;
    this.#pieces.unshift(piece.subarray(used));
    this.#length += piece.length - used;
  }

  clear(): void {
    this.#pieces = [];
    this.#length = 0;
  }

  /** All queued bytes in one buffer; the queue keeps them. */
  joined(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}
