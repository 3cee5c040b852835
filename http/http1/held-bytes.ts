// Bytes of a client that came before somebody wants them: pipelined requests, a body nobody has asked for yet.

/**
 * Above these the client is made to wait. Pieces are counted as well, because each costs a few hundred bytes, however
 * short it is.
 */
const maxBytes = 64 * 1024;
const maxPieces = 256;

/** Pieces in the order they came. */
export class HeldBytes {
  #pieces: Buffer[] = [];
  #length = 0;

  /** Bytes held. */
  get length(): number {
    return this.#length;
  }

  /** So much is held that no more should be read. */
  get isFull(): boolean {
    return this.#length >= maxBytes || this.#pieces.length >= maxPieces;
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  /** Takes the first piece; there must be one. */
  shift(): Buffer {
    const piece = this.#pieces.shift()!;
    this.#length -= piece.length;
    return piece;
  }

  /** Puts back, to the front, what is left of a piece behind its first `used` bytes. */
  putBack(piece: Buffer, used: number): void {
    if (used === piece.length) return;
    this.#pieces.unshift(piece.subarray(used));
    this.#length += piece.length - used;
  }

  clear(): void {
    this.#pieces = [];
    this.#length = 0;
  }

  /** All of it as one piece. */
  joined(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}
