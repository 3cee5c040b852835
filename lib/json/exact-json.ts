// Parses JSON without rounding large integers: they are bigints, which JSON.stringify prints with all their digits once
// this module is loaded. A reviver that reads the source text takes several times as long as a plain parse, so it is
// used only for text that has a long number.
import { hasEscapedKey, parseEscaped, parseJson } from './parse-json.ts';

declare global {
  interface BigInt {
    /** Called by JSON.stringify for each bigint. */
    toJSON(): unknown;
  }
}

/** JSON.rawJSON (ECMAScript 2026), which TypeScript's library does not declare yet. */
const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => unknown };

// Without toJSON, JSON.stringify throws for every object that contains a bigint.
// oxlint-disable-next-line no-extend-native -- this is how the language lets bigints into JSON
Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  writable: true,
  value(this: bigint) {
    return rawJSON(String(this));
  },
});

/**
 * Matches a number that a double may not hold exactly or at all: 16 digits or more, or an exponent of three digits. It
 * must follow the start of the text or one of these characters, as numbers in JSON do. Otherwise the pattern would also
 * match inside UIDs and digests, where texts such as `1e123` are common.
 */
const mayBeRounded = /(?:^|[[:,\s])-?\d(?:\d{15}|[\d.]*[eE]\+?\d{3})/;
const integer = /^-?\d+$/;

/**
 * Works as JSON.parse, but returns integers beyond 2^53 as bigints.
 * @throws SyntaxError when the text is not JSON, or has a number that no double holds
 */
export function parseExact(json: string | Uint8Array): unknown {
  const text =
    typeof json === 'string' ? json : Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');
  if (!mayBeRounded.test(text)) return parseJson(text);
  if (hasEscapedKey(text)) return parseEscaped(text, exactNumber);
  const exact = (_key: string, value: unknown, context: { readonly source?: string }): unknown =>
    typeof value !== 'number' || Number.isSafeInteger(value) ? value : exactNumber(context.source ?? '');
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as unknown;
}

/** The value of a JSON number; a bigint for an integer beyond 2^53. @throws SyntaxError when it is too large */
function exactNumber(source: string): number | bigint {
  const value = Number(source);
  if (Number.isSafeInteger(value)) return value;
  if (!Number.isFinite(value)) throw new SyntaxError('a number that is too large');
  return Number.isInteger(value) && integer.test(source) ? BigInt(source) : value;
}

/** The value that {@link parseExact} returns; undefined when it throws. */
export function jsonIn(body: string | Uint8Array): unknown {
  try {
    return parseExact(body);
  } catch {
    return undefined;
  }
}

/**
 * Converts a JSON number to the type that it has in Go's unstructured objects: a bigint for int64, a number for
 * float64. As in Go, integers beyond 64 bits become float64.
 */
export function goNumber(value: number | bigint): number | bigint {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value ? value : Number(value);
  return Number.isSafeInteger(value) ? BigInt(value) : value;
}
