// A strict parser for the parts of DER that certificates use: lengths in shortest form and one-byte tags. Everything
// unusual is an error, because two programs could otherwise read the same certificate differently.

/** One DER value: its tag byte, its content, and all its bytes including tag and length. */
export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
  readonly whole: Uint8Array;
}

/** Tags of the types that certificates contain (X.690). */
export const derTags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
} as const;

/**
 * Splits bytes into the values they consist of.
 * @throws Error when they are not DER
 */
export function readElements(bytes: Uint8Array): DerElement[] {
  const elements: DerElement[] = [];
  let start = 0;
  while (start < bytes.length) {
    const tag = bytes[start] ?? 0;
    if ((tag & 0x1f) === 0x1f) throw notDer('a tag is longer than one byte');
    const { length, headerLength } = readLength(bytes, start + 1);
    const from = start + 1 + headerLength;
    const end = from + length;
    if (end > bytes.length) throw notDer('a value is cut off');
    elements.push({ tag, content: bytes.subarray(from, end), whole: bytes.subarray(start, end) });
    start = end;
  }
  return elements;
}

/**
 * Parses bytes that must contain exactly one value.
 * @throws Error when there is not exactly one value, or it has another tag
 */
export function readOne(bytes: Uint8Array, tag: number): DerElement {
  const [element, ...more] = readElements(bytes);
  if (element === undefined || more.length > 0 || element.tag !== tag) throw notDer('an unexpected value');
  return element;
}

/**
 * An object identifier in dotted form.
 * @throws Error when it is malformed
 */
export function oidText(content: Uint8Array): string {
  if (content.length === 0 || ((content.at(-1) ?? 0) & 0x80) !== 0) throw notDer('an object identifier is cut off');
  const arcs: number[] = [];
  let arc = 0;
  for (const [index, byte] of content.entries()) {
    if (byte === 0x80 && arc === 0 && (index === 0 || (content[index - 1] ?? 0) < 0x80)) throw notDer('a padded arc');
    arc = arc * 128 + (byte & 0x7f);
    if (!Number.isSafeInteger(arc)) throw notDer('an arc is too large');
    if (byte < 0x80) {
      arcs.push(arc);
      arc = 0;
    }
  }
  const [joint = 0, ...rest] = arcs;
  const first = Math.min(2, Math.floor(joint / 40));
  return [first, joint - first * 40, ...rest].join('.');
}

/**
 * Parses a boolean.
 * @throws Error for a content other than 0x00 or 0xff, which alone DER allows
 */
export function booleanOf(content: Uint8Array): boolean {
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) throw notDer('a malformed boolean');
  return content[0] === 0xff;
}

/**
 * Parses a non-negative integer of at most four bytes.
 * @throws Error when the integer is malformed, negative or longer
 */
export function smallIntegerOf(content: Uint8Array): number {
  const [first = 0, second = 0] = content;
  const padded = content.length > 1 && first === 0 && second < 0x80;
  if (content.length === 0 || content.length > 4 || first >= 0x80 || padded) throw notDer('a malformed integer');
  return content.reduce((sum, byte) => sum * 256 + byte, 0);
}

/**
 * Decodes a directory string by its tag, as Go's crypto/x509 does (parseASN1String).
 * @throws Error for an unsupported type or invalid characters
 */
export function stringOf({ tag, content }: DerElement): string {
  const latin1 = Buffer.from(content).toString('latin1');
  if (tag === 0x0c) return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  if (tag === 0x13 && /^[A-Za-z0-9 '()+,\-./:=?*&]*$/.test(latin1)) return latin1;
  if (tag === 0x16 && /^[\0-\x7f]*$/.test(latin1)) return latin1;
  if (tag === 0x12 && /^[0-9 ]*$/.test(latin1)) return latin1;
  // T61String: in practice it contains Latin-1.
  if (tag === 0x14) return latin1;
  if (tag === 0x1e && content.length % 2 === 0) {
    const text = Buffer.from(content).swap16().toString('utf16le');
    if (/^[^\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]*$/.test(text)) return text;
  }
  throw notDer('a name holds text of a kind that is not supported');
}

function readLength(bytes: Uint8Array, at: number): { length: number; headerLength: number } {
  const first = bytes[at];
  if (first === undefined) throw notDer('a length is cut off');
  if (first < 0x80) return { length: first, headerLength: 1 };
  const size = first & 0x7f;
  if (size === 0 || size > 3) throw notDer('an indefinite or huge length');
  if (at + size >= bytes.length) throw notDer('a length is cut off');
  const length = bytes.subarray(at + 1, at + 1 + size).reduce((sum, byte) => sum * 256 + byte, 0);
  if (length < 0x80 || length < 256 ** (size - 1)) throw notDer('a length is not in its shortest form');
  return { length, headerLength: 1 + size };
}

function notDer(what: string): Error {
  return new Error(`not valid DER: ${what}`);
}
