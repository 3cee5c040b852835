// Reads single fields of an object to decide whether it is ready. A missing field has the zero value of its type, since
// Go omits such fields. For a field of an unexpected type, Unreadable is thrown, which names the field.
import { isJsonObject, type JsonObject } from '../json-object.ts';
import { Unreadable } from './verdict.ts';

/** A JSON object within an object of Kubernetes, and its path, such as `status.parents[0]`, for error messages. */
export interface Place {
  readonly path: string;
  readonly value: JsonObject;
}

/**
 * A field that is an object; without any fields when it is missing.
 * @throws Unreadable when it is something else
 */
export function placeAt({ path, value }: Place, field: string): Place {
  const inner = value[field];
  const at = joined(path, field);
  if (inner === undefined) return { path: at, value: {} };
  if (!isJsonObject(inner)) throw new Unreadable(`${at} is not an object`);
  return { path: at, value: inner };
}

/**
 * The value at a path of fields such as `ceph.health`; undefined when it is missing.
 * @throws Unreadable when a field on the way is no object
 */
export function valueAt(place: Place, path: string): unknown {
  const fields = path.split('.');
  const last = fields.pop()!;
  return fields.reduce(placeAt, place).value[last];
}

/**
 * A text, number or truth value at a path; undefined when it is missing.
 * @throws Unreadable when it is something else
 */
export function scalarAt(place: Place, path: string): string | number | bigint | boolean | undefined {
  const value = valueAt(place, path);
  if (value !== null && typeof value !== 'object') return value as ReturnType<typeof scalarAt>;
  throw new Unreadable(`${joined(place.path, path)} is not a text`);
}

/**
 * A text at a path; undefined when it is missing.
 * @throws Unreadable when it is something else
 */
export function textAt(place: Place, path: string): string | undefined {
  const value = valueAt(place, path);
  if (value === undefined || typeof value === 'string') return value;
  throw new Unreadable(`${joined(place.path, path)} is not a text`);
}

/**
 * A count, such as a number of replicas; 0 when the field is missing.
 * @throws Unreadable when it is something else, or negative
 */
export function countAt(place: Place, path: string): number {
  return Number(wholeAt(place, path) ?? 0n);
}

/**
 * A whole number; undefined when it is missing.
 * @throws Unreadable when it is something else, or negative
 */
export function wholeAt(place: Place, path: string): bigint | undefined {
  const value = valueAt(place, path);
  return value === undefined ? undefined : wholeNumber(value, joined(place.path, path));
}

/**
 * An `observedGeneration`: an integer, or as in Argo Rollouts a string of digits.
 * @throws Unreadable when it is something else, or negative
 */
export function generationAt(place: Place, path: string): bigint | undefined {
  const value = valueAt(place, path);
  return typeof value === 'string' && /^\d{1,19}$/.test(value) ? BigInt(value) : wholeAt(place, path);
}

/**
 * The objects in a list, each with its own path; empty when the list is missing. If the value is an object and not a
 * list, its values are taken, since some kinds have a map by name there.
 * @throws Unreadable when it is something else, or an item is no object
 */
export function itemsAt(place: Place, path: string): readonly Place[] {
  const value = valueAt(place, path);
  const at = joined(place.path, path);
  if (value === undefined) return [];
  if (value === null || typeof value !== 'object') throw new Unreadable(`${at} is not a list`);
  return Object.entries(value).map(([key, item]: [string, unknown]) => {
    const inner = Array.isArray(value) ? `${at}[${key}]` : `${at}.${key}`;
    if (!isJsonObject(item)) throw new Unreadable(`${inner} is not an object`);
    return { path: inner, value: item };
  });
}

/** Reason and message of a condition, of a waiting container or of a status. */
export function textOf({ reason, message }: JsonObject): string {
  return [reason, message].filter((part) => typeof part === 'string' && part !== '').join(': ') || 'no reason given';
}

function wholeNumber(value: unknown, path: string): bigint {
  if (typeof value !== 'number' && typeof value !== 'bigint') throw new Unreadable(`${path} is not a number`);
  if (typeof value === 'number' && !Number.isInteger(value)) throw new Unreadable(`${path} is not a whole number`);
  if (value < 0) throw new Unreadable(`${path} is negative`);
  return BigInt(value);
}

function joined(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`;
}
