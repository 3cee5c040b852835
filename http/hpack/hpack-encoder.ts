// Encodes the header blocks of answers (RFC 7541). The client's dynamic table must have exactly the entries that this
// encoder assumes, so every encoded block must be sent. Only fields that usually repeat go into the table; values that
// differ in every answer would push them out.
import { STATUS_CODES } from 'node:http';
import { HttpFault } from '../http-fault.ts';
import { badValue, connectionField, lowerToken, trimmed } from '../field-syntax.ts';
import { rememberingNames } from '../header-names.ts';
import type { RawHeaders } from '../raw-headers.ts';
import { encodeHuffman } from './hpack-huffman.ts';
import { DynamicTable, maxTableBytes, staticCount, staticFields } from './hpack-table.ts';

/** A growing byte buffer that header blocks are appended to; Http2Output implements it. */
export interface BlockTarget {
  readonly bytes: Buffer;
  length: number;
  reserve(count: number): void;
}

/** Fields whose values usually repeat from answer to answer. Only these go into the dynamic table. */
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
  /** The field name in lower case; '' for a hop-by-hop field, which HTTP/2 does not allow and which is left out. */
  readonly name: string;
  readonly isValid: boolean;
  readonly isLength: boolean;
  /** Index of the name in HPACK's static table, or 0 when it is not there. */
  readonly staticName: number;
  /** Index of the name in {@link repeatedNames}, or -1. */
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

/** Index in HPACK's static table of each `:status` field that the table has, by status code. */
const staticStatus = new Map([200, 204, 206, 304, 400, 404, 500].map((status, i) => [status, i + 8]));
const statusName = 8;

/**
 * The Content-Length of a response head, or -1 when it has none. Also checks the status and all headers.
 * @throws HttpFault INTERNAL when the head is not valid HTTP; it must not be sent then
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
    if (promised >= 0 && promised !== length) throw refuse('two different Content-Length headers');
    promised = length;
  }
  return promised;
}

function refuse(what: string): HttpFault {
  return new HttpFault('INTERNAL', `the gateway built an answer with ${what}; it was not sent`);
}

/** Encodes the blocks of one connection in the order they are sent. */
export class HpackEncoder {
  readonly #table = new DynamicTable();
  /**
   * For each name in {@link repeatedNames}: the value last added to the dynamic table, and in `#lastEntries` the number
   * of that entry.
   */
  readonly #lastValues: string[] = [];
  readonly #lastEntries: number[] = [];
  /**
   * The smallest table size that was set since the last block was sent, which the next block must tell the client; -1
   * when the size did not change since then.
   */
  #lowestLimit = -1;

  /** Sets the size of the dynamic table to the client's SETTINGS_HEADER_TABLE_SIZE, at most {@link maxTableBytes}. */
  setLimit(bytes: number): void {
    const limit = Math.min(bytes, maxTableBytes);
    if (limit === this.#table.limit && this.#lowestLimit < 0) return;
    this.#lowestLimit = this.#lowestLimit < 0 ? limit : Math.min(this.#lowestLimit, limit);
    this.#table.setLimit(limit);
  }

  /** Appends the block of a response head. {@link promisedLength} must have checked the head before. */
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
    // A long value would push the other entries out of the table.
    if (value.length > 256) {
      writeLiteral(target, 0x00, 0x0f, field, value);
      return;
    }
    writeLiteral(target, 0x40, 0x3f, field, value);
    table.add(field.name, value);
    this.#lastValues[slot] = value;
    this.#lastEntries[slot] = table.count === 0 ? -maxTableBytes : table.added;
  }

  /**
   * Writes the dynamic table size update. RFC 7541 section 4.2: when the size was lowered and raised again, both the
   * lowest and the current size must be written.
   */
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

/** Writes an integer (RFC 7541 section 5.1). The target must have enough reserved space. */
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
 * Writes a string without Huffman coding, since that costs more CPU time than the saved bytes are worth. Long strings
 * are Huffman-coded, because nghttp2 refuses a string that takes more than 64 KiB.
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
  // For short strings this loop is faster than a call into C++.
  if (text.length <= 24) for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
  else at += bytes.write(text, at, 'latin1');
  target.length = at;
}
