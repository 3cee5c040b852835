// Iterates over the members of a JSON object or the elements of a JSON list in bytes. Only positions are computed; no
// values are built. json-scan.ts checks nesting depth and syntax.
import { byte, nextMember, skipColon, skipSpace, skipString, skipValue, textOf } from './json-scan.ts';

/** Iterates over the members of one object in order. Repeated keys are not merged. */
export class MemberCursor {
  /** Range of the current key in the bytes, quotes included. */
  keyStart = 0;
  keyEnd = 0;
  /** Range of the current value in the bytes. */
  start = 0;
  end = 0;
  readonly #bytes: Buffer;
  #at: number;
  #isFirst = true;

  /** @param at position of the opening brace */
  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /**
   * Moves to the next member; false after the last.
   * @throws MalformedAnswer when the bytes are not valid JSON
   */
  next(): boolean {
    const bytes = this.#bytes;
    if (this.#isFirst) {
      this.#isFirst = false;
      this.#at = skipSpace(bytes, this.#at + 1);
      if (bytes[this.#at] === byte.closeObject) this.#at = -1;
    } else if (this.#at >= 0) this.#at = nextMember(bytes, this.end, byte.closeObject);
    if (this.#at < 0) return false;
    this.keyStart = this.#at;
    this.keyEnd = skipString(bytes, this.#at);
    this.start = skipColon(bytes, this.keyEnd);
    this.end = skipValue(bytes, this.start);
    return true;
  }

  /** The current key as text. */
  get key(): string {
    return textOf(this.#bytes, this.keyStart, this.keyEnd);
  }
}

/** Iterates over the elements of one list in order. `start` and `end` are the range of the current element. */
export class ElementCursor {
  start = 0;
  end = 0;
  readonly #bytes: Buffer;
  #at: number;
  #isFirst = true;

  /** @param at position of the opening bracket */
  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /**
   * Moves to the next element; false after the last.
   * @throws MalformedAnswer when the bytes are not valid JSON
   */
  next(): boolean {
    const bytes = this.#bytes;
    if (this.#isFirst) {
      this.#isFirst = false;
      this.#at = skipSpace(bytes, this.#at + 1);
      if (bytes[this.#at] === byte.closeList) this.#at = -1;
    } else if (this.#at >= 0) this.#at = nextMember(bytes, this.end, byte.closeList);
    if (this.#at < 0) return false;
    this.start = this.#at;
    this.end = skipValue(bytes, this.#at);
    return true;
  }
}
