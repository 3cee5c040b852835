// Reads rows with `COPY … TO STDOUT (FORMAT binary)`. Only that way does the driver give bytes without converting them
// from hexadecimal text. https://www.postgresql.org/docs/15/sql-copy.html
import type { ClientBase, Connection, Submittable } from 'pg';

/** The fields of a row; undefined for NULL. */
export type CopyRow = readonly (Buffer | undefined)[];

const signatureBytes = 11;
const flagsBytes = 4;

/**
 * Runs a query through COPY. Easy to get wrong: COPY takes no parameters, so anything put into the text of the query is
 * executed as SQL.
 * @param query may contain only numbers and names that this program has made
 * @throws DatabaseError (rejects) what the server refuses, or Error when the connection is lost
 */
export async function copyRows(client: ClientBase, query: string): Promise<readonly CopyRow[]> {
  const copied = await new Promise<Buffer>((resolve, reject) => {
    client.query(new CopyOut(`COPY (${query}) TO STDOUT (FORMAT binary)`, resolve, reject));
  });
  return readRows(copied);
}

/** The driver calls these methods for the messages of the server. */
class CopyOut implements Submittable {
  readonly #text: string;
  readonly #resolve: (copied: Buffer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #chunks: Buffer[] = [];

  constructor(text: string, resolve: (copied: Buffer) => void, reject: (error: unknown) => void) {
    this.#text = text;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(connection: Connection): void {
    connection.query(this.#text);
  }

  handleCopyData({ chunk }: { readonly chunk: Uint8Array }): void {
    // The driver writes later messages over this one.
    this.#chunks.push(Buffer.from(chunk));
  }

  handleCommandComplete(): void {}

  handleError(error: unknown): void {
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#resolve(Buffer.concat(this.#chunks));
  }
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
