// Arrays in PostgreSQL's binary format (array_send in src/backend/utils/adt/arrayfuncs.c), with one dimension. The
// driver would send arrays as text, with bytes in hexadecimal, which the server would have to parse.
const headBytes = 20;
const lengthBytes = 4;
/** OIDs of the element types (pg_type.dat of PostgreSQL). */
const oids = { bytea: 17, int8: 20, int2: 21, int4: 23, text: 25 } as const;

export function int2s(values: readonly number[]): Buffer {
  return ofNumbers(oids.int2, 2, values, (array, value, at) => array.writeInt16BE(value, at));
}

export function int4s(values: readonly number[]): Buffer {
  return ofNumbers(oids.int4, 4, values, (array, value, at) => array.writeInt32BE(value, at));
}

export function int8s(values: readonly (number | bigint)[]): Buffer {
  return ofNumbers(oids.int8, 8, values, (array, value, at) => array.writeBigInt64BE(BigInt(value), at));
}

export function byteas(values: readonly (Uint8Array | null)[]): Buffer {
  return ofBytes(oids.bytea, values);
}

export function texts(values: readonly (string | null)[]): Buffer {
  return ofBytes(
    oids.text,
    values.map((value) => (value === null ? null : Buffer.from(value))),
  );
}

function ofNumbers<T>(
  oid: number,
  bytes: number,
  values: readonly T[],
  write: (array: Buffer, value: T, at: number) => void,
): Buffer {
  const array = head(oid, values.length, false, values.length * (lengthBytes + bytes));
  let at = headBytes;
  for (const value of values) {
    at = array.writeInt32BE(bytes, at);
    write(array, value, at);
    at += bytes;
  }
  return array;
}

function ofBytes(oid: number, values: readonly (Uint8Array | null)[]): Buffer {
  const bytes = values.reduce((sum, value) => sum + lengthBytes + (value?.byteLength ?? 0), 0);
  const array = head(oid, values.length, values.includes(null), bytes);
  let at = headBytes;
  for (const value of values) {
    at = array.writeInt32BE(value?.byteLength ?? -1, at);
    if (value === null) continue;
    array.set(value, at);
    at += value.byteLength;
  }
  return array;
}

function head(oid: number, length: number, hasNull: boolean, bytes: number): Buffer {
  const dimensions = length === 0 ? 0 : 1;
  const array = Buffer.allocUnsafe(dimensions === 0 ? 12 : headBytes + bytes);
  array.writeInt32BE(dimensions, 0);
  array.writeInt32BE(hasNull ? 1 : 0, 4);
  array.writeInt32BE(oid, 8);
  if (dimensions === 0) return array;
  array.writeInt32BE(length, 12);
  // PostgreSQL counts array elements from 1.
  array.writeInt32BE(1, 16);
  return array;
}
