// The order of object keys.
import type { ObjectKey } from '../query/types.ts';

/** Compares by namespace, then by name, both by UTF-16 units as JavaScript does. */
export function compareKeys(one: ObjectKey, other: ObjectKey): number {
  return compareUnits(one.namespace, other.namespace) || compareUnits(one.name, other.name);
}

function compareUnits(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
