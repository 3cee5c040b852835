// Statements sent in one go, with one answer for all: a write would otherwise wait for the network, and for whatever
// else this process does, once for each of them, and the last ones while it holds the row that all writers want.
import type { ClientBase, Connection, Submittable } from 'pg';

/** A statement with its values: bytes are sent as they are (arrays.ts), texts as PostgreSQL reads them. */
export interface Statement {
  readonly text: string;
  readonly values: readonly (Buffer | string | null)[];
}

/** Columns of a row as texts; bytea as `\x…`. */
export type TextRow = readonly (string | null)[];

/**
 * Runs statements in their order. After one that fails none is run.
 * @returns the rows of each
 * @throws what the server refused (rejects), or that the connection was lost
 */
export function run(client: ClientBase, statements: readonly Statement[]): Promise<readonly (readonly TextRow[])[]> {
  if (statements.length === 0) return Promise.resolve([]);
  return new Promise((resolve, reject) => void client.query(new Pipeline(statements, resolve, reject)));
}

/** Bytes of a bytea in a {@link TextRow}. */
export function bytesOf(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}

/** The methods are those the driver calls for the messages of the server. */
class Pipeline implements Submittable {
  readonly #statements: readonly Statement[];
  readonly #resolve: (rows: TextRow[][]) => void;
  readonly #reject: (error: unknown) => void;
  readonly #rows: TextRow[][];
  #at = 0;

  constructor(
    statements: readonly Statement[],
    resolve: (rows: TextRow[][]) => void,
    reject: (error: unknown) => void,
  ) {
    this.#statements = statements;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#rows = statements.map(() => []);
  }

  submit(connection: Connection): void {
    connection.stream.cork();
    for (const { text, values } of this.#statements) {
      connection.parse({ text, name: '', types: [] }, true);
      connection.bind({ values: [...values] }, true);
      connection.execute(null, true);
    }
    // The server skips what is left of a failed pipeline up to here.
    connection.sync();
    connection.stream.uncork();
  }

  handleDataRow({ fields }: { readonly fields: TextRow }): void {
    this.#rows[this.#at]!.push(fields);
  }

  handleCommandComplete(): void {
    this.#at++;
  }

  handleError(error: unknown): void {
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#rows);
  }
}
