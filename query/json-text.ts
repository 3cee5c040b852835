// The text of a JSON value as PostgreSQL's jsonb and MySQL's JSON print it: keys by length and then by bytes, the last
// of equal keys alone, one space behind `,` and `:`. Numbers are printed as jsonb prints its numerics: all digits, and
// no exponent.
import {
  byte,
  MalformedAnswer,
  nextMember,
  skipColon,
  skipScalar,
  skipSpace,
  skipString,
  skipValue,
  textOf,
} from '../lib/json/json-scan.ts';

/** Deeper JSON is not printed, because printing is recursive. Kubernetes objects are not nested like this. */
const deepest = 500;
/** Larger exponents are left as they were written; a double has none beyond 308. */
const largestExponent = 400;
const number = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,9}))?$/;

/**
 * A number of JSON without exponent, such as `100` for `1e2` and `1.50` for `1.50`.
 * @param isCanonical whether zeros at the end of a fraction are left out, so that equal numbers have equal texts
 */
export function numberText(written: string, isCanonical = false): string {
  const match = number.exec(written);
  if (match === null) return written;
  const [, sign, whole, fraction = '', exponentText = '0'] = match as unknown as readonly [string, string, string];
  const exponent = Number(exponentText);
  if (Math.abs(exponent) > largestExponent) return written;
  const digits = whole + fraction;
  const point = whole.length + exponent;
  const padded = point <= 0 ? `${'0'.repeat(1 - point)}${digits}` : digits.padEnd(point, '0');
  const pointAt = Math.max(1, point);
  const integer = padded.slice(0, pointAt).replace(/^0+(?=\d)/, '');
  const rest = padded.slice(pointAt);
  const shown = isCanonical ? rest.replace(/0+$/, '') : rest;
  const text = shown === '' ? integer : `${integer}.${shown}`;
  return /[1-9]/.test(text) ? `${sign}${text}` : text;
}

/**
 * Prints the JSON value that begins at a place of these bytes. Undefined when it is nested deeper than 500 levels.
 * @param isCanonical whether equal values shall have equal texts
 * @throws MalformedAnswer when the bytes are not JSON
 */
export function jsonText(bytes: Buffer, start: number, isCanonical = false): string | undefined {
  try {
    return new Printer(bytes, isCanonical).print(skipSpace(bytes, start), 0);
  } catch (error) {
    if (error instanceof TooDeep) return undefined;
    throw error;
  }
}

class TooDeep extends Error {}

/** Prints values in one pass: each byte is looked at once, however deep its value is. */
class Printer {
  /** Position after the value that was printed last. */
  #end = 0;
  readonly #bytes: Buffer;
  readonly #isCanonical: boolean;

  constructor(bytes: Buffer, isCanonical: boolean) {
    this.#bytes = bytes;
    this.#isCanonical = isCanonical;
  }

  print(at: number, depth: number): string {
    if (depth > deepest) throw new TooDeep();
    switch (this.#bytes[at]) {
      case byte.openObject:
        return this.#object(at, depth);
      case byte.openList:
        return this.#list(at, depth);
      default:
        this.#end = skipScalar(this.#bytes, at);
    }
    if (this.#bytes[at] === byte.quote) return JSON.stringify(textOf(this.#bytes, at, this.#end));
    return numberText(this.#bytes.toString('latin1', at, this.#end), this.#isCanonical);
  }

  #object(start: number, depth: number): string {
    const members = new Map<string, string>();
    for (let at = this.#first(start, byte.closeObject); at >= 0; at = this.#next(byte.closeObject)) {
      const keyEnd = skipString(this.#bytes, at);
      members.set(textOf(this.#bytes, at, keyEnd), this.print(skipColon(this.#bytes, keyEnd), depth + 1));
    }
    const sorted = [...members].map(([key, value]) => ({ key: Buffer.from(key), value })).sort(byKey);
    return `{${sorted.map(({ key, value }) => `${JSON.stringify(key.toString())}: ${value}`).join(', ')}}`;
  }

  #list(start: number, depth: number): string {
    const elements: string[] = [];
    for (let at = this.#first(start, byte.closeList); at >= 0; at = this.#next(byte.closeList))
      elements.push(this.print(at, depth + 1));
    return `[${elements.join(', ')}]`;
  }

  /** Position of the first member or element behind a bracket; -1 when there is none. */
  #first(start: number, close: number): number {
    const at = skipSpace(this.#bytes, start + 1);
    if (this.#bytes[at] !== close) return at;
    this.#end = at + 1;
    return -1;
  }

  /** Position of the next member or element behind the value that was printed last; -1 when there is none. */
  #next(close: number): number {
    const at = nextMember(this.#bytes, this.#end, close);
    if (at < 0) this.#end = skipSpace(this.#bytes, this.#end) + 1;
    return at;
  }
}

interface Member {
  readonly key: Buffer;
}

function byKey({ key: one }: Member, { key: other }: Member): number {
  return one.length - other.length || Buffer.compare(one, other);
}

/** The canonical text of JSON: equal values have equal texts. Undefined when the bytes are no JSON. */
export function canonicalJson(bytes: Buffer): string | undefined {
  try {
    const at = skipSpace(bytes, 0);
    if (skipSpace(bytes, skipValue(bytes, at)) !== bytes.length) return undefined;
    return jsonText(bytes, at, true);
  } catch (error) {
    if (error instanceof MalformedAnswer) return undefined;
    throw error;
  }
}
