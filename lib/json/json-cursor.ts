// Walks the members of an object or the elements of a list in bytes, one call a step. Depth and grammar are checked by
// json-scan.ts; nothing is built but what the caller asks for.
import { byte, nextMember, skipColon, skipSpace, skipString, skipValue, textOf } from './json-scan.ts';

/** The members of one object, in order, repeated keys too. */
export class MemberCursor {
  /** Where the key begins and ends, quotes included. */
  keyStart = 0;
  keyEnd = 0;
  /** Where the value begins and ends. */
  start = 0;
  end = 0;
  readonly #bytes: Buffer;
  #at: number;
  #isFirst = true;

  /** @param at of the opening brace */
  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** Goes to the next member; false after the last. @throws MalformedAnswer */
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

  /** The text of the key. */
  get key(): string {
    return textOf(this.#bytes, this.keyStart, this.keyEnd);
  }
}

/** The elements of one list, in order. */
export class ElementCursor {
  start = 0;
  end = 0;
  readonly #bytes: Buffer;
  #at: number;
  #isFirst = true;

  /** @param at of the opening bracket */
  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** Goes to the next element; false after the last. @throws MalformedAnswer */
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
