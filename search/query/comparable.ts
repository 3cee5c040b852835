// What `>` and `<` compare: numbers, Kubernetes quantities and RFC 3339 times, without rounding. `0.1` and `100m` are
// equal, 2^53+1 is not 2^53, and `1E` is a quantity (exa) while `1E3` is a number.
import { readRfc3339 } from './rfc3339.ts';

/** A number as `digits × 10^exponent`, or a time in nanoseconds. The two kinds do not compare. */
export type Comparable =
  | { readonly kind: 'number'; readonly digits: bigint; readonly exponent: number }
  | { readonly kind: 'time'; readonly ns: bigint };

/** Longer texts are no numbers: a document must not make us build huge integers. */
const longestNumber = 100;
const largestExponent = 400;

const number = /^([+-]?)(\d{0,100})(?:\.(\d{0,100}))?(?:[eE]([+-]?\d{1,5})|([numkMGTPE]|[KMGTPE]i))?$/;

/** Powers of ten; apimachinery/pkg/api/resource/suffix.go. */
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
/** Powers of 1024. */
const binarySuffixes: Readonly<Record<string, bigint>> = { Ki: 1n, Mi: 2n, Gi: 3n, Ti: 4n, Pi: 5n, Ei: 6n };

/** Reads a number, a quantity or a time; undefined for any other text. */
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

/** Negative, 0 or positive as the first is less, equal or greater; undefined for a number and a time. */
export function compare(one: Comparable, other: Comparable): number | undefined {
  if (one.kind === 'time') return other.kind === 'time' ? order(one.ns, other.ns) : undefined;
  if (other.kind === 'time') return undefined;
  const least = Math.min(one.exponent, other.exponent);
  return order(one.digits * 10n ** BigInt(one.exponent - least), other.digits * 10n ** BigInt(other.exponent - least));
}

function order(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
