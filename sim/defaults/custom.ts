// Applies the schemas of CustomResourceDefinitions: fills in defaults, and validates values. When a default is an
// object, the fields that are missing in it get their own defaults.
import { resolve, type Schema } from '../schema/spec.ts';
import type { FieldFault } from '../model/status-error.ts';
import { copy, isObject } from '../model/types.ts';

type Schemas = Readonly<Record<string, Schema>>;

/** Fills in the defaults of a schema. Changes `value`. */
export function fillSchemaDefaults(schemas: Schemas, outer: Schema | undefined, value: unknown): void {
  const schema = resolve(schemas, outer);
  if (schema === undefined) return;
  if (Array.isArray(value)) for (const item of value) fillSchemaDefaults(schemas, schema.items, item);
  if (!isObject(value)) return;
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    if (value[key] === undefined && inner.default !== undefined) value[key] = copy(inner.default);
    fillSchemaDefaults(schemas, inner, value[key]);
  }
  if (typeof schema.additionalProperties === 'object')
    for (const item of Object.values(value)) fillSchemaDefaults(schemas, schema.additionalProperties, item);
}

/** The keywords of a schema that limit a value. */
interface Bounds {
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** The errors for values outside the enum, range, pattern or length in the schema. */
export function valueFaults(schemas: Schemas, outer: Schema | undefined, value: unknown, path = ''): FieldFault[] {
  const schema = resolve(schemas, outer);
  if (schema === undefined || value === undefined || value === null) return [];
  const own = boundFault(schema as Bounds, value, path);
  if (own !== undefined) return [own];
  if (Array.isArray(value))
    return value.flatMap((item, i) => valueFaults(schemas, schema.items, item, `${path}[${i}]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    if (path === '' && ['metadata', 'apiVersion', 'kind'].includes(key)) return [];
    const inner =
      schema.properties?.[key] ??
      (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined);
    return valueFaults(schemas, inner, item, path === '' ? key : `${path}.${key}`);
  });
}

function boundFault(bounds: Bounds, value: unknown, field: string): FieldFault | undefined {
  const text = JSON.stringify(value);
  if (bounds.enum !== undefined && !bounds.enum.includes(value)) {
    const list = bounds.enum.map((item) => JSON.stringify(item)).join(', ');
    return {
      reason: 'FieldValueNotSupported',
      message: `Unsupported value: ${text}: supported values: ${list}`,
      field,
    };
  }
  const why = boundBroken(bounds, value);
  if (why === undefined) return undefined;
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${text}: ${field} in body ${why}`, field };
}

/** Which limit the value violates, with the text of kube-apiserver's message; undefined when it violates none. */
function boundBroken(bounds: Bounds, value: unknown): string | undefined {
  if (typeof value === 'number') {
    const { minimum = -Infinity, maximum = Infinity } = bounds;
    if (value < minimum) return `should be greater than or equal to ${minimum}`;
    return value > maximum ? `should be less than or equal to ${maximum}` : undefined;
  }
  if (typeof value === 'string') {
    const { pattern, minLength = 0, maxLength = Infinity } = bounds;
    if (pattern !== undefined && !matches(pattern, value)) return `should match '${pattern}'`;
    if (value.length < minLength) return `should be at least ${minLength} chars long`;
    return value.length > maxLength ? `should be at most ${maxLength} chars long` : undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const { minItems = 0, maxItems = Infinity } = bounds;
  if (value.length < minItems) return `should have at least ${minItems} items`;
  return value.length > maxItems ? `should have at most ${maxItems} items` : undefined;
}

/**
 * Whether the value matches the pattern. Some regular expressions of Go are not valid in JavaScript; every value counts
 * as matching such a pattern.
 */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}
