// Finds the end of a JSON value that arrives in chunks, by counting brackets and quotes. It does not check the syntax;
// whoever reads the complete value does.
import { byte, skipSpace } from './json-scan.ts';

/** Finds the end of one value at a time: call `begin`, then `find` with each chunk until it returns a position. */
export class ValueEnd {
  #isOpen = false;
  #isScalar = false;
  #depth = 0;
  #inString = false;
  #isEscaped = false;

  /** Whether begin() was called and the end of the value was not found yet. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Starts with a new value.
   * @param first first byte of the value; find() must be given this byte too
   */
  begin(first: number): void {
    this.#isOpen = true;
    this.#isScalar = first !== byte.quote && first !== byte.openObject && first !== byte.openList;
    this.#depth = 0;
    this.#inString = false;
    this.#isEscaped = false;
  }

  /**
   * The position after the last byte of the value; -1 when the value continues in the next chunk.
   * @param from where the value begins in the first chunk; 0 in later ones
   */
  find(bytes: Buffer, from: number): number {
    const end = this.#isScalar ? endOfScalar(bytes, from) : this.#endOfNested(bytes, from);
    if (end >= 0) this.#isOpen = false;
    return end;
  }

  #endOfNested(bytes: Buffer, from: number): number {
    // Local copies of the fields are faster, and this loop reads every byte of every list.
    let depth = this.#depth;
    let inString = this.#inString;
    let isEscaped = this.#isEscaped;
    const { length } = bytes;
    let end = -1;
    let i = from;
    while (i < length) {
      if (inString) {
        // Most bytes are inside strings, so an inner loop skips them quickly.
        let c = bytes[i]!;
        if (isEscaped) isEscaped = false;
        else {
          while (c !== 0x22 && c !== 0x5c && i + 1 < length) {
            i += 1;
            c = bytes[i]!;
          }
          if (c === 0x22) inString = false;
          else if (c === 0x5c) isEscaped = true;
        }
        i += 1;
      } else {
        const c = bytes[i]!;
        i += 1;
        if (c === 0x22) {
          inString = true;
          continue;
        }
        if (c < 0x5b) continue;
        if (c === byte.openObject || c === byte.openList) depth += 1;
        else if (c === byte.closeObject || c === byte.closeList) depth -= 1;
      }
      if (depth === 0 && !inString) {
        end = i;
        break;
      }
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#isEscaped = isEscaped;
    return end;
  }
}

function endOfScalar(bytes: Buffer, from: number): number {
  for (let i = from; i < bytes.length; i += 1) {
    const c = bytes[i]!;
    if (c === byte.comma || c === byte.closeList || c === byte.closeObject || c === byte.colon) return i;
    if (skipSpace(bytes, i) !== i) return i;
  }
  return -1;
}
