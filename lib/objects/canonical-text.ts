// Writes JSON values so that equal values have equal texts, for hashes and sets.
// Makes JSON.stringify write bigints.
import '../json/exact-json.ts';
import { isJsonObject } from './json-object.ts';

/**
 * The JSON of a value with the fields of every object in one order. Integers beyond 2^53, which are bigints, are
 * written with all their digits.
 */
export function canonicalText(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
