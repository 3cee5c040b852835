// The order of texts as stores compare them, and that of rows by their keys.
import type { ObjectKey } from '../types.ts';

/** The order of a code unit: surrogates come after all others. */
export function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** By code points, which is the order of UTF-8 bytes. */
export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const a = one.charCodeAt(at);
    const b = other.charCodeAt(at);
    if (a === b) continue;
    if (a >= 0xd800 && b >= 0xd800) return rank(a) - rank(b);
    return a - b;
  }
  return one.length - other.length;
}

/** By namespace, then by name, in the order of JavaScript. */
export function compareKeys(one: ObjectKey, other: ObjectKey): number {
  return compareUnits(one.namespace, other.namespace) || compareUnits(one.name, other.name);
}

function compareUnits(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
