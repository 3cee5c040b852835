// Steps over JSON in bytes, token by token, without building values. What is stepped over is stored and sent to others
// as it is, so every byte is checked against the grammar (RFC 8259): one member's bad JSON must not spoil the answer of
// all.
import { MalformedAnswer } from './malformed-json.ts';

/** Go's encoding/json refuses deeper documents, so no honest API server has them. */
const maxDepth = 10_000;

export const byte = {
  quote: 0x22,
  comma: 0x2c,
  minus: 0x2d,
  dot: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  openList: 0x5b,
  backslash: 0x5c,
  closeList: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;

/** The position after blanks. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  let i = at;
  while (i < bytes.length) {
    const c = bytes[i]!;
    if (c > 0x20 || (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09)) break;
    i += 1;
  }
  return i;
}

/** From an opening quote to the position after the closing one. @throws MalformedAnswer */
export function skipString(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== byte.quote) throw malformed();
  const { length } = bytes;
  let i = at + 1;
  while (i < length) {
    const c = bytes[i]!;
    if (c === byte.quote) return i + 1;
    if (c === byte.backslash) i = skipEscape(bytes, i);
    else if (c < 0x20) break;
    else i += 1;
  }
  throw malformed();
}

/** Letters after a backslash: `"\/bfnrt`. */
const escapes: ReadonlySet<number | undefined> = new Set([0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74]);

function skipEscape(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1];
  if (escapes.has(letter)) return at + 2;
  if (letter !== 0x75 || at + 6 > bytes.length) throw malformed();
  for (let i = at + 2; i < at + 6; i += 1) if (!isHexDigit(bytes[i]!)) throw malformed();
  return at + 6;
}

function isHexDigit(c: number): boolean {
  return (c >= byte.zero && c <= byte.nine) || (c >= 0x41 && c <= 0x46) || (c >= 0x61 && c <= 0x66);
}

/** Over one value that is no list and no object. @throws MalformedAnswer */
export function skipScalar(bytes: Uint8Array, at: number): number {
  const c = bytes[at];
  if (c === byte.quote) return skipString(bytes, at);
  if (c === 0x74) return skipWord(bytes, at, trueBytes);
  if (c === 0x66) return skipWord(bytes, at, falseBytes);
  if (c === 0x6e) return skipWord(bytes, at, nullBytes);
  return skipNumber(bytes, at);
}

const trueBytes = [0x74, 0x72, 0x75, 0x65] as const;
const falseBytes = [0x66, 0x61, 0x6c, 0x73, 0x65] as const;
const nullBytes = [0x6e, 0x75, 0x6c, 0x6c] as const;

function skipWord(bytes: Uint8Array, at: number, word: readonly number[]): number {
  for (let i = 0; i < word.length; i += 1) if (bytes[at + i] !== word[i]) throw malformed();
  return at + word.length;
}

function skipNumber(bytes: Uint8Array, at: number): number {
  let i = bytes[at] === byte.minus ? at + 1 : at;
  i = bytes[i] === byte.zero ? i + 1 : skipDigits(bytes, i);
  if (bytes[i] === byte.dot) i = skipDigits(bytes, i + 1);
  if (bytes[i] === 0x65 || bytes[i] === 0x45) {
    const sign = bytes[i + 1];
    i = skipDigits(bytes, sign === 0x2b || sign === byte.minus ? i + 2 : i + 1);
  }
  return i;
}

function skipDigits(bytes: Uint8Array, at: number): number {
  let i = at;
  while (i < bytes.length && bytes[i]! >= byte.zero && bytes[i]! <= byte.nine) i += 1;
  if (i === at) throw malformed();
  return i;
}

/** Which kind each open bracket is. One scratch space is enough: a call of {@link skipValue} runs to its end. */
const open = new Uint8Array(maxDepth);

/** Over one value, up to {@link maxDepth} deep, without recursion. @throws MalformedAnswer */
export function skipValue(bytes: Uint8Array, at: number): number {
  let i = at;
  let depth = 0;
  for (;;) {
    const c = bytes[i];
    if (c === byte.openObject || c === byte.openList) {
      const isObject = c === byte.openObject;
      i = skipSpace(bytes, i + 1);
      if (bytes[i] === (isObject ? byte.closeObject : byte.closeList)) i += 1;
      else {
        if (depth === maxDepth) throw new MalformedAnswer('an object that is nested too deeply');
        open[depth] = isObject ? 1 : 0;
        depth += 1;
        if (isObject) i = skipKey(bytes, i);
        continue;
      }
    } else i = skipScalar(bytes, i);
    // A value has ended: what follows belongs to whatever is open.
    for (;;) {
      if (depth === 0) return i;
      i = skipSpace(bytes, i);
      const next = bytes[i];
      const isObject = open[depth - 1] === 1;
      if (next === byte.comma) {
        i = skipSpace(bytes, i + 1);
        if (isObject) i = skipKey(bytes, i);
        break;
      }
      if (next !== (isObject ? byte.closeObject : byte.closeList)) throw malformed();
      i += 1;
      depth -= 1;
    }
  }
}

/** From a key's quote to the position of its value. @throws MalformedAnswer */
export function skipKey(bytes: Uint8Array, at: number): number {
  return skipColon(bytes, skipString(bytes, at));
}

/** From the end of a key to the position of its value. @throws MalformedAnswer */
export function skipColon(bytes: Uint8Array, at: number): number {
  const i = skipSpace(bytes, at);
  if (bytes[i] !== byte.colon) throw malformed();
  return skipSpace(bytes, i + 1);
}

/**
 * After a value: the position of the next key or element, or -1 when `close` follows.
 * @throws MalformedAnswer
 */
export function nextMember(bytes: Uint8Array, at: number, close: number): number {
  const i = skipSpace(bytes, at);
  if (bytes[i] === byte.comma) return skipSpace(bytes, i + 1);
  if (bytes[i] === close) return -1;
  throw malformed();
}

/** The text of a string token, quotes included in the range. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  for (let i = start + 1; i < end - 1; i += 1) {
    if (bytes[i] === byte.backslash) return JSON.parse(bytes.toString('utf8', start, end)) as string;
  }
  return bytes.toString('utf8', start + 1, end - 1);
}

/** Never quotes the text, which may be a Secret. */
export function malformed(): MalformedAnswer {
  return new MalformedAnswer('text that is not JSON');
}
