// Parts of which the schemas of Clusterpedia's types are built, and the shape of a CustomResourceDefinition.

/** JSONSchemaProps of apiextensions.k8s.io/v1, as far as it is used here. */
export interface Schema {
  readonly type: 'object' | 'array' | 'string' | 'boolean' | 'integer';
  readonly [field: string]: unknown;
}

export const text: Schema = { type: 'string' };
export const flag: Schema = { type: 'boolean' };
/** Base64 in JSON. */
export const bytes: Schema = { type: 'string', format: 'byte' };
export const time: Schema = { type: 'string', format: 'date-time' };

/** An object; `required` names what must be given. */
export function record(properties: Readonly<Record<string, Schema>>, ...required: readonly string[]): Schema {
  return { type: 'object', properties, ...(required.length === 0 ? {} : { required: required.toSorted() }) };
}

export function list(items: Schema, more: object = {}): Schema {
  return { type: 'array', items, ...more };
}

/** A list in which no two items have the same `key`. */
export function keyedList(key: string, items: Schema): Schema {
  return list(items, { 'x-kubernetes-list-map-keys': [key], 'x-kubernetes-list-type': 'map' });
}

const dnsLabel = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';

/** A list of metav1.Condition. */
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

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: 'string';
  readonly jsonPath: string;
  /** Above 0: only with `-o wide`. */
  readonly priority?: number;
}

/** Priority of the columns that only `-o wide` shows. */
const wide = 10;

/** @param field what is shown of the condition, with the name of its type as the title */
export function conditionColumn(type: string, field: 'status' | 'reason', shown: 'always' | 'wide' = 'always'): Column {
  return column(type, `.status.conditions[?(@.type == '${type}')].${field}`, shown);
}

export function column(name: string, jsonPath: string, shown: 'always' | 'wide' = 'always'): Column {
  return { name, type: 'string', jsonPath, ...(shown === 'wide' ? { priority: wide } : {}) };
}

/** What tells one cluster-scoped type from another. */
export interface TypeDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  /** The kind in lower case unless said otherwise. */
  readonly singular?: string;
  readonly columns?: readonly Column[];
  readonly spec?: Schema;
  /** Fields beside `spec` and `status`, and which of them must be given. */
  readonly fields?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** Rules in CEL about the whole object. */
  readonly validations?: readonly { readonly rule: string; readonly message: string }[];
  /** With a status subresource; absent: no status. */
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
      scope: 'Cluster',
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
