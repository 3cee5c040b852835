// Cuts a List or Table that is still arriving into its items, as bytes. A chunk may end anywhere, and kind and metadata
// may follow the items. Only the current item is kept, or one member with a million objects would fill the memory.
import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../../../cache/model/errors.ts';
import { byte, skipSpace, skipValue, textOf } from '../../../lib/json/json-scan.ts';
import { ValueEnd } from '../../../lib/json/value-end.ts';
import { membersOf } from './item-bytes.ts';

/** No object of etcd is longer than about 1.5 MB; its JSON with base64 and escapes stays below this. */
export const maxItemBytes = 32 * 1024 * 1024;
/** Bytes of kind, metadata or column definitions. */
const maxFieldBytes = 1024 * 1024;

/** The parts that one chunk brought, in their order. */
export interface ListPart {
  /** Fields of the list itself: kind, apiVersion, metadata, columnDefinitions. */
  readonly fields: readonly (readonly [name: string, value: Buffer])[];
  /** True once items or rows have begun, or when there are none. */
  readonly begun: boolean;
  /**
   * Brackets and UTF-8 were checked here. The rest of an object's grammar is checked when it is marked (item-bytes.ts).
   */
  readonly items: readonly Buffer[];
}

/** Made for one answer; give it every chunk in order. */
export interface ListCutter {
  /** @throws GatewayError MEMBER_BAD_RESPONSE, quoting nothing */
  push(chunk: Buffer): ListPart;
  /** The answer has ended. @throws GatewayError MEMBER_BAD_RESPONSE in the middle of the list */
  finish(): void;
}

type State = 'start' | 'first-key' | 'key' | 'colon' | 'value' | 'comma' | 'first-item' | 'item' | 'item-comma' | 'end';

/**
 * Makes the cutter of one answer. It stays one function, because all steps of its state machine share its variables.
 * @param cluster named in errors
 */
export function makeListCutter(cluster: string): ListCutter {
  const valueEnd = new ValueEnd();
  let state: State = 'start';
  let key = '';
  /** Pieces of the current token from earlier chunks. */
  let pieces: Buffer[] = [];
  let pieceBytes = 0;
  let begun = false;
  /** Fields that have come. */
  const seen = new Set<string>();

  const bad = (what: string): GatewayError =>
    new GatewayError('MEMBER_BAD_RESPONSE', `it sent a list that cannot be read: ${what}`, { cluster });
  const checked = (token: Buffer, isItem: boolean): Buffer => {
    try {
      if (isUtf8(token) && ((isItem && token[0] === byte.openObject) || skipValue(token, 0) === token.length)) {
        return token;
      }
    } catch {
      // The error below quotes nothing of the text.
    }
    throw bad('it is not JSON');
  };
  const checkMetadata = (json: Buffer): void => {
    try {
      membersOf(json, 0);
    } catch {
      throw bad('one of its fields comes twice');
    }
  };
  const onToken = (token: Buffer, fields: [string, Buffer][], items: Buffer[]): void => {
    const isItem = state === 'item' || state === 'first-item';
    const json = checked(token, isItem);
    if (isItem) {
      items.push(json);
      state = 'item-comma';
    } else if (state === 'value') {
      if (isItems(key)) begun = true;
      else if (listFields.has(key)) fields.push([key, json]);
      if (key === 'metadata') checkMetadata(json);
      state = 'comma';
    } else {
      if (json[0] !== byte.quote) throw bad('it is no list');
      key = textOf(json, 0, json.length);
      if (isItems(key) || listFields.has(key)) {
        const field = isItems(key) ? 'items' : key;
        if (seen.has(field)) throw bad('one of its fields comes twice');
        seen.add(field);
      }
      state = 'colon';
    }
  };
  /** A byte between tokens; true when a token begins with it. */
  const onByte = (c: number): boolean => {
    switch (state) {
      case 'start':
        if (c !== byte.openObject) throw bad('it is no object');
        state = 'first-key';
        return false;
      case 'colon':
        if (c !== byte.colon) throw bad('it is not JSON');
        state = 'value';
        return false;
      case 'first-key':
      case 'comma':
        if (c === byte.closeObject) {
          state = 'end';
          return false;
        }
        if (state === 'first-key') return true;
        if (c !== byte.comma) throw bad('it is not JSON');
        state = 'key';
        return false;
      case 'value':
        if (c !== byte.openList || !isItems(key)) return true;
        begun = true;
        state = 'first-item';
        return false;
      case 'first-item':
      case 'item-comma':
        if (c === byte.closeList) {
          state = 'comma';
          return false;
        }
        if (state === 'first-item') return true;
        if (c !== byte.comma) throw bad('it is not JSON');
        state = 'item';
        return false;
      case 'key':
      case 'item':
        return true;
      case 'end':
        throw bad('something follows it');
    }
  };

  return {
    push(chunk) {
      const fields: [string, Buffer][] = [];
      const items: Buffer[] = [];
      let at = 0;
      while (at < chunk.length) {
        if (!valueEnd.isOpen) {
          at = skipSpace(chunk, at);
          if (at === chunk.length) break;
          const c = chunk[at]!;
          if (!onByte(c)) {
            at += 1;
            continue;
          }
          valueEnd.begin(c);
        }
        const end = valueEnd.find(chunk, at);
        const piece = chunk.subarray(at, end < 0 ? chunk.length : end);
        pieceBytes += piece.length;
        if (pieceBytes > (state === 'item' || state === 'first-item' ? maxItemBytes : maxFieldBytes)) {
          throw bad('an object in it is too long');
        }
        // Pieces are joined once, when the token is complete; joining with every chunk would take quadratic time.
        pieces.push(piece);
        if (end < 0) break;
        const token = pieces.length === 1 ? piece : Buffer.concat(pieces);
        pieces = [];
        pieceBytes = 0;
        at = end;
        onToken(token, fields, items);
      }
      return { fields, begun, items };
    },
    finish() {
      if (state !== 'end') throw bad('it ends in the middle');
    },
  };
}

/** Fields kept of a list beside its items. Others are dropped, so that no member can fill the memory with them. */
const listFields: ReadonlySet<string> = new Set(['kind', 'apiVersion', 'metadata', 'columnDefinitions']);

function isItems(key: string): boolean {
  return key === 'items' || key === 'rows';
}
