// Writes header blocks of answers (RFC 7541). The client's table must see exactly the entries we count on, so a block
// that was begun is always sent. Values that differ in every answer stay out of the table, so that they do not push out
// those that repeat.
import { STATUS_CODES } from 'node:http';
import { HttpFault } from '../http-fault.ts';
import { badValue, connectionField, lowerToken, trimmed } from '../field-syntax.ts';
import { rememberingNames } from '../header-names.ts';
import type { RawHeaders } from '../raw-headers.ts';
import { encodeHuffman } from './hpack-huffman.ts';
import { DynamicTable, maxTableBytes, staticCount, staticFields } from './hpack-table.ts';

/** Where blocks are written; see Http2Output. */
export interface BlockTarget {
  readonly bytes: Buffer;
  length: number;
  reserve(count: number): void;
}

/** Fields whose values repeat from answer to answer, so that they are worth an entry of the table. */
const repeatedFields: ReadonlySet<string> = new Set([
  'cache-control',
  'content-encoding',
  'content-type',
  'server',
  'vary',
  'x-content-type-options',
  'x-frame-options',
  'x-kubernetes-pf-flowschema-uid',
  'x-kubernetes-pf-prioritylevel-uid',
]);

interface Field {
  /** In lower case; '' for what belongs to a connection and is dropped. */
  readonly name: string;
  readonly isValid: boolean;
  readonly isLength: boolean;
  /** Index of the name in the static table, or 0. */
  readonly staticName: number;
  /** Index of the field in {@link repeatedNames}, or -1. */
  readonly slot: number;
}

const repeatedNames = [...repeatedFields];

const fieldOf = rememberingNames((given): Field => {
  const name = given.toLowerCase();
  const at = staticFields.findIndex((text, i) => i % 2 === 0 && text === name);
  return {
    name: connectionField.test(name) ? '' : name,
    isValid: lowerToken.test(name),
    isLength: name === 'content-length',
    staticName: at < 0 ? 0 : at / 2 + 1,
    slot: repeatedNames.indexOf(name),
  };
});

const longStringBytes = 32 * 1024;

/** Status codes of the static table. */
const staticStatus = new Map([200, 204, 206, 304, 400, 404, 500].map((status, i) => [status, i + 8]));
const statusName = 8;

/**
 * The length a response head promises, or -1 for none.
 * @throws HttpFault INTERNAL when a field could change the meaning of the answer; then nothing must be sent
 */
export function promisedLength(status: number, headers: RawHeaders): number {
  if (!(status >= 200 && status <= 999) && STATUS_CODES[status] === undefined) throw refuse('an invalid status');
  let promised = -1;
  for (let i = 0; i < headers.length; i += 2) {
    const value = headers[i + 1]!;
    const field = fieldOf(headers[i]!);
    if (!field.isValid || badValue.test(value)) throw refuse('an invalid header');
    if (!field.isLength) continue;
    if (!/^[0-9]{1,15}$/.test(value)) throw refuse('an invalid Content-Length');
    const length = Number(value);
    if (promised >= 0 && promised !== length) throw refuse('two lengths');
    promised = length;
  }
  return promised;
}

function refuse(what: string): HttpFault {
  return new HttpFault('INTERNAL', `the gateway built an answer with ${what}; it was not sent`);
}

/** Encodes one block after the other, in the order they are sent. */
export class HpackEncoder {
  readonly #table = new DynamicTable();
  /** What each repeated field was last, and the number of its entry. */
  readonly #lastValues: string[] = [];
  readonly #lastEntries: number[] = [];
  /** Smallest limit since the last block, while the client does not know of it; -1 when it does. */
  #lowestLimit = -1;

  /** What the client allows, SETTINGS_HEADER_TABLE_SIZE. */
  setLimit(bytes: number): void {
    const limit = Math.min(bytes, maxTableBytes);
    if (limit === this.#table.limit && this.#lowestLimit < 0) return;
    this.#lowestLimit = this.#lowestLimit < 0 ? limit : Math.min(this.#lowestLimit, limit);
    this.#table.setLimit(limit);
  }

  /** Appends the block of a head that {@link promisedLength} has found valid. */
  encode(target: BlockTarget, status: number, headers: RawHeaders): void {
    target.reserve(32);
    if (this.#lowestLimit >= 0) this.#tellLimit(target);
    const known = staticStatus.get(status);
    if (known !== undefined) target.bytes[target.length++] = 0x80 | known;
    else {
      target.bytes[target.length++] = statusName;
      writeString(target, String(status));
    }
    let hasLength = false;
    for (let i = 0; i < headers.length; i += 2) {
      const field = fieldOf(headers[i]!);
      if (field.name === '') continue;
      if (field.isLength) {
        if (hasLength || status === 204) continue;
        hasLength = true;
      }
      const text = headers[i + 1]!;
      const value = trimmed(text, 0, text.length);
      target.reserve(field.name.length + value.length + 32);
      if (field.slot >= 0) this.#repeated(target, field, value);
      else writeLiteral(target, 0x00, 0x0f, field, value);
    }
  }

  #repeated(target: BlockTarget, field: Field, value: string): void {
    const table = this.#table;
    const { slot } = field;
    const distance = table.added - (this.#lastEntries[slot] ?? -maxTableBytes);
    if (distance < table.count && this.#lastValues[slot] === value) {
      writeInteger(target, 0x80, 0x7f, staticCount + 1 + distance);
      return;
    }
    // A long value would push out the others.
    if (value.length > 256) {
      writeLiteral(target, 0x00, 0x0f, field, value);
      return;
    }
    writeLiteral(target, 0x40, 0x3f, field, value);
    table.add(field.name, value);
    this.#lastValues[slot] = value;
    this.#lastEntries[slot] = table.count === 0 ? -maxTableBytes : table.added;
  }

  /** RFC 7541 section 4.2: a limit that went down in between is written, then the present one. */
  #tellLimit(target: BlockTarget): void {
    const { limit } = this.#table;
    if (this.#lowestLimit < limit) writeInteger(target, 0x20, 0x1f, this.#lowestLimit);
    writeInteger(target, 0x20, 0x1f, limit);
    this.#lowestLimit = -1;
  }
}

function writeLiteral(target: BlockTarget, pattern: number, mask: number, field: Field, value: string): void {
  writeInteger(target, pattern, mask, field.staticName);
  if (field.staticName === 0) writeString(target, field.name);
  writeString(target, value);
}

/** Section 5.1. Room must have been reserved. */
function writeInteger(target: BlockTarget, pattern: number, mask: number, value: number): void {
  const { bytes } = target;
  if (value < mask) {
    bytes[target.length++] = pattern | value;
    return;
  }
  bytes[target.length++] = pattern | mask;
  let rest = value - mask;
  for (; rest >= 0x80; rest >>>= 7) bytes[target.length++] = (rest & 0x7f) | 0x80;
  bytes[target.length++] = rest;
}

/**
 * Without Huffman coding, which costs more time than the bytes it saves are worth; but nghttp2 reads no string that
 * takes more than 64 KiB.
 */
function writeString(target: BlockTarget, text: string): void {
  if (text.length > longStringBytes) {
    const coded = encodeHuffman(text);
    writeInteger(target, 0x80, 0x7f, coded.length);
    target.reserve(coded.length);
    target.bytes.set(coded, target.length);
    target.length += coded.length;
    return;
  }
  writeInteger(target, 0x00, 0x7f, text.length);
  const { bytes } = target;
  let at = target.length;
  // A call into C++ costs more than a short loop.
  if (text.length <= 24) for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
  else at += bytes.write(text, at, 'latin1');
  target.length = at;
}
