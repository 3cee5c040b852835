// Sends several statements at once and waits once for the answers to all of them. Sent one by one, each statement would
// wait for the network and for this process. The last statements would do so while they hold the lock for which all
// other writers wait.
import type { ClientBase, Connection, Submittable } from 'pg';

/** A statement with its values. Buffers are sent in binary format (arrays.ts), strings in PostgreSQL's text format. */
export interface Statement {
  readonly text: string;
  readonly values: readonly (Buffer | string | null)[];
}

/** The columns of a row in text format; a bytea is `\x` and hexadecimal digits. */
export type TextRow = readonly (string | null)[];

/**
 * Runs statements in order. When one fails, the server does not run the ones after it.
 * @returns the rows of each statement
 * @throws DatabaseError (rejects) for the statement that failed, or Error when the connection is lost
 */
export function run(client: ClientBase, statements: readonly Statement[]): Promise<readonly (readonly TextRow[])[]> {
  if (statements.length === 0) return Promise.resolve([]);
  return new Promise((resolve, reject) => void client.query(new Pipeline(statements, resolve, reject)));
}

/** The bytes of a bytea value of a {@link TextRow}. */
export function bytesOf(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}

/** Collects the answers to the statements. The driver calls these methods for the messages of the server. */
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
    // The Sync message ends the pipeline: after an error the server skips all messages up to it.
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
