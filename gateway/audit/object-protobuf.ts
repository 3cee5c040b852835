// Reads name, namespace, uid and resourceVersion from an object in the protobuf form of Kubernetes (message Unknown in
// k8s.io/apimachinery/pkg/runtime/generated.proto, ObjectMeta in pkg/apis/meta/v1/generated.proto). Security: a client
// sent the bytes and they may end anywhere, so every length is checked before it is used.
import type { BodyMetadata } from '../../request/audit-trail.ts';

/** The four bytes before every protobuf body of Kubernetes (runtime/serializer/protobuf). */
const magic = Buffer.from('k8s\0', 'latin1');
const rawField = 2;
/** In every kind of Kubernetes object, field 1 is the metadata. */
const metadataField = 1;
const textFields: ReadonlyMap<number, keyof BodyMetadata> = new Map([
  [1, 'name'],
  [3, 'namespace'],
  [5, 'uid'],
  [6, 'resourceVersion'],
]);

/**
 * The metadata in the first bytes of a body. Reading stops at the first malformed or missing byte, and the fields that
 * were read before it are returned.
 * @param prefix the first bytes of the body
 */
export function protobufMetadata(prefix: Buffer): BodyMetadata {
  const found: Partial<Record<keyof BodyMetadata, string>> = {};
  if (!prefix.subarray(0, magic.length).equals(magic)) return found;
  const raw = bytesOf(prefix.subarray(magic.length), rawField);
  const metadata = raw === undefined ? undefined : bytesOf(raw, metadataField);
  if (metadata === undefined) return found;
  eachField(metadata, (field, value, isWhole) => {
    const name = textFields.get(field);
    if (name !== undefined && isWhole && value.length > 0) found[name] = value.toString('utf8');
    return true;
  });
  return found;
}

/**
 * The first value of the length-delimited field with number `wanted`; undefined when the message has none. The value
 * may be incomplete when the message was cut.
 */
function bytesOf(message: Buffer, wanted: number): Buffer | undefined {
  let found: Buffer | undefined;
  eachField(message, (field, value) => {
    if (field === wanted) found = value;
    return found === undefined;
  });
  return found;
}

/**
 * Calls `visit` for each length-delimited field (wire type 2) and skips other fields. Stops when `visit` returns false
 * or the message ends. `isWhole` is false when the value was cut.
 */
function eachField(message: Buffer, visit: (field: number, value: Buffer, isWhole: boolean) => boolean): void {
  let at = 0;
  while (at < message.length) {
    const key = varint(message, at);
    if (key === undefined) return;
    at = key.end;
    const wireType = key.value & 7;
    if (wireType === 0) {
      const skipped = varint(message, at);
      if (skipped === undefined) return;
      at = skipped.end;
    } else if (wireType === 1) at += 8;
    else if (wireType === 5) at += 4;
    else if (wireType === 2) {
      const length = varint(message, at);
      if (length === undefined) return;
      const end = length.end + length.value;
      if (!visit(key.value >>> 3, message.subarray(length.end, end), end <= message.length)) return;
      at = end;
    } else return;
  }
}

/** Reads a protobuf varint of at most five bytes; undefined when it is cut off or longer. */
function varint(bytes: Buffer, from: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0;
  for (let i = 0; i < 5; i++) {
    const byte = bytes[from + i];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return { value, end: from + i + 1 };
  }
  return undefined;
}
