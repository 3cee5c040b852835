// Connections to the database: a pool, and transactions that set their options with SET LOCAL. Behind a PgBouncer in
// transaction mode each transaction may run in another server session, so options of a session would be lost.
import {
  escapeIdentifier,
  escapeLiteral,
  Pool,
  types,
  type Client,
  type ClientBase,
  type ClientConfig,
  type PoolClient,
  type QueryArrayConfig,
  type QueryArrayResult,
} from 'pg';

import { databaseError, unavailable } from './errors.ts';
import { serverAddress, type ServerAddress, type ServerOptions } from './address.ts';
import { clientFor, type ClientClass } from './client.ts';
import { runScript, type Answered } from './script.ts';

export interface DatabaseOptions extends ServerOptions {
  /** Schema of the tables; `portcullis` by default. */
  readonly schema?: string;
  /** The most connections; 10 by default. */
  readonly connections?: number;
  /** Time limit of a statement in milliseconds; 30,000 by default. */
  readonly statementTimeoutMs?: number;
}

const leastVersion = 150_000;
const int8 = 20;
/** Milliseconds that this process waits for an answer after the server's own statement timeout is over. */
const graceMs = 5000;
/** A transaction may take this many times the time limit of a statement; then its connection is closed. */
const statementsOfTransaction = 10;
/**
 * The server ends a transaction that gets no statement for this part of the time limit of a statement. A process that
 * was stopped, or whose network is gone, would hold its locks until the server notices that the connection is dead, and
 * keep other processes from taking over what it followed.
 */
const pausesOfStatement = 3;

/** Reads int8 as a JavaScript number: ids, times and counts stay below 2^53. Larger values are selected as text. */
const parsers: { readonly getTypeParser: typeof types.getTypeParser } = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === int8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

/**
 * Settings for transactions that look up a few rows by complete keys. They force the planner to use the database index,
 * because its statistics can be wrong for tables that were empty a minute ago.
 */
export const byIndexOnly = ['hashjoin', 'mergejoin', 'seqscan', 'bitmapscan', 'material', 'memoize']
  .map((way) => `SET LOCAL enable_${way} = off;`)
  .join(' ');

/** A connection for reading. For the SQL texts the rules of {@link runScript} apply. */
export interface ReadSession {
  /**
   * Begins a transaction that sees the database at one moment (REPEATABLE READ), and runs the statements in it. A
   * transaction that is still open is rolled back. Parallel workers are off, because those of one question would slow
   * down other questions.
   * @param first a query with one row, which names its tables with their schema
   * @returns the answers to `first` and to each of the other statements
   */
  readonly begin: (first: string, ...texts: readonly string[]) => Promise<readonly Answered[]>;
  readonly run: (text: string) => Promise<readonly Answered[]>;
  /**
   * Runs one query without a transaction around it. It sees the database at one moment, and must name its tables with
   * their schema.
   */
  readonly runAlone: (text: string) => Promise<Answered>;
  /**
   * Returns a function that parses a value in text format.
   * @param type the OID of the value's type
   */
  readonly readerOf: (type: number) => (value: string) => unknown;
}

export class Database {
  readonly pool: Pool;
  /** Name of the schema, quoted for SQL. */
  readonly schema: string;
  readonly statementTimeoutMs: number;
  /** Host, port, database and user for messages, without the password. */
  readonly name: string;
  readonly #config: ClientConfig;
  readonly #tls: ServerAddress['tls'];
  readonly #Client: ClientClass;

  constructor(pool: Pool, { name, config, tls }: ServerAddress, options: DatabaseOptions) {
    this.pool = pool;
    this.name = name;
    this.#config = config;
    this.#tls = tls;
    this.#Client = clientFor(tls);
    this.schema = escapeIdentifier(options.schema ?? 'portcullis');
    this.statementTimeoutMs = options.statementTimeoutMs ?? 30_000;
  }

  /** Makes a new connection outside of the pool. The caller must connect it. */
  newClient(): Client {
    return new this.#Client(this.#config);
  }

  /** Runs one statement. Table names must include the schema. @throws GatewayError INDEX_UNAVAILABLE (rejects) */
  async query<Row extends readonly unknown[]>(text: string, values: unknown[] = []): Promise<readonly Row[]> {
    try {
      const query_timeout = this.statementTimeoutMs + graceMs;
      const result = await this.pool.query({ text, values, rowMode: 'array', query_timeout } as QueryArrayConfig);
      return (result as unknown as QueryArrayResult<Row & unknown[]>).rows;
    } catch (error) {
      throw databaseError(error);
    }
  }

