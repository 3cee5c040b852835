// Checks an object against the schema of its kind: unknown fields, wrong types, missing required fields. The parameter
// fieldValidation decides whether unknown fields are ignored, warned about or refused. Unknown fields that are not
// refused are removed.
import type { Call } from '../call/cluster.ts';
import { badRequest, invalid, requiredField, type FieldFault } from '../model/status-error.ts';
import type { Resource } from '../store/resources.ts';
import { resolve, type Schema } from '../schema/spec.ts';
import { isObject, type JsonObject, type KubeObject } from '../model/types.ts';

type Schemas = Readonly<Record<string, Schema>>;

/** What was found in one object: paths of unknown fields, and values of a wrong type. */
interface Findings {
  readonly unknown: string[];
  readonly wrong: { readonly path: string; readonly found: string; readonly wanted: string }[];
}

/**
 * Checks one object and returns it without its unknown fields. By default each unknown field is named in a warning of
 * the answer.
 * @throws StatusError 400 for wrong types and, with fieldValidation=Strict, for unknown fields; 422 for wrong types in
 * custom resources
 */
export function checkBody(call: Call, resource: Resource, body: KubeObject): KubeObject {
  const { schemas } = call.cluster.registry;
  const schema = resource.schemaName === undefined ? undefined : schemas[resource.schemaName];
  if (schema === undefined) return body;
  const findings: Findings = { unknown: [], wrong: [] };
  const object = checkValue(schemas, schema, body, '', findings) as KubeObject;
  const first = findings.wrong[0];
  if (first !== undefined) throw wrongType(resource, body, first);
  const texts = findings.unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  const mode = call.query.get('fieldValidation') ?? 'Warn';
  if (texts.length > 0 && mode === 'Strict')
    throw badRequest(
      `${resource.kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: strict decoding error: ${texts.join(', ')}`,
    );
  if (mode === 'Warn') for (const text of texts) if (!call.warnings.includes(text)) call.warnings.push(text);
  return object;
}

function wrongType(resource: Resource, body: KubeObject, { path, found, wanted }: Findings['wrong'][number]): Error {
  if (resource.definition === undefined)
    return badRequest(
      `${resource.kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: json: cannot unmarshal ${found} into Go struct field ${resource.kind}.${path} of type ${wanted}`,
    );
  const message = `Invalid value: ${JSON.stringify(found)}: ${path} in body must be of type ${wanted}: ${JSON.stringify(found)}`;
  return invalid(resource, body.metadata.name ?? '', [{ reason: 'FieldValueTypeInvalid', message, field: path }]);
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return value === null ? 'null' : typeof value === 'boolean' ? 'bool' : typeof value;
}

/** The value without its unknown fields. Unknown fields and wrong types are added to `findings`. */
function checkValue(schemas: Schemas, outer: Schema, value: unknown, path: string, findings: Findings): unknown {
  const schema = resolve(schemas, outer) ?? outer;
  if (value === null || value === undefined) return value;
  const wrong = (wanted: string): unknown => {
    findings.wrong.push({ path: path.replace(/\[\d+\]|\{[^}]*\}/g, ''), found: typeOf(value), wanted });
    return value;
  };
  if (schema['x-kubernetes-int-or-string'] === true || schema.format === 'int-or-string')
    return typeof value === 'string' || typeof value === 'number' ? value : wrong('intstr.IntOrString');
  if (schema.oneOf !== undefined && schema.type === undefined) return checkChoice(schema, value, wrong);
  if (scalarTypes.has(schema.type)) return isScalar(schema.type, value) ? value : wrong(goName(schema));
  switch (schema.type) {
    case 'array':
      if (!Array.isArray(value)) return wrong('array');
      return value.map((item, i) =>
        schema.items === undefined ? item : checkValue(schemas, schema.items, item, `${path}[${i}]`, findings),
      );
    case 'object':
      if (!isObject(value)) return wrong('object');
      return checkObject(schemas, schema, value, path, findings);
    default:
      return schema.properties !== undefined && isObject(value)
        ? checkObject(schemas, schema, value, path, findings)
        : value;
  }
}

