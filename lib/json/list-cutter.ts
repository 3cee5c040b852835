// Splits a List or Table that is still arriving into its items, as bytes. A chunk may end anywhere, and kind and
// metadata may follow the items. Only the present item is kept: otherwise one member with a million objects would fill
// the memory.
import { isUtf8 } from 'node:buffer';
import { MemberCursor } from './json-cursor.ts';
import { byte, MalformedAnswer, malformed, skipSpace, skipValue, textOf } from './json-scan.ts';
import { ValueEnd } from './value-end.ts';

/**
 * Maximum bytes of one item. An object in etcd has at most about 1.5 MB; its JSON with base64 and escapes stays below
 * this limit.
 */
export const maxItemBytes = 32 * 1024 * 1024;
/** Maximum bytes of kind, metadata or column definitions of a list. */
const maxFieldBytes = 1024 * 1024;

/** The parts of a list that were completed by one chunk of the answer, in the order in which they arrived. */
export interface ListPart {
  /** Fields of the list itself: kind, apiVersion, metadata, columnDefinitions. */
  readonly fields: readonly (readonly [name: string, value: Buffer])[];
  /** True once items or rows of the list have begun, or when the list has none. */
  readonly begun: boolean;
  /**
   * Items or rows, as bytes. Only their brackets have been checked; the rest of the JSON grammar and the UTF-8 encoding
   * are still to be checked.
   */
  readonly items: readonly Buffer[];
}

type State = 'start' | 'first-key' | 'key' | 'colon' | 'value' | 'comma' | 'first-item' | 'item' | 'item-comma' | 'end';

/** Splits the answer of one API server into items. It must get every chunk, in order. */
export class ListCutter {
  readonly #valueEnd = new ValueEnd();
  #state: State = 'start';
  /** Name of the field whose value comes next. */
  #key = '';
  /** Bytes from earlier chunks of the JSON token that is being read. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #begun = false;
  readonly #seenFields = new Set<string>();

  /** Takes the next chunk. @throws MalformedAnswer, whose message quotes nothing that the server sent */
  push(chunk: Buffer): ListPart {
    const fields: [string, Buffer][] = [];
    const items: Buffer[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (!this.#valueEnd.isOpen) {
        at = skipSpace(chunk, at);
        if (at === chunk.length) break;
        const c = chunk[at]!;
        if (!this.#beginsToken(c)) {
          at += 1;
          continue;
        }
        this.#valueEnd.begin(c);
      }
      const end = this.#valueEnd.find(chunk, at);
      const token = this.#keepPiece(chunk.subarray(at, end < 0 ? chunk.length : end), end >= 0);
      if (token === undefined) break;
      at = end;
      this.#takeToken(token, fields, items);
    }
    return { fields, begun: this.#begun, items };
  }

  /** Must be called when the answer has ended. @throws MalformedAnswer when the list is not complete */
  finish(): void {
    if (this.#state !== 'end') throw new MalformedAnswer('a list that ends in the middle');
  }

  get #isInItem(): boolean {
    return this.#state === 'item' || this.#state === 'first-item';
  }

  /** Adds a piece to the present JSON token; returns the whole token with the last piece, otherwise undefined. */
  #keepPiece(piece: Buffer, isLast: boolean): Buffer | undefined {
    this.#pieceBytes += piece.length;
    const most = this.#isInItem ? maxItemBytes : maxFieldBytes;
    if (this.#pieceBytes > most)
      throw new MalformedAnswer(
        `a list in which ${this.#isInItem ? 'an item' : 'a field'} is longer than ${most} bytes`,
      );
    // Pieces are joined only when the token is complete; joining with every chunk would take quadratic time.
    this.#pieces.push(piece);
    if (!isLast) return undefined;
    const token = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#pieceBytes = 0;
    return token;
  }

  #takeToken(token: Buffer, fields: [string, Buffer][], items: Buffer[]): void {
    if (this.#isInItem) {
      if (token[0] !== byte.openObject) throw malformed();
      items.push(token);
      this.#state = 'item-comma';
      return;
    }
    const json = checked(token);
    if (this.#state === 'value') {
      this.#takeValue(json, fields);
      this.#state = 'comma';
    } else {
      if (json[0] !== byte.quote) throw malformed();
      this.#takeKey(textOf(json, 0, json.length));
      this.#state = 'colon';
    }
  }

  #takeKey(key: string): void {
    this.#key = key;
    if (!isItems(key) && !listFields.has(key)) return;
    // A Table has rows where a List has items.
    const field = isItems(key) ? 'items' : key;
    if (this.#seenFields.has(field)) throw repeatedField();
    this.#seenFields.add(field);
  }

  #takeValue(json: Buffer, fields: [string, Buffer][]): void {
    if (isItems(this.#key)) {
      // An API server may send null for an empty list, since Go encodes a nil slice as null.
      if (json.toString() !== 'null') throw new MalformedAnswer('a list whose items are no list');
      this.#begun = true;
    } else if (listFields.has(this.#key)) fields.push([this.#key, json]);
    if (this.#key === 'metadata') refuseRepeatedKeys(json);
  }

  /** Handles a byte between two JSON tokens; returns true when the byte begins a token. */
  #beginsToken(c: number): boolean {
    switch (this.#state) {
      case 'start':
        if (c !== byte.openObject) throw new MalformedAnswer('text that is no list');
        this.#state = 'first-key';
        return false;
      case 'colon':
        if (c !== byte.colon) throw malformed();
        this.#state = 'value';
        return false;
      case 'first-key':
        return !this.#ends(c, byte.closeObject, 'end');
      case 'comma':
        if (!this.#ends(c, byte.closeObject, 'end')) this.#expectComma(c, 'key');
        return false;
      case 'value':
        if (c !== byte.openList || !isItems(this.#key)) return true;
        this.#begun = true;
        this.#state = 'first-item';
        return false;
      case 'first-item':
        return !this.#ends(c, byte.closeList, 'comma');
      case 'item-comma':
        if (!this.#ends(c, byte.closeList, 'comma')) this.#expectComma(c, 'item');
        return false;
      case 'key':
      case 'item':
        return true;
      case 'end':
        throw new MalformedAnswer('a list that something follows');
    }
  }

  /** Whether the byte `c` closes the open object or list; then the state becomes `next`. */
  #ends(c: number, close: number, next: State): boolean {
    if (c === close) this.#state = next;
    return c === close;
  }

  #expectComma(c: number, next: State): void {
    if (c !== byte.comma) throw malformed();
    this.#state = next;
  }
}

/** Returns the token when it is one JSON value in UTF-8. @throws MalformedAnswer, which does not quote it */
function checked(token: Buffer): Buffer {
  if (!isUtf8(token) || skipValue(token, 0) !== token.length) throw malformed();
  return token;
}

function refuseRepeatedKeys(json: Buffer): void {
  if (json[0] !== byte.openObject) return;
  const seen = new Set<string>();
  for (const member = new MemberCursor(json, 0); member.next(); seen.add(member.key)) {
    if (seen.has(member.key)) throw repeatedField();
  }
}

function repeatedField(): MalformedAnswer {
  return new MalformedAnswer('a list in which a field comes twice');
}

/**
 * The fields of a list that are kept besides its items. Other fields are dropped, so that a member cannot fill the
 * memory with them.
 */
const listFields: ReadonlySet<string> = new Set(['kind', 'apiVersion', 'metadata', 'columnDefinitions']);

function isItems(key: string): boolean {
  return key === 'items' || key === 'rows';
}
