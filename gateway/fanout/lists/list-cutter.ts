// Splits a List or Table that is still arriving into the bytes of its items. A chunk may end anywhere, and kind and
// metadata may follow the items. Only the current item is kept in memory; otherwise one cluster with a million objects
// would fill it.
import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../../../cache/model/errors.ts';
import { byte, skipSpace, skipValue, textOf } from '../../../lib/json/json-scan.ts';
import { ValueEnd } from '../../../lib/json/value-end.ts';
import { membersOf } from './item-bytes.ts';

/**
 * Limit in bytes for one item. An object in etcd has at most about 1.5 MB, and its JSON with base64 and escapes stays
 * below this limit.
 */
export const maxItemBytes = 32 * 1024 * 1024;
/** Limit in bytes for each other field of a list: kind, metadata and column definitions. */
const maxFieldBytes = 1024 * 1024;

/** The fields and items that were completed by one chunk, in order. */
export interface ListPart {
  /** Fields of the list itself, as JSON: kind, apiVersion, metadata, columnDefinitions. */
  readonly fields: readonly (readonly [name: string, value: Buffer])[];
  /** True once the first item or row has begun, or when the list has ended without one. */
  readonly begun: boolean;
  /**
   * The bytes of each item. Only brackets and UTF-8 have been checked; item-bytes.ts checks the rest of the JSON when
   * it writes the cluster's name into the item.
   */
  readonly items: readonly Buffer[];
}

/** Splits the answer of one cluster. It must get every chunk, in order. */
export interface ListCutter {
  /**
   * Takes the next chunk.
   * @throws GatewayError MEMBER_BAD_RESPONSE; its message quotes nothing that the cluster sent
   */
  push(chunk: Buffer): ListPart;
  /**
   * Must be called when the answer has ended.
   * @throws GatewayError MEMBER_BAD_RESPONSE when the list is not complete
   */
  finish(): void;
}

type State = 'start' | 'first-key' | 'key' | 'colon' | 'value' | 'comma' | 'first-item' | 'item' | 'item-comma' | 'end';

/**
 * Makes a parser that splits the list of one cluster into items. It is one large function because all states of the
 * parser share these variables.
 * @param cluster name of the cluster, for error messages
 */
export function makeListCutter(cluster: string): ListCutter {
  const valueEnd = new ValueEnd();
  let state: State = 'start';
  let key = '';
  /** Bytes of the present JSON token from earlier chunks. */
  let pieces: Buffer[] = [];
  let pieceBytes = 0;
  let begun = false;
  /** Names of the list's own fields that have been read already. */
  const seen = new Set<string>();

  const bad = (what: string): GatewayError =>
    new GatewayError('MEMBER_BAD_RESPONSE', `it sent a list that cannot be read: ${what}`, { cluster });
  const checked = (token: Buffer, isItem: boolean): Buffer => {
    try {
      if (isUtf8(token) && ((isItem && token[0] === byte.openObject) || skipValue(token, 0) === token.length)) {
        return token;
      }
    } catch {
      // Security: the error below does not quote the text, which may hold a secret.
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
  /** Handles a byte between two JSON tokens; returns true when a token begins with this byte. */
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
        // The bytes of a token are joined once, when it is complete. Joining them at every chunk would take quadratic
        // time.
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

/**
 * The fields of a list that are kept in addition to its items. Other fields are dropped, so that a cluster cannot fill
 * the memory with them.
 */
const listFields: ReadonlySet<string> = new Set(['kind', 'apiVersion', 'metadata', 'columnDefinitions']);

function isItems(key: string): boolean {
  return key === 'items' || key === 'rows';
}
