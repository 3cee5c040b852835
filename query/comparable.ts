// The values that `>` and `<` can compare: numbers, Kubernetes quantities and RFC 3339 times. Nothing is rounded: `0.1`
// equals `100m`, and 2^53+1 differs from 2^53. `1E` is a quantity (exa), `1E3` is a number.
import { readRfc3339 } from './rfc3339.ts';

/**
 * A value that `>` and `<` can compare. A number is `digits × 10^exponent`; a time is nanoseconds since 1970. A number
 * and a time cannot be compared with each other.
 */
export type Comparable =
  | { readonly kind: 'number'; readonly digits: bigint; readonly exponent: number }
  | { readonly kind: 'time'; readonly ns: bigint };

/**
 * The most characters of a number. A longer text is not read as one, so that an object cannot make the gateway build
 * huge integers.
 */
const longestNumber = 100;
const largestExponent = 400;

const number = /^([+-]?)(\d{0,100})(?:\.(\d{0,100}))?(?:[eE]([+-]?\d{1,5})|([numkMGTPE]|[KMGTPE]i))?$/;

/**
 * Suffixes of quantities that mean a power of ten, with the exponent of that power
 * (apimachinery/pkg/api/resource/suffix.go).
 */
const decimalSuffixes: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
/** Suffixes of quantities that mean a power of 1024, with the exponent of that power. */
const binarySuffixes: Readonly<Record<string, bigint>> = { Ki: 1n, Mi: 2n, Gi: 3n, Ti: 4n, Pi: 5n, Ei: 6n };

/** Parses a number, a quantity or a time; undefined for any other text. */
export function readComparable(text: string): Comparable | undefined {
  const ns = readRfc3339(text);
  if (ns !== undefined) return { kind: 'time', ns };
  return readNumber(text);
}

function readNumber(text: string): Comparable | undefined {
  if (text.length > longestNumber) return undefined;
  const match = number.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', power = '0', suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  let digits = BigInt(`${whole}${fraction}`);
  let exponent = Number(power) - fraction.length;
  if (suffix.length === 2) digits *= 1024n ** binarySuffixes[suffix]!;
  else if (suffix !== '') exponent += decimalSuffixes[suffix]!;
  if (digits === 0n) exponent = 0;
  if (Math.abs(exponent) > largestExponent) return undefined;
  return { kind: 'number', digits: sign === '-' ? -digits : digits, exponent };
}

/**
 * Negative when `one` is less, 0 when equal, positive when greater; undefined when one is a number and the other a
 * time.
 */
export function compare(one: Comparable, other: Comparable): number | undefined {
  if (one.kind === 'time') return other.kind === 'time' ? order(one.ns, other.ns) : undefined;
  if (other.kind === 'time') return undefined;
  const least = Math.min(one.exponent, other.exponent);
  return order(one.digits * 10n ** BigInt(one.exponent - least), other.digits * 10n ** BigInt(other.exponent - least));
}

function order(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
