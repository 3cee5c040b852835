// The connections to the database: a pool, and transactions that set what they need by SET LOCAL, because behind a
// PgBouncer in transaction mode a session is another at each transaction.
import {
  Client,
  escapeIdentifier,
  Pool,
  types,
  type ClientBase,
  type ClientConfig,
  type PoolClient,
  type QueryArrayConfig,
  type QueryArrayResult,
} from 'pg';

import { databaseError, unavailable } from './errors.ts';
import { serverAddress, type ServerOptions } from './address.ts';

export interface DatabaseOptions extends ServerOptions {
  /** Schema of the tables; default `portcullis`. */
  readonly schema?: string;
  /** Connections at most; default 10. */
  readonly connections?: number;
  /** Longest time of one statement, milliseconds; default 30,000. */
  readonly statementTimeoutMs?: number;
}

const leastVersion = 150_000;
const int8 = 20;
/** How much later than the server this side gives up on a statement. */
const graceMs = 5000;
/** A transaction may take as long as so many statements of the longest time. */
const statementsOfTransaction = 10;

/** int8 as a number: ids, times and counts stay below 2^53; what does not is asked for as text. */
const parsers: { readonly getTypeParser: typeof types.getTypeParser } = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === int8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

/**
 * For transactions that find a few rows by whole keys: each by its index, whatever the server believes of tables that
 * were empty a minute ago.
 */
export const byIndexOnly = ['hashjoin', 'mergejoin', 'seqscan', 'bitmapscan', 'material', 'memoize']
  .map((way) => `SET LOCAL enable_${way} = off;`)
  .join(' ');

export class Database {
  readonly pool: Pool;
  /** Quoted, for statements. */
  readonly schema: string;
  readonly statementTimeoutMs: number;
  /** Server and database without the password. */
  readonly name: string;
  readonly #config: ClientConfig;

  constructor(pool: Pool, name: string, config: ClientConfig, options: DatabaseOptions) {
    this.pool = pool;
    this.name = name;
    this.#config = config;
    this.schema = escapeIdentifier(options.schema ?? 'portcullis');
    this.statementTimeoutMs = options.statementTimeoutMs ?? 30_000;
  }

  /** A connection of its own beside the pool, not yet connected. */
  newClient(): Client {
    return new Client(this.#config);
  }

  /** One statement by itself; names must be qualified. @throws GatewayError INDEX_UNAVAILABLE (rejects) */
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
   * Runs work in a transaction (READ COMMITTED) in the schema, and commits it unless the work has done so. Whatever is
   * thrown rolls it back.
   * @param settings more of `SET LOCAL …`, each with its semicolon
   * @throws GatewayError INDEX_UNAVAILABLE (rejects); after a lost connection it is not known whether it was committed
   */
  async transaction<T>(work: (client: ClientBase) => Promise<T>, settings = ''): Promise<T> {
    let client: PoolClient;
    try {
      client = await this.pool.connect();
    } catch (error) {
      throw databaseError(error);
    }
    let isUsable = false;
    // pg's own limit of a statement is not for COPY. What hangs is a network that lost us: the socket is closed.
    const watchdog = setTimeout(() => void client.end(), statementsOfTransaction * this.statementTimeoutMs);
    try {
      await client.query(`BEGIN; SET LOCAL search_path = ${this.schema}; SET LOCAL jit = off;
        SET LOCAL statement_timeout = ${this.statementTimeoutMs}; ${settings}`);
      const result = await work(client);
      const isCommitted = client.getTransactionStatus() === 'I';
      const { command } = isCommitted ? { command: 'COMMIT' } : await client.query('COMMIT');
      isUsable = true;
      if (command !== 'COMMIT') throw unavailable('has rolled a write back');
      return result;
    } catch (error) {
      isUsable ||= await rollBack(client);
      throw databaseError(error);
    } finally {
      clearTimeout(watchdog);
      client.release(!isUsable);
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}

/** @returns false when the connection cannot be used any more */
async function rollBack(client: ClientBase): Promise<boolean> {
  try {
    await client.query('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}

/** Connects once, so that what is wrong is said at the start. @throws GatewayError INDEX_UNAVAILABLE (rejects) */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { config, name } = await serverAddress(options);
  const all = { ...config, types: parsers };
  const pool = new Pool({ ...all, max: options.connections ?? 10, idleTimeoutMillis: 60_000 });
  // Lost connections are replaced when one is asked for; who uses one at that moment sees its query fail.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const database = new Database(pool, name, all, options);
  try {
    const [row] = await database.query<[string, string]>(
      `SELECT current_setting('server_version_num'), current_setting('server_version')`,
    );
    const [number, version] = row!;
    if (Number(number) < leastVersion) {
      throw unavailable(`is PostgreSQL ${version}: the index needs 15 or newer`);
    }
    return database;
  } catch (error) {
    await pool.end();
    throw error;
  }
}