  /**
   * Runs `work` in a transaction (READ COMMITTED) with the schema as search path. Commits the transaction, unless
   * `work` has done so. When `work` throws, rolls the transaction back.
   * @param settings more `SET LOCAL …` statements, each with its semicolon
   * @throws GatewayError INDEX_UNAVAILABLE (rejects). When the connection was lost, the transaction may have been
   *   committed or not
   */
  async transaction<T>(work: (client: ClientBase) => Promise<T>, settings = ''): Promise<T> {
    return this.#connected(async (client) => {
      await client.query(this.#begin(settings));
      const result = await work(client);
      const isCommitted = client.getTransactionStatus() === 'I';
      const { command } = isCommitted ? { command: 'COMMIT' } : await client.query('COMMIT');
      if (command !== 'COMMIT') throw unavailable('has rolled a write back');
      client.release();
      return result;
    });
  }

  /**
   * Runs `work`, which only reads, with a connection. A transaction that `work` leaves open is committed. The result is
   * returned without waiting for that.
   * @throws GatewayError INDEX_UNAVAILABLE (rejects)
   */
  async reading<T>(work: (session: ReadSession) => Promise<T>): Promise<T> {
    return this.#connected(async (client) => {
      const result = await work(this.#sessionOf(client));
      if (client.getTransactionStatus() === 'I') client.release();
      else {
        client.query('COMMIT').then(
          () => client.release(),
          () => client.release(true),
        );
      }
      return result;
    });
  }

  #sessionOf(client: PoolClient): ReadSession {
    // One SELECT makes all settings. The server would answer each SET with a message of its own.
    const settings = `set_config('search_path', ${escapeLiteral(this.schema)}, true), set_config('jit', 'off', true),
      set_config('statement_timeout', '${this.statementTimeoutMs}', true),
      set_config('max_parallel_workers_per_gather', '0', true)`;
    return {
      begin: async (first, ...texts) => {
        const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
        const all = [begin, `SELECT first.*, ${settings} FROM (${first}) first`, ...texts];
        if (client.getTransactionStatus() !== 'I') all.unshift('ROLLBACK');
        const answered = await runScript(client, all.join('; '));
        return answered.slice(-1 - texts.length);
      },
      run: (text) => runScript(client, text),
      runAlone: async (text) => {
        const limit = `SELECT set_config('statement_timeout', '${this.statementTimeoutMs}', true)`;
        return (await runScript(client, `${limit}; ${text}`))[1]!;
      },
      readerOf: (type) => parsers.getTypeParser(type, 'text'),
    };
  }

  #begin(settings: string): string {
    return `BEGIN; SET LOCAL search_path = ${this.schema}; SET LOCAL jit = off;
      SET LOCAL statement_timeout = ${this.statementTimeoutMs};
      SET LOCAL idle_in_transaction_session_timeout = ${Math.ceil(this.statementTimeoutMs / pausesOfStatement)}; ${settings}`;
  }

  /** Runs `work` with a connection, which `work` must release. When `work` throws, its transaction is rolled back. */
  async #connected<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    let client: PoolClient;
    try {
      client = await this.pool.connect();
    } catch (error) {
      throw databaseError(error);
    }
    // pg's own time limit does not cover COPY. A transaction that takes longer than this has most likely lost its
    // network connection, so the connection is closed.
    const watchdog = setTimeout(() => void client.end(), statementsOfTransaction * this.statementTimeoutMs);
    try {
      return await work(client);
    } catch (error) {
      client.release(!(await rollBack(client)));
      throw databaseError(error);
    } finally {
      clearTimeout(watchdog);
    }
  }

  /**
   * Why the files of certificates could not be used when they were last read, so that connections use what the files
   * held before; undefined when they could be.
   */
  get filesFault(): string | undefined {
    return this.#tls?.fault;
  }

  /** Reads the files of certificates without connecting, so that `filesFault` tells of them as they are now. */
  async readFiles(): Promise<void> {
    await this.#tls?.context();
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}

/** Rolls the transaction back. @returns false when the connection cannot be used again */
async function rollBack(client: ClientBase): Promise<boolean> {
  try {
    await client.query('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

/**
 * Opens the database and connects once, so that mistakes in the settings are reported at the start.
 * @throws GatewayError INDEX_UNAVAILABLE (rejects)
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { config, name, tls } = await serverAddress(options);
  const all = { ...config, types: parsers };
  const pool = new Pool({ ...all, max: options.connections ?? 10, idleTimeoutMillis: 60_000, Client: clientFor(tls) });
  // The pool replaces lost connections when one is needed. A query that was running on a lost connection rejects.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const database = new Database(pool, { name, config: all, tls }, options);
  try {
    const [row] = await database.query<[string, string]>(
      `SELECT current_setting('server_version_num'), current_setting('server_version')`,
    );
    const [number, version] = row!;
    if (Number(number) < leastVersion) {
      throw unavailable(`is PostgreSQL ${version}: the index needs 15 or newer, update it`);
    }
    return database;
  } catch (error) {
    await pool.end();
    throw error;
  }
}
