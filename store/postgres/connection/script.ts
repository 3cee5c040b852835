// Sends several statements as one text in one message, and waits once for the answers to all of them. So a page takes
// one round trip to the server. This also works through a PgBouncer in transaction mode.
import type { ClientBase, Connection, Submittable } from 'pg';

/** The fields of one row of COPY … TO STDOUT (FORMAT binary); undefined for NULL. */
export type CopyRow = readonly (Buffer | undefined)[];

/** The server's answer to one statement. */
export interface Answered {
  /** The rows of a SELECT, in text format. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** The OIDs of the types of the columns. */
  readonly columnTypes: readonly number[];
  /**
   * The rows of COPY … TO STDOUT (FORMAT binary). Used for bytes, because the driver reads other answers as text.
   * https://www.postgresql.org/docs/15/sql-copy.html
   */
  readonly copied: readonly CopyRow[];
}

/**
 * Runs the statements of a text in order. When one fails, the server does not run the ones after it.
 * @param text Easy to get wrong: it has no parameters, so anything put into it is executed as SQL. It may contain only
 *   numbers, names and literals that this program has made (read/sql.ts)
 * @throws DatabaseError (rejects) what the server refuses, or Error when the connection is lost
 */
export function runScript(client: ClientBase, text: string): Promise<readonly Answered[]> {
  return new Promise((resolve, reject) => void client.query(new Script(text, resolve, reject)));
}

/**
 * Reads the rows of a query through COPY.
 * @param query SQL without parameters; see {@link runScript}
 */
export async function copyRows(client: ClientBase, query: string): Promise<readonly CopyRow[]> {
  return (await runScript(client, copyOf(query)))[0]!.copied;
}

export function copyOf(query: string): string {
  return `COPY (${query}) TO STDOUT (FORMAT binary)`;
}

/** Collects the answers to a script. The driver calls these methods for the messages of the server. */
class Script implements Submittable {
  readonly #text: string;
  readonly #resolve: (answered: readonly Answered[]) => void;
  readonly #reject: (error: unknown) => void;
  readonly #answered: Answered[] = [];
  readonly #bytes = new Bytes();
  #rows: (readonly (string | null)[])[] = [];
  #columnTypes: readonly number[] = [];
  #copied: CopyRow[] = [];
  #isCopying = false;

  constructor(text: string, resolve: (answered: readonly Answered[]) => void, reject: (error: unknown) => void) {
    this.#text = text;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit(connection: Connection): void {
    connection.query(this.#text);
  }

  handleRowDescription({ fields }: { readonly fields: readonly { readonly dataTypeID: number }[] }): void {
    this.#columnTypes = fields.map(({ dataTypeID }) => dataTypeID);
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#rows.push(fields);
  }

  /** Called for each row of COPY. The first message has the header of the format before its row. */
  handleCopyData({ chunk }: { readonly chunk: Uint8Array }): void {
    // Copied, because the driver reuses the memory of this message for later messages.
    const message = this.#bytes.keep(chunk);
    const row = readRow(message, this.#isCopying ? 0 : headerBytes(message));
    this.#isCopying = true;
    if (row !== undefined) this.#copied.push(row);
  }

  handleCommandComplete(): void {
    this.#answered.push({ rows: this.#rows, columnTypes: this.#columnTypes, copied: this.#copied });
    [this.#rows, this.#columnTypes, this.#copied] = [[], [], []];
    this.#isCopying = false;
  }

  handleError(error: unknown): void {
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#answered);
  }
}

const slabBytes = 64 << 10;

/**
 * Copies messages into pieces of memory that hold many messages. With one piece for each row, V8 would collect garbage
 * far more often.
 */
class Bytes {
  #slab: Buffer = Buffer.alloc(0);
  #used = 0;

  keep(chunk: Uint8Array): Buffer {
    const end = this.#used + chunk.byteLength;
    if (end > this.#slab.byteLength) {
      // A small first message is copied into Node's pool of small buffers, so that a small answer needs no piece of its
      // own.
      if (this.#slab.byteLength === 0 && chunk.byteLength <= Buffer.poolSize >>> 1) return Buffer.from(chunk);
      this.#slab = Buffer.allocUnsafeSlow(Math.max(slabBytes, chunk.byteLength));
      this.#used = 0;
      return this.keep(chunk);
    }
    this.#slab.set(chunk, this.#used);
    const kept = this.#slab.subarray(this.#used, end);
    this.#used = end;
    return kept;
  }
}

const signatureBytes = 11;
const flagsBytes = 4;

function headerBytes(message: Buffer): number {
  const extensionAt = signatureBytes + flagsBytes;
  return extensionAt + 4 + message.readInt32BE(extensionAt);
}

/** Reads a row; undefined at the end of the data, which the server marks with a field count of -1. */
function readRow(message: Buffer, from: number): CopyRow | undefined {
  const columns = message.readInt16BE(from);
  if (columns === -1) return undefined;
  const row: (Buffer | undefined)[] = [];
  for (let at = from + 2; row.length < columns;) {
    const length = message.readInt32BE(at);
    at += 4;
    row.push(length === -1 ? undefined : message.subarray(at, at + length));
    at += Math.max(0, length);
  }
  return row;
}
