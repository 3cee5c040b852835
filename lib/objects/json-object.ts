// JSON objects whose fields have not been checked.

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
