// Functions that build CustomResourceDefinitions and their OpenAPI schemas, and the types of both.

/** A JSONSchemaProps of apiextensions.k8s.io/v1. The definitions here use only these values of `type`. */
export interface Schema {
  readonly type: 'object' | 'array' | 'string' | 'boolean' | 'integer';
  readonly [field: string]: unknown;
}

export const text: Schema = { type: 'string' };
export const flag: Schema = { type: 'boolean' };
/** Schema of bytes, which JSON holds as base64. */
export const bytes: Schema = { type: 'string', format: 'byte' };
export const time: Schema = { type: 'string', format: 'date-time' };

/** Schema of an object; `required` names the fields that must be given. */
export function record(properties: Readonly<Record<string, Schema>>, ...required: readonly string[]): Schema {
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required: required.toSorted() }) };
}

export function list(items: Schema, more: object = {}): Schema {
  return { type: 'array', items, ...more };
}

/** Schema of a list in which no two items have the same value in the field `key`. */
export function keyedList(key: string, items: Schema): Schema {
  return list(items, { 'x-kubernetes-list-map-keys': [key], 'x-kubernetes-list-type': 'map' });
}

const dnsLabel = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';

/** Schema of a list of metav1.Condition. */
export const conditions: Schema = list(
  record(
    {
      lastTransitionTime: time,
      message: { ...text, maxLength: 32_768 },
      observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
      reason: { ...text, minLength: 1, maxLength: 1024, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' },
      status: { ...text, enum: ['True', 'False', 'Unknown'] },
      type: {
        ...text,
        maxLength: 316,
        pattern: `^(${dnsLabel}(\\.${dnsLabel})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
      },
    },
    'lastTransitionTime',
    'message',
    'reason',
    'status',
    'type',
  ),
);

/** One entry of `additionalPrinterColumns`: a column that `kubectl get` shows. */
export interface Column {
  readonly name: string;
  readonly type: 'string';
  readonly jsonPath: string;
  /** Above 0, the column is shown only by `-o wide`. */
  readonly priority?: number;
}

/** Any number above 0 would do: `kubectl get` shows such columns only with `-o wide`. */
const wide = 10;

/**
 * Makes a column that shows the condition of this type. @param field the field of the condition that the column shows
 */
export function conditionColumn(type: string, field: 'status' | 'reason', shown: 'always' | 'wide' = 'always'): Column {
  return column(type, `.status.conditions[?(@.type == '${type}')].${field}`, shown);
}

export function column(name: string, jsonPath: string, shown: 'always' | 'wide' = 'always'): Column {
  return { name, type: 'string', jsonPath, ...(shown === 'wide' ? { priority: wide } : {}) };
}

/** The parts of which `definitionOf` makes a CustomResourceDefinition. */
export interface TypeDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  /** Whether objects of the type are in namespaces; `Cluster`, that is not, by default. */
  readonly scope?: 'Cluster' | 'Namespaced';
  /** Singular name of the type; by default the kind in lower case. */
  readonly singular?: string;
  readonly columns?: readonly Column[];
  readonly spec?: Schema;
  /** Schemas of fields beside `spec` and `status`; `required` names the fields that must be given. */
  readonly fields?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** Validation rules in CEL for the whole object. */
  readonly validations?: readonly { readonly rule: string; readonly message: string }[];
  /** Schema of the status; with one, the type also gets a status subresource. Undefined for a type without status. */
  readonly status?: Schema;
}

/** A CustomResourceDefinition object. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

export function definitionOf(type: TypeDefinition): CustomResourceDefinition {
  const { group, version, kind, plural, columns, spec, fields, required, validations, status } = type;
  const metadata: Schema = { type: 'object' };
  const properties = {
    ...{ apiVersion: text, kind: text, metadata },
    ...(spec && { spec }),
    ...fields,
    ...(status && { status }),
  };
  const rules = { ...(required && { required }), ...(validations && { 'x-kubernetes-validations': validations }) };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular: type.singular ?? kind.toLowerCase() },
      scope: type.scope ?? 'Cluster',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...(columns && { additionalPrinterColumns: columns }),
          schema: { openAPIV3Schema: { type: 'object', properties, ...rules } },
          ...(status && { subresources: { status: {} } }),
        },
      ],
    },
  };
}
