// Reads rows with `COPY … TO STDOUT (FORMAT binary)`. Only that way does the driver give bytes without converting them
// from hexadecimal text. https://www.postgresql.org/docs/15/sql-copy.html
import type { ClientBase } from 'pg';
import { to } from 'pg-copy-streams';

/** The fields of a row; undefined for NULL. */
export type CopyRow = readonly (Buffer | undefined)[];

const signatureBytes = 11;
const flagsBytes = 4;

/**
 * Runs a query through COPY. Easy to get wrong: COPY takes no parameters, so anything put into the text of the query is
 * executed as SQL.
 * @param query may contain only numbers and names that this program has made
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
    // A field count of -1 marks the end of the data.
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
