// Skips JSON tokens in bytes without building values. The bytes are stored and later sent to users unchanged, so every
// byte is checked against the JSON grammar (RFC 8259). Otherwise invalid JSON of one member cluster would break an
// answer that also has objects of other clusters.

/** The error for an answer of an API server that violates the rules of the Kubernetes API and cannot be used. */
export class MalformedAnswer extends Error {}

/**
 * Deepest nesting of objects and lists; deeper JSON is refused. Go's encoding/json refuses it too, so no real API
 * server sends it.
 */
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

/** The position of the next byte that is not white space. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  let i = at;
  while (i < bytes.length) {
    const c = bytes[i]!;
    if (c > 0x20 || (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09)) break;
    i += 1;
  }
  return i;
}

/**
 * The position after the string that begins at `at`.
 * @throws MalformedAnswer when no valid string begins there
 */
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

/** The bytes that may follow a backslash, besides `u`: `"\/bfnrt`. */
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

/**
 * The position after the string, number, boolean or null at `at`.
 * @throws MalformedAnswer when no such value begins there
 */
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

/**
 * For each open bracket: 1 for an object, 0 for a list. One shared array is enough, because {@link skipValue} is
 * synchronous and does not call itself.
 */
const open = new Uint8Array(maxDepth);

/**
 * The position after the value at `at`. Iterative, so that deep nesting cannot overflow the stack.
 * @throws MalformedAnswer when the value is not valid JSON or nested deeper than {@link maxDepth}
 */
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
    // A value has ended here. Next comes a comma or the closing bracket of the innermost open object or list.
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

/**
 * The position of the value whose key begins at `at`.
 * @throws MalformedAnswer
 */
export function skipKey(bytes: Uint8Array, at: number): number {
  return skipColon(bytes, skipString(bytes, at));
}

/**
 * The position of the value whose key ends at `at`.
 * @throws MalformedAnswer
 */
export function skipColon(bytes: Uint8Array, at: number): number {
  const i = skipSpace(bytes, at);
  if (bytes[i] !== byte.colon) throw malformed();
  return skipSpace(bytes, i + 1);
}

/**
 * Returns the position of the next key or element, or -1 when the byte `close` follows.
 * @param at position after the previous value
 * @throws MalformedAnswer when neither a comma nor `close` follows
 */
export function nextMember(bytes: Uint8Array, at: number, close: number): number {
  const i = skipSpace(bytes, at);
  if (bytes[i] === byte.comma) return skipSpace(bytes, i + 1);
  if (bytes[i] === close) return -1;
  throw malformed();
}

/** The text of the string in `bytes[start, end)`, a range that includes the quotes. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  for (let i = start + 1; i < end - 1; i += 1) {
    if (bytes[i] === byte.backslash) return JSON.parse(bytes.toString('utf8', start, end)) as string;
  }
  return bytes.toString('utf8', start + 1, end - 1);
}

/** The error for invalid JSON. It never quotes the text, which may be a Secret. */
export function malformed(): MalformedAnswer {
  return new MalformedAnswer('text that is not JSON');
}
