// Defaults and value rules of custom resources, both from the schema in their definition. A default fills a field
// that is missing, also inside objects that are there only because of another default.
import { resolve, type Schema } from '../schema/spec.ts';
import type { FieldFault } from '../api/status-error.ts';
import { copy, type JsonObject } from '../types.ts';

type Schemas = Readonly<Record<string, Schema>>;

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Fills defaults in place. */
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

/** Values outside enum, range, pattern or length. */
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
  const wrong = (why: string): FieldFault => ({
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${text}: ${field} in body ${why}`,
    field,
  });
  if (bounds.enum !== undefined && !bounds.enum.includes(value)) {
    const list = bounds.enum.map((item) => JSON.stringify(item)).join(', ');
    return {
      reason: 'FieldValueNotSupported',
      message: `Unsupported value: ${text}: supported values: ${list}`,
      field,
    };
  }
  if (typeof value === 'number') {
    if (bounds.minimum !== undefined && value < bounds.minimum)
      return wrong(`should be greater than or equal to ${bounds.minimum}`);
    if (bounds.maximum !== undefined && value > bounds.maximum)
      return wrong(`should be less than or equal to ${bounds.maximum}`);
  }
  if (typeof value === 'string') {
    if (bounds.pattern !== undefined && !matches(bounds.pattern, value))
      return wrong(`should match '${bounds.pattern}'`);
    if (bounds.minLength !== undefined && value.length < bounds.minLength)
      return wrong(`should be at least ${bounds.minLength} chars long`);
    if (bounds.maxLength !== undefined && value.length > bounds.maxLength)
      return wrong(`should be at most ${bounds.maxLength} chars long`);
  }
  if (Array.isArray(value)) {
    if (bounds.minItems !== undefined && value.length < bounds.minItems)
      return wrong(`should have at least ${bounds.minItems} items`);
    if (bounds.maxItems !== undefined && value.length > bounds.maxItems)
      return wrong(`should have at most ${bounds.maxItems} items`);
  }
  return undefined;
}

/** Go's expressions are not all ours; one we cannot read is not checked. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}
