// Decodes request bodies of type `application/vnd.kubernetes.protobuf` into JSON objects, because kubectl sends
// built-in types in protobuf. Answers are never protobuf. Go's protobuf contains zeros of non-pointer fields that its
// JSON leaves out; the flags of each {@link ProtobufField} say which fields.
import type { KubernetesSpec, ProtobufField } from '../schema/spec.ts';
import { badRequest } from '../model/status-error.ts';
import type { JsonObject } from '../model/types.ts';

const magic = Buffer.from('k8s\0', 'latin1');

type Messages = KubernetesSpec['messages'];
type RawValue = number | bigint | Buffer;

/** Reads the fields of one message, in order: the field's number and its raw value. */
function* rawFields(bytes: Buffer): Generator<readonly [number: number, value: RawValue]> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw badRequest('proto: unexpected end of message');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw badRequest('proto: integer overflow');
  };
  const take = (length: number): Buffer => {
    if (length < 0 || at + length > bytes.length) throw badRequest('proto: unexpected end of message');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    if (wire === 0) yield [tag >> 3, varint()];
    else if (wire === 2) yield [tag >> 3, take(Number(varint()))];
    else if (wire === 1) yield [tag >> 3, take(8).readDoubleLE()];
    else if (wire === 5) yield [tag >> 3, take(4).readFloatLE()];
    else throw badRequest(`proto: illegal wireType ${wire}`);
  }
}

/**
 * Decodes the object in a protobuf body. Undefined when no message type is known for its kind.
 * @throws StatusError 400 when the bytes are not a valid message
 */
export function decodeProtobuf(messages: Messages, body: Buffer): JsonObject | undefined {
  if (!body.subarray(0, 4).equals(magic)) throw badRequest('provided data does not appear to be a protobuf message');
  let apiVersion = '';
  let kind = '';
  let raw: Buffer = Buffer.alloc(0);
  for (const [number, value] of rawFields(body.subarray(4))) {
    if (number === 1) {
      for (const [part, text] of rawFields(value as Buffer)) {
        if (part === 1) apiVersion = String(text);
        if (part === 2) kind = String(text);
      }
    } else if (number === 2) raw = value as Buffer;
  }
  const name = messageName(messages, apiVersion, kind);
  return name === undefined ? undefined : { apiVersion, kind, ...decodeMessage(messages, name, raw) };
}

/**
 * The name of the message for a kind; undefined when there is none. Kinds such as DeleteOptions can be sent with any
 * apiVersion, but their message is in meta/v1.
 */
function messageName(messages: Messages, apiVersion: string, kind: string): string | undefined {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? 'core' : apiVersion.slice(0, slash).split('.', 1)[0];
  const names = [
    `k8s.io.api.${group}.${apiVersion.slice(slash + 1)}.${kind}`,
    `k8s.io.apimachinery.pkg.apis.meta.v1.${kind}`,
  ];
  return names.find((name) => messages[name] !== undefined);
}

function decodeMessage(messages: Messages, name: string, bytes: Buffer): JsonObject {
  const fields = new Map((messages[name] ?? []).map((field) => [field[0], field]));
  const out: JsonObject = {};
  for (const [number, raw] of rawFields(bytes)) {
    const field = fields.get(number);
    if (field === undefined) continue;
    const [, jsonName, type, flags] = field;
    if (flags.includes('m')) {
      const [key, value] = mapEntry(messages, field, raw as Buffer);
      out[jsonName] ??= {};
      Object.defineProperty(out[jsonName], key, { value, enumerable: true, configurable: true, writable: true });
      continue;
    }
    const value = decodeValue(messages, type, raw);
    if (flags.includes('r')) (out[jsonName] ??= []).push(value);
    else if (flags.includes('i')) Object.assign(out, value);
    else if (value !== undefined && !(flags.includes('z') && isZero(value))) out[jsonName] = value;
  }
  return out;
}

function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false;
}

function mapEntry(messages: Messages, [, , type]: ProtobufField, bytes: Buffer): readonly [string, unknown] {
  let key = '';
  let value: unknown = type === 'string' || type === 'bytes' ? '' : undefined;
  for (const [number, raw] of rawFields(bytes)) {
    if (number === 1) key = (raw as Buffer).toString('utf8');
    else if (number === 2) value = decodeValue(messages, type, raw);
  }
  return [key, value ?? decodeValue(messages, type, Buffer.alloc(0))];
}

function decodeValue(messages: Messages, type: string, raw: RawValue): unknown {
  const special = specials[type];
  if (special !== undefined) return special(raw as Buffer);
  switch (type) {
    case 'string':
      return (raw as Buffer).toString('utf8');
    case 'bytes':
      return (raw as Buffer).toString('base64');
    case 'bool':
      return Number(raw) !== 0;
    case 'double':
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
      return Number(raw);
    default: {
      const value = decodeMessage(messages, type, raw as Buffer);
      return wrappers.has(type) ? (value['items'] ?? []) : value;
    }
  }
}

/** Messages that are lists in JSON: the list in their field `items`. */
const wrappers = new Set(['k8s.io.api.authentication.v1.ExtraValue', 'k8s.io.api.authorization.v1.ExtraValue']);

function valuesOf(bytes: Buffer): Map<number, RawValue> {
  return new Map(rawFields(bytes));
}

function time(bytes: Buffer, isMicro: boolean): string | undefined {
  const values = valuesOf(bytes);
  const seconds = Number(values.get(1) ?? 0);
  if (values.size === 0 || seconds < -62_000_000_000) return undefined;
  const micros = Math.floor(Number(values.get(2) ?? 0) / 1000);
  const date = new Date(seconds * 1000).toISOString().slice(0, 19);
  return isMicro ? `${date}.${String(micros).padStart(6, '0')}Z` : `${date}Z`;
}

function rawJson(bytes: Buffer): unknown {
  const raw = valuesOf(bytes).get(1) as Buffer | undefined;
  return raw === undefined || raw.length === 0 ? undefined : JSON.parse(raw.toString('utf8'));
}

function duration(bytes: Buffer): string {
  let seconds = Number(valuesOf(bytes).get(1) ?? 0) / 1e9;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds - hours * 3600) / 60);
  seconds -= hours * 3600 + minutes * 60;
  return `${hours > 0 ? `${hours}h` : ''}${hours > 0 || minutes > 0 ? `${minutes}m` : ''}${seconds}s`;
}

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1';

/** How to decode messages that are not JSON objects with their fields: for example, a Time is a text. */
const specials: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
  [`${meta}.Time`]: (bytes) => time(bytes, false),
  [`${meta}.MicroTime`]: (bytes) => time(bytes, true),
  [`${meta}.Duration`]: duration,
  [`${meta}.FieldsV1`]: rawJson,
  'k8s.io.apimachinery.pkg.runtime.RawExtension': rawJson,
  'k8s.io.apimachinery.pkg.api.resource.Quantity': (bytes) => String(valuesOf(bytes).get(1) ?? '0'),
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString'(bytes) {
    const values = valuesOf(bytes);
    return Number(values.get(1) ?? 0) === 0 ? Number(values.get(2) ?? 0) : String(values.get(3) ?? '');
  },
};
