// Kubernetes' CEL library of quantities (apiserver/pkg/cel/library/quantity.go). They are computed exactly. Kubernetes
// stores a quantity either as a 64-bit integer times a power of ten, or as a decimal number of any size
// (apimachinery/pkg/api/resource). Only the first form can count as an integer.
import { KubernetesValue } from './equality.ts';
import type { Library } from './library.ts';
import { CelFault, type Steps } from './steps.ts';

/** Longest text that is read, and largest power of ten in it, so that no quantity takes long to compare. */
const longestText = 128;
const largestPower = 400;

const formatWords = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const suffixWords = "unable to parse quantity's suffix";
const numericWords = 'unable to parse numeric part of quantity';

const parts = /^([+-]?)(0*)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/;
const decimalPowers: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binaryPowers: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

/** Number of decimal digits up to which Kubernetes always stores a quantity in 64 bits. */
const digitsOf64Bits = 18;
const finest = -9;
const mostBinary = 2n ** 63n - 1n;

/** A quantity: `digits × 10^power`. */
export class Quantity extends KubernetesValue {
  static readonly typeName = 'kubernetes.Quantity';
  readonly digits: bigint;
  readonly power: number;
  /** Whether Kubernetes stores it in 64 bits. */
  readonly isShort: boolean;

  constructor(digits: bigint, power: number, isShort: boolean) {
    super();
    this.digits = digits;
    this.power = power;
    this.isShort = isShort;
  }

  /**
   * Returns a number less than, equal to or greater than 0 when this quantity is less than, equal to or greater than
   * the other.
   */
  compare(other: Quantity): number {
    const [one, another] = atPower(this, other, Math.min(this.power, other.power));
    return one < another ? -1 : one > another ? 1 : 0;
  }

  override equals(other: this): boolean {
    return this.compare(other) === 0;
  }

  plus(other: Quantity, sign: 1n | -1n): Quantity {
    const isShort = this.isShort && other.isShort;
    if (isShort && other.digits === 0n) return this;
    if (isShort && this.digits === 0n) return new Quantity(sign * other.digits, other.power, true);
    const power = Math.min(this.power, other.power);
    const [one, another] = atPower(this, other, power);
    const sum = one + sign * another;
    return new Quantity(sum, power, isShort && [one, another, sum].every(is64Bits));
  }

  /** The quantity as an integer; undefined when Kubernetes does not count it as an integer. */
  integer(): bigint | undefined {
    if (!this.isShort || this.power < 0) return undefined;
    const value = this.digits * 10n ** BigInt(this.power);
    return is64Bits(value) ? value : undefined;
  }
}

function atPower(one: Quantity, other: Quantity, power: number): [bigint, bigint] {
  return [one.digits * 10n ** BigInt(one.power - power), other.digits * 10n ** BigInt(other.power - power)];
}

