// Equality and order of CEL values, as in cel-go. Values of different types are not equal, but numbers of different
// types are compared by their numeric value.
import { Optional } from '@marcbachmann/cel-js';
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { noOverload, type Steps } from './steps.ts';

/** A value of a type that Kubernetes adds to CEL. Comparing it with a value of another type is an error. */
export abstract class KubernetesValue {
  /** @param other a value of the same class */
  abstract equals(other: this): boolean;
}

/**
 * Whether two values are equal. Each compared element counts as a step.
 * @throws CelFault for values that cannot be compared
 */
export function isEqual(one: unknown, other: unknown, steps: Steps): boolean {
  steps.spend(1);
  if (typeof one === 'string') {
    if (typeof other !== 'string') return false;
    steps.spendText(Math.min(one.length, other.length));
    return one === other;
  }
  if (one instanceof KubernetesValue) {
    if (other === null) return false;
    if (one.constructor !== other?.constructor) throw noOverload();
    return one.equals(other as KubernetesValue);
  }
  const [left, right] = [numberOf(one), numberOf(other)];
  if (left !== undefined || right !== undefined) {
    // oxlint-disable-next-line eqeqeq -- 1 and 1.0 are equal in CEL, a bigint and a number here.
    return left !== undefined && right !== undefined && left == right;
  }
  if (one === null || other === null || typeof one !== 'object' || typeof other !== 'object') return one === other;
  return areEqualObjects(one, other, steps);
}

function areEqualObjects(one: object, other: object, steps: Steps): boolean {
  if (Array.isArray(one)) return Array.isArray(other) && areEqual(one, other, steps);
  if (one instanceof Uint8Array) return other instanceof Uint8Array && areEqual(one, other, steps);
  if (one instanceof Date) return other instanceof Date && one.getTime() === other.getTime();
  if (one instanceof Duration)
    return other instanceof Duration && one.seconds === other.seconds && one.nanos === other.nanos;
  if (one instanceof Optional) {
    if (!(other instanceof Optional) || one.hasValue() !== other.hasValue()) return false;
    return !one.hasValue() || isEqual(one.value(), other.value(), steps);
  }
  return isMap(one) && isMap(other) ? areEqualMaps(one, other, steps) : one === other;
}

function areEqual(one: ArrayLike<unknown>, other: ArrayLike<unknown>, steps: Steps): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i += 1) if (!isEqual(one[i], other[i], steps)) return false;
  return true;
}

function areEqualMaps(one: object, other: object, steps: Steps): boolean {
  const entries = Object.entries(one);
  steps.spend(entries.length);
  if (entries.length !== Object.keys(other).length) return false;
  return entries.every(
    ([key, value]) => Object.hasOwn(other, key) && isEqual(value, (other as Record<string, unknown>)[key], steps),
  );
}

/** Whether the list has an element that equals the value. */
export function isMember(value: unknown, list: readonly unknown[], steps: Steps): boolean {
  return list.some((each) => isEqual(each, value, steps));
}

/**
 * Less than 0 when the first value is less, more than 0 when the second is, else 0.
 * @throws CelFault for types that have no order, or that cannot be compared with each other
 */
export function order(one: unknown, other: unknown, steps: Steps): number {
  steps.spend(1);
  const [left, right] = [numberOf(one), numberOf(other)];
  if (left !== undefined && right !== undefined) return orderOf(left, right);
  if (typeof one === 'string' && typeof other === 'string') {
    steps.spendText(Math.min(one.length, other.length));
    return orderOfTexts(one, other);
  }
  if (typeof one === 'boolean' && typeof other === 'boolean') return Number(one) - Number(other);
  if (one instanceof Uint8Array && other instanceof Uint8Array) {
    steps.spendText(Math.min(one.length, other.length));
    return Buffer.compare(one, other);
  }
  if (one instanceof Date && other instanceof Date) return orderOf(one.getTime(), other.getTime());
  if (one instanceof Duration && other instanceof Duration) return orderOf(nanosecondsOf(one), nanosecondsOf(other));
  throw noOverload();
}

/** A duration in nanoseconds. */
export function nanosecondsOf({ seconds, nanos }: Duration): bigint {
  return seconds * 1_000_000_000n + BigInt(nanos);
}

/** The number of an `int`, `uint` or `double`; undefined for other values. */
export function numberOf(value: unknown): number | bigint | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof UnsignedInt ? value.value : undefined;
}

function orderOf(one: number | bigint, other: number | bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/**
 * Compares two texts as Go does, by their bytes in UTF-8. This is the order of code points; JavaScript's `<` compares
 * UTF-16 units, whose order differs.
 */
export function orderOfTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  if (at === length) return one.length - other.length;
  const [left, right] = [one.charCodeAt(at), other.charCodeAt(at)];
  // Surrogates encode code points above U+FFFF, so they must sort after all other UTF-16 units.
  return left + rise(left) - (right + rise(right));
}

function rise(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? 0x10_000 : 0;
}

/** Whether the value is a map: an object of JSON, or a map that the expression wrote. */
export function isMap(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
