// Iterates over the members of a JSON object or the elements of a JSON list in bytes. Only positions are computed; no
// values are built. json-scan.ts checks nesting depth and syntax.
import { byte, nextMember, skipColon, skipSpace, skipString, skipValue, textOf } from './json-scan.ts';

/**
 * Iterates over the members or elements between a pair of brackets. The base class of {@link MemberCursor} and
 * {@link ElementCursor}.
 */
class Cursor {
  /** Range of the current value in the bytes. */
  start = 0;
  end = 0;
  protected readonly bytes: Buffer;
  #at: number;
  readonly #close: number;
  #isFirst = true;

  constructor(bytes: Buffer, at: number, close: number) {
    this.bytes = bytes;
    this.#at = at;
    this.#close = close;
  }

  /** The position where the next member begins; -1 after the last. */
  protected advance(): number {
    if (this.#isFirst) {
      this.#isFirst = false;
      this.#at = skipSpace(this.bytes, this.#at + 1);
      if (this.bytes[this.#at] === this.#close) this.#at = -1;
    } else if (this.#at >= 0) this.#at = nextMember(this.bytes, this.end, this.#close);
    return this.#at;
  }
}

/** Iterates over the members of one object in order. Repeated keys are not merged. */
export class MemberCursor extends Cursor {
  /** Range of the current key in the bytes, quotes included. */
  keyStart = 0;
  keyEnd = 0;

  /** @param at position of the opening brace */
  constructor(bytes: Buffer, at: number) {
    super(bytes, at, byte.closeObject);
  }

  /**
   * Moves to the next member; false after the last.
   * @throws MalformedAnswer when the bytes are not valid JSON
   */
  next(): boolean {
    const at = this.advance();
    if (at < 0) return false;
    this.keyStart = at;
    this.keyEnd = skipString(this.bytes, at);
    this.start = skipColon(this.bytes, this.keyEnd);
    this.end = skipValue(this.bytes, this.start);
    return true;
  }

  /** The current key as text. */
  get key(): string {
    return textOf(this.bytes, this.keyStart, this.keyEnd);
  }
}

/** Iterates over the elements of one list in order. */
export class ElementCursor extends Cursor {
  /** @param at position of the opening bracket */
  constructor(bytes: Buffer, at: number) {
    super(bytes, at, byte.closeList);
  }

  /**
   * Moves to the next element; false after the last.
   * @throws MalformedAnswer when the bytes are not valid JSON
   */
  next(): boolean {
    const at = this.advance();
    if (at < 0) return false;
    this.start = at;
    this.end = skipValue(this.bytes, at);
    return true;
  }
}
