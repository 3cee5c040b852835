// The type of JSON objects, and a check whether a JSON value is one.

/** A JSON object, by key; its values have not been checked. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object, and not a list or null. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
