// What a template works on, as Go sees it. Texts are Go strings, which are bytes: every text in here has one character
// per byte (0 to 255), so that lengths, cuts and comparisons are Go's, and decoded Secrets keep every byte.
import { TemplateError } from './template-error.ts';
import type { Budget } from './limits.ts';

/**
 * A value: `undefined` is what a missing key gives, `null` is JSON's null (Go's nil interface), a `bigint` is an int64,
 * a `number` a float64, a text is bytes, an object is a Map.
 */
export type Value = undefined | null | boolean | bigint | number | string | readonly Value[] | GoMap;

/** map[string]interface{}. */
export type GoMap = ReadonlyMap<string, Value>;

/** UTF-8 bytes of a JavaScript text, one character per byte. */
export function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** The JavaScript text of UTF-8 bytes; what is no UTF-8 becomes U+FFFD. */
export function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/**
 * Makes values of what JSON.parse gives. Whole numbers become int64, as in Kubernetes' unstructured objects.
 * @throws TemplateError for anything that JSON cannot say
 */
export function valueOf(json: unknown): Value {
  if (json === null || json === undefined || typeof json === 'boolean') return json;
  if (typeof json === 'bigint') return json;
  if (typeof json === 'string') return bytesOf(json);
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : json;
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

/** Go's name of the type, for messages. */
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

/** text/template's IsTrue, and the opposite of sprig's `empty`. */
export function isTrue(value: Value): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'bigint') return value !== 0n;
  if (typeof value === 'number') return value !== 0;
  if (isMap(value)) return value.size > 0;
  if (isList(value)) return value.length > 0;
  return value !== false && value !== '';
}

/** Keys in the order in which Go prints and ranges over a map. */
export function sortedKeys(map: GoMap): readonly string[] {
  return [...map.keys()].sort(byBytes);
}

/** Order of bytes; JavaScript compares the characters, which are bytes here. */
export function byBytes(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** fmt's `%v`. @param budget a value may hold another many times over, so that its text is far longer than it is */
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

/** strconv.FormatFloat(value, 'g', -1, 64). */
export function printedFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const power = exponentOf(value);
  return power < -4 || power >= 6 ? goExponent(value.toExponential()) : String(value);
}

/** The decimal exponent of the first digit. */
export function exponentOf(value: number): number {
  return Number(value.toExponential().split('e')[1]);
}

/** Two digits of exponent at least, as Go writes them. */
export function goExponent(text: string): string {
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}