function is64Bits(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

/** Parses a quantity such as `100Mi`. @throws CelFault when the text is no quantity */
export function parseQuantity(text: string): Quantity {
  const read = text.length > longestText ? null : parts.exec(text);
  const [all, sign, zeros = '', whole = '', fraction = '', suffix = ''] = read ?? [];
  if (all === undefined || text === '') throw new CelFault(formatWords);
  const number = whole === '' ? '0' : whole;
  const binary = binaryPowers[suffix];
  const positive = BigInt(`${number}${fraction}`);
  const digits = sign === '-' ? -positive : positive;
  const hasDigits = `${zeros}${whole}${fraction}` !== '';
  if (binary !== undefined) return binaryQuantity(digits, number, fraction, binary, hasDigits);
  const power = decimalPowers[suffix] ?? exponentOf(suffix);
  const isFew = number.length + fraction.length <= digitsOf64Bits;
  if (isFew && power - fraction.length >= finest) return new Quantity(digits, power - fraction.length, true);
  if (!hasDigits) throw new CelFault(numericWords);
  return roundedUp(digits, power - fraction.length);
}

function exponentOf(suffix: string): number {
  const [, digits] = /^[eE]([+-]?\d+)$/.exec(suffix) ?? [];
  if (digits === undefined || Math.abs(Number(digits)) > largestPower) throw new CelFault(suffixWords);
  return Number(digits);
}

function binaryQuantity(digits: bigint, number: string, fraction: string, power: number, hasDigits: boolean): Quantity {
  const value = digits * 2n ** BigInt(power);
  const spare = 14 - number.length - Math.trunc((power * 3) / 10);
  if (fraction === '' && spare >= 0 && is64Bits(value)) return new Quantity(value, 0, true);
  if (!hasDigits) throw new CelFault(numericWords);
  const rounded = roundedUp(value, -fraction.length);
  const most = new Quantity(mostBinary, 0, false);
  if (rounded.compare(most) > 0) return most;
  const least = new Quantity(-mostBinary, 0, false);
  return rounded.compare(least) < 0 ? least : rounded;
}

/**
 * A quantity that does not fit into 64 bits, as Kubernetes stores it: in billionths, with finer fractions rounded away
 * from zero.
 */
function roundedUp(digits: bigint, power: number): Quantity {
  if (digits === 0n) return new Quantity(0n, power, false);
  if (power >= finest) return new Quantity(digits * 10n ** BigInt(power - finest), finest, false);
  const by = 10n ** BigInt(finest - power);
  const away = digits % by === 0n ? 0n : digits < 0n ? -1n : 1n;
  return new Quantity(digits / by + away, finest, false);
}

function isQuantity(text: string): boolean {
  try {
    parseQuantity(text);
    return true;
  } catch {
    return false;
  }
}

/** Steps for arithmetic with a quantity: more for one with many digits. */
function pay(steps: Steps, ...quantities: readonly Quantity[]): void {
  steps.spend(5 + quantities.reduce((sum, { power }) => sum + Math.abs(power) / 10, 0));
}

/** Registers `quantity`, `isQuantity`, `sign` and the methods of quantities. */
export function addQuantities({ add, addType, steps }: Library): void {
  const q = Quantity.typeName;
  addType(q, Quantity);
  add(`quantity(string): ${q}`, parseQuantity);
  add('isQuantity(string): bool', isQuantity);
  add(`sign(${q}): int`, ({ digits }: Quantity) => (digits > 0n ? 1n : digits < 0n ? -1n : 0n));
  const compared = (one: Quantity, other: Quantity): number => {
    pay(steps, one, other);
    return one.compare(other);
  };
  add(`${q}.isGreaterThan(${q}): bool`, (one: Quantity, other: Quantity) => compared(one, other) > 0);
  add(`${q}.isLessThan(${q}): bool`, (one: Quantity, other: Quantity) => compared(one, other) < 0);
  add(`${q}.compareTo(${q}): int`, (one: Quantity, other: Quantity) => BigInt(compared(one, other)));
  add(`${q}.isInteger(): bool`, (one: Quantity) => one.integer() !== undefined);
  add(`${q}.asInteger(): int`, (one: Quantity) => {
    const value = one.integer();
    if (value === undefined) throw new CelFault('cannot convert value to integer');
    return value;
  });
  add(`${q}.asApproximateFloat(): double`, ({ digits, power }: Quantity) =>
    power === 0 ? Number(digits) : Number(digits) * Number(`1e${power}`),
  );
  for (const [name, sign] of [
    ['add', 1n],
    ['sub', -1n],
  ] as const) {
    const summed = (one: Quantity, other: Quantity): Quantity => {
      pay(steps, one, other);
      return one.plus(other, sign);
    };
    add(`${q}.${name}(${q}): ${q}`, summed);
    add(`${q}.${name}(int): ${q}`, (one: Quantity, other: bigint) => summed(one, new Quantity(other, 0, true)));
  }
}
