// Encodes the schemas of a Swagger 2.0 document in the protobuf form of google/gnostic-models
// (openapiv2/OpenAPIv2.proto), the only form kubectl asks for. Easy to get wrong: field numbers must match that .proto
// file. Clients read a wrong number as another field, or skip it without an error.

/** A Swagger 2.0 schema, with only the fields that openapi-schemas.ts writes. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [extension: `x-${string}`]: unknown;
}

interface Swagger {
  readonly swagger: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly definitions: Readonly<Record<string, Schema>>;
}

/**
 * Media types with which clients ask for the protobuf form. kubectl sends the type with `@`, which is not a valid media
 * type, so answers carry the type with a dot instead.
 */
export const openapiProtobufTypes: readonly string[] = [
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
];

/**
 * Encodes the fields swagger, info and definitions of a Swagger document. Paths are left out, because clients look
 * schemas up by group, version and kind.
 */
export function encodeSwagger(document: object): Buffer {
  const { swagger, info, definitions } = document as Swagger;
  return message([
    field(1, swagger),
    field(2, message([field(1, info.title), field(2, info.version)])),
    field(8, Buffer.alloc(0)),
    field(9, message(Object.entries(definitions).map(([name, schema]) => field(1, named(name, encodeSchema(schema)))))),
  ]);
}

function encodeSchema(schema: Schema): Buffer {
  const { $ref, format, description, required = [], additionalProperties, type, items, properties } = schema;
  const extensions = Object.entries(schema).filter(([name]) => name.startsWith('x-'));
  return message([
    field(1, $ref),
    field(2, format),
    field(4, description),
    ...required.map((name) => field(19, name)),
    field(21, additionalProperties && message([field(1, encodeSchema(additionalProperties))])),
    field(22, type && message([field(1, type)])),
    field(23, items && message([field(1, encodeSchema(items))])),
    field(
      25,
      properties &&
        message(Object.entries(properties).map(([name, each]) => field(1, named(name, encodeSchema(each))))),
    ),
    // The protobuf value of an OpenAPI extension (`x-…`) is a message `Any`; its field 2, `yaml`, may hold JSON.
    ...extensions.map(([name, value]) => field(31, named(name, message([field(2, JSON.stringify(value))])))),
  ]);
}

/** Encodes a pair of name and value, as the messages NamedSchema and NamedAny of OpenAPIv2.proto hold it. */
function named(name: string, value: Buffer): Buffer {
  return message([field(1, name), field(2, value)]);
}

function message(fields: readonly Buffer[]): Buffer {
  return Buffer.concat(fields);
}

/** One length-delimited protobuf field (wire type 2); empty when the value is undefined or ''. */
function field(number: number, value: string | Buffer | undefined): Buffer {
  if (value === undefined || value === '') return Buffer.alloc(0);
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
