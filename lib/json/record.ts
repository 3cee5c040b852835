// The values of JSON that are objects.

/** An object of JSON, by key. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Whether a value of JSON is an object, and no list. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
