// Writes rows with COPY … FROM STDIN (FORMAT binary). Bytes are sent as they are; a text format would need escapes.
import { from } from 'pg-copy-streams';
import type { ClientBase } from 'pg';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Signature, flags and length of the extension (PostgreSQL's documentation of COPY, "Binary Format"). */
const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)]);
const trailer = Buffer.from([0xff, 0xff]);
const nothing = Buffer.from([0xff, 0xff, 0xff, 0xff]);

/** One column of a row: its bytes, or null for NULL. */
export type Field = Uint8Array | null;

export function int2(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int4(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function int8(value: number | bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

/**
 * Copies rows into a table.
 * @param into the table and its columns, such as `obj (id, name)`
 */
export async function copyIn(client: ClientBase, into: string, rows: Iterable<readonly Field[]>): Promise<void> {
  const stream = client.query(from(`COPY ${into} FROM STDIN (FORMAT binary)`));
  await pipeline(Readable.from(chunks(rows)), stream);
}

const chunkBytes = 256 << 10;

function* chunks(rows: Iterable<readonly Field[]>): Iterable<Buffer> {
  let parts: Uint8Array[] = [header];
  let bytes = header.byteLength;
  for (const row of rows) {
    parts.push(int2(row.length));
    for (const field of row) {
      if (field === null) parts.push(nothing);
      else parts.push(int4(field.byteLength), field);
      bytes += 4 + (field?.byteLength ?? 0);
    }
    if (bytes < chunkBytes) continue;
    yield Buffer.concat(parts);
    parts = [];
    bytes = 0;
  }
  yield Buffer.concat([...parts, trailer]);
}
