// Rows of `COPY … TO STDOUT (FORMAT binary)`: the one way on which the driver hands out bytes as they are, without
// their hexadecimal text. https://www.postgresql.org/docs/15/sql-copy.html
import type { ClientBase } from 'pg';
import { to } from 'pg-copy-streams';

/** Fields of a row; undefined for NULL. */
export type CopyRow = readonly (Buffer | undefined)[];

const signatureBytes = 11;
const flagsBytes = 4;

/**
 * Runs a COPY, which takes no values: the text may hold only numbers and names of ours.
 * @param query what is copied
 */
export async function copyRows(client: ClientBase, query: string): Promise<readonly CopyRow[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of client.query(to(`COPY (${query}) TO STDOUT (FORMAT binary)`))) {
    chunks.push(chunk as Buffer);
  }
  return readRows(Buffer.concat(chunks));
}

function readRows(copied: Buffer): readonly CopyRow[] {
  const rows: CopyRow[] = [];
  let at = signatureBytes + flagsBytes;
  at += 4 + copied.readInt32BE(at);
  for (;;) {
    const columns = copied.readInt16BE(at);
    at += 2;
    // The trailer.
    if (columns === -1) return rows;
    const row: (Buffer | undefined)[] = [];
    for (let column = 0; column < columns; column++) {
      const length = copied.readInt32BE(at);
      at += 4;
      row.push(length === -1 ? undefined : copied.subarray(at, at + length));
      at += Math.max(0, length);
    }
    rows.push(row);
  }
}
