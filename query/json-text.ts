// The text of a JSON value as PostgreSQL's jsonb and MySQL's JSON print it: keys by length and then by bytes, the last
// of equal keys alone, one space behind `,` and `:`. Numbers are printed as jsonb prints its numerics: all digits, and
// no exponent.
import { ElementCursor, MemberCursor } from '../lib/json/json-cursor.ts';
import { byte, MalformedAnswer, skipSpace, skipValue, textOf } from '../lib/json/json-scan.ts';

/** Deeper JSON is not printed: Kubernetes objects are not nested like this, and a print is recursive. */
const deepest = 200;
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
 * Prints the JSON value in these bytes.
 * @throws MalformedAnswer when the bytes are not JSON, or nested too deep
 */
export function jsonText(bytes: Buffer, start = 0, isCanonical = false, depth = 0): string {
  const at = skipSpace(bytes, start);
  if (depth > deepest) throw new MalformedAnswer('nested too deep');
  const print = (from: number): string => jsonText(bytes, from, isCanonical, depth + 1);
  switch (bytes[at]) {
    case byte.openObject: {
      const members = new Map<string, string>();
      for (const member = new MemberCursor(bytes, at); member.next();) members.set(member.key, print(member.start));
      const sorted = [...members].map(([key, value]) => ({ key: Buffer.from(key), value })).sort(byKey);
      return `{${sorted.map(({ key, value }) => `${JSON.stringify(key.toString())}: ${value}`).join(', ')}}`;
    }
    case byte.openList: {
      const elements: string[] = [];
      for (const element = new ElementCursor(bytes, at); element.next();) elements.push(print(element.start));
      return `[${elements.join(', ')}]`;
    }
    case byte.quote:
      return JSON.stringify(textOf(bytes, at, skipValue(bytes, at)));
    default:
      return numberText(bytes.toString('latin1', at, skipValue(bytes, at)), isCanonical);
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
