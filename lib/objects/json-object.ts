// JSON objects whose fields have not been checked, and how they are read.

/** A JSON object as it was received; its fields have not been checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed JSON value is an object, and not an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The value at this path of nested objects; undefined when a part of the path is missing or the value is null.
 * Inherited properties such as `constructor` do not count.
 */
export function fieldOf(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[key];
  }
  return found ?? undefined;
}

/** Returns the string at the path; '' if there is none. */
export function textAt(object: unknown, ...path: readonly string[]): string {
  const value = fieldOf(object, ...path);
  return typeof value === 'string' ? value : '';
}

/** Returns the array at the path; an empty one if there is none. */
export function listAt(object: unknown, ...path: readonly string[]): readonly unknown[] {
  const value = fieldOf(object, ...path);
  return Array.isArray(value) ? value : [];
}

/** Returns the strings in the array at the path, without items of other types. */
export function textsAt(object: unknown, ...path: readonly string[]): readonly string[] {
  return listAt(object, ...path).filter((each) => typeof each === 'string');
}

/** Returns the object at the path; an empty one if there is none. */
export function objectAt(value: unknown, ...path: readonly string[]): JsonObject {
  const found = fieldOf(value, ...path);
  return isJsonObject(found) ? found : {};
}

/** Returns the objects in the array at the path, without items of other types. */
export function objectsAt(value: unknown, ...path: readonly string[]): readonly JsonObject[] {
  return listAt(value, ...path).filter(isJsonObject);
}