const scalarTypes = new Set<string | undefined>(['string', 'boolean', 'integer', 'number']);

function isScalar(type: string | undefined, value: unknown): boolean {
  return type === 'integer' ? Number.isInteger(value) : typeof value === type;
}

/** The name of a schema's type in Go's error messages. */
function goName({ type = '', format }: Schema): string {
  if (type === 'boolean') return 'bool';
  return type === 'integer' ? (format ?? type) : type;
}

/**
 * Checks a value for which the schema permits several types. When it permits text and numbers, as for a quantity, a
 * number is turned into text.
 */
function checkChoice(schema: Schema, value: unknown, wrong: (wanted: string) => unknown): unknown {
  const types = (schema.oneOf ?? []).map((choice) => choice.type);
  if (types.includes('string') && types.includes('number')) {
    if (typeof value === 'number') return String(value);
    return typeof value === 'string' ? value : wrong('resource.Quantity');
  }
  return value;
}

function checkObject(
  schemas: Schemas,
  schema: Schema,
  value: JsonObject,
  path: string,
  findings: Findings,
): JsonObject {
  const { properties, additionalProperties } = schema;
  if (properties === undefined && additionalProperties === undefined) return value;
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const result: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    const inner = path === '' ? key : `${path}.${key}`;
    const known = properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
    const free = typeof additionalProperties === 'object' ? additionalProperties : undefined;
    let checked: unknown = item;
    if (known !== undefined) checked = checkValue(schemas, known, item, inner, findings);
    else if (free !== undefined) checked = checkValue(schemas, free, item, `${path}{${key}}`, findings);
    else if (additionalProperties !== true && !keepsUnknown && !isEmbedded(schema, key)) {
      findings.unknown.push(inner.replace(/\{([^}]*)\}/g, '.$1'));
      continue;
    }
    if (known !== undefined && (checked === null || checked === undefined)) continue;
    Object.defineProperty(result, key, { value: checked, enumerable: true, configurable: true, writable: true });
  }
  return result;
}

function isEmbedded(schema: Schema, key: string): boolean {
  return schema['x-kubernetes-embedded-resource'] === true && ['apiVersion', 'kind', 'metadata'].includes(key);
}

/** An error for each missing required field outside status and metadata. Call it after defaults were filled in. */
export function requiredFaults(schemas: Schemas, resource: Resource, object: KubeObject): FieldFault[] {
  const schema = resource.schemaName === undefined ? undefined : schemas[resource.schemaName];
  const faults: FieldFault[] = [];
  if (schema === undefined) return faults;
  for (const [key, inner] of Object.entries(resolve(schemas, schema)?.properties ?? {}))
    if (!['status', 'metadata'].includes(key) && object[key] !== undefined)
      missing(schemas, inner, object[key], key, faults);
  for (const key of schema.required ?? [])
    if (object[key] === undefined && key !== 'metadata') faults.push(requiredField(key));
  return faults;
}

function missing(schemas: Schemas, outer: Schema, value: unknown, path: string, faults: FieldFault[]): void {
  const schema = resolve(schemas, outer) ?? outer;
  if (value === null || typeof value !== 'object') return;
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries())
      if (schema.items !== undefined) missing(schemas, schema.items, item, `${path}[${i}]`, faults);
    return;
  }
  const object = value as JsonObject;
  for (const key of schema.required ?? []) if (object[key] === undefined) faults.push(requiredField(`${path}.${key}`));
  for (const [key, item] of Object.entries(object)) {
    const inner = schema.properties?.[key] ?? schema.additionalProperties;
    if (typeof inner === 'object') missing(schemas, inner, item, `${path}.${key}`, faults);
  }
}
