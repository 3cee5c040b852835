// The values that a template works on, as in Go. Go strings are bytes, so every text here has one character for each
// byte (0 to 255). Lengths, slices and comparisons are then the same as in Go, and decoded Secrets keep every byte.
import { goNumber } from '../../../lib/json/exact-json.ts';
import { TemplateError } from './template-error.ts';
import type { Budget } from './limits.ts';

/**
 * A value in a template. `undefined` stands for a missing key, `null` for JSON's null (a nil interface in Go), a
 * `bigint` for an int64, a `number` for a float64, a string for bytes, and a Map for an object.
 */
export type Value = undefined | null | boolean | bigint | number | string | readonly Value[] | GoMap;

/** Go's map[string]interface{}. */
export type GoMap = ReadonlyMap<string, Value>;

/** The UTF-8 bytes of a JavaScript text, with one character for each byte. */
export function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** The JavaScript text of UTF-8 bytes. Bytes that are not UTF-8 become U+FFFD. */
export function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/**
 * Converts a value that JSON.parse returned. Whole numbers become int64, as in Kubernetes' unstructured objects.
 * @throws TemplateError for a value that JSON cannot represent
 */
export function valueOf(json: unknown): Value {
  if (json === null || json === undefined || typeof json === 'boolean') return json;
  if (typeof json === 'string') return bytesOf(json);
  if (typeof json === 'number' || typeof json === 'bigint') return goNumber(json);
  if (Array.isArray(json)) return json.map(valueOf);
  if (typeof json !== 'object') throw new TemplateError(`a ${typeof json} is not JSON`);
  return new Map(Object.entries(json).map(([key, value]) => [bytesOf(key), valueOf(value)]));
}

export function isMap(value: Value): value is GoMap {
  return value instanceof Map;
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** The name of the value's type in Go, for messages. */
export function typeName(value: Value): string {
  if (value === undefined || value === null) return 'nil';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int64';
    case 'number':
      return 'float64';
    case 'string':
      return 'string';
    default:
      return isMap(value) ? 'map[string]interface {}' : '[]interface {}';
  }
}

/** Whether the value counts as true in `if` (text/template's IsTrue). It is the opposite of sprig's `empty`. */
export function isTrue(value: Value): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'bigint') return value !== 0n;
  if (typeof value === 'number') return value !== 0;
  if (isMap(value)) return value.size > 0;
  if (isList(value)) return value.length > 0;
  return value !== false && value !== '';
}

/** The keys in the order in which Go prints a map and ranges over it. */
export function sortedKeys(map: GoMap): readonly string[] {
  return [...map.keys()].sort(byBytes);
}

/** Compares two byte texts for sorting. */
export function byBytes(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/**
 * The text of a value, as fmt's `%v` writes it.
 * @param budget is charged for steps and bytes, because a value can contain the same value many times
 */
export function printed(value: Value, budget: Budget): string {
  budget.step();
  if (typeof value === 'string') budget.make(value.length);
  if (value === undefined || value === null) return '<nil>';
  if (typeof value === 'number') return printedFloat(value);
  if (isMap(value))
    return `map[${sortedKeys(value)
      .map((key) => `${key}:${printed(value.get(key), budget)}`)
      .join(' ')}]`;
  if (isList(value)) return `[${value.map((item) => printed(item, budget)).join(' ')}]`;
  return String(value);
}

/** The text of a float, as strconv.FormatFloat(value, 'g', -1, 64) writes it. */
export function printedFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const power = exponentOf(value);
  return power < -4 || power >= 6 ? goExponent(value.toExponential()) : String(value);
}

/** The decimal exponent of the number's first digit. */
export function exponentOf(value: number): number {
  return Number(value.toExponential().split('e')[1]);
}

/** Writes the exponent of `text`, such as `1e+6`, with at least two digits, as Go does. */
export function goExponent(text: string): string {
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}
