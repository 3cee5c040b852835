// A read-only transaction that sees the database at one moment. All statements of an answer run in it. It does not stay
// open while a consumer is slow. BEGIN and the read of the index's state are sent together with the first statement,
// which was made with the catalog in memory. When the answer shows that this catalog is outdated, the work is done
// again.
import type { Database, ReadSession } from '../connection/database.ts';
import { copyOf, type Answered, type CopyRow } from '../connection/script.ts';
import { readCatalog, type Catalog } from './catalog.ts';
import { withLiterals, type SqlFragment } from './sql.ts';
import { TermCounts } from './term-counts.ts';

/** A transaction, and the state of the index that it sees. */
export interface Snapshot {
  readonly catalog: Catalog;
  /**
   * The state of the index that the transaction sees. When called before any other statement, it costs a round trip.
   */
  readonly moment: () => Promise<Moment>;
  /** Runs a statement. Each row is an array of its columns; bytea is a Buffer and int8 a number. */
  rows<Row extends readonly unknown[]>(statement: SqlFragment): Promise<readonly Row[]>;
  /** Runs a query through COPY, which gives bytes without conversion. */
  copied(query: SqlFragment): Promise<readonly CopyRow[]>;
  /** How many rows have a term. The numbers are at most half a minute old. */
  readonly termCounts: TermCounts;
  /** A number that is unique in this transaction, for the name of a cursor. */
  newNumber(): number;
}

/** The state of the index that a transaction sees. All times are microseconds since 1970. */
export interface Moment {
  /** Time of the newest change. */
  readonly sequence: number;
  /** Time of the newest change of a role or binding; 0 when there is none. */
  readonly rights: number;
  /** The change log contains all changes after this time. */
  readonly trimmed: number;
}

export interface WorkOptions {
  /**
   * True when the work probably needs only one statement. Then COMMIT is sent together with the first statement. Work
   * that needs a second statement after all is done again from the beginning.
   */
  readonly isShort?: boolean;
}

/** Runs `work` in a transaction of its own. `work` may be called several times; only its last result is returned. */
export type InSnapshot = <T>(work: (snapshot: Snapshot) => Promise<T>, options?: WorkOptions) => Promise<T>;

/**
 * Thrown when the work must be done again in a new transaction: the catalog was outdated, or the transaction has
 * already ended.
 */
class AgainError extends Error {}

/** The newest catalog that was read; undefined before the first time. */
export interface KnownCatalog {
  catalog: Catalog | undefined;
}

/** Makes the function that runs work in read-only transactions. They share the catalog in memory. */
export function snapshotsOf(
  database: Pick<Database, 'reading' | 'schema'>,
  memory: KnownCatalog = { catalog: undefined },
): InSnapshot {
  const termCounts = new TermCounts();
  const point = `SELECT q.last, q.rights, q.catalog, s.trimmed
    FROM ${database.schema}.sequencer q CROSS JOIN ${database.schema}.store s WHERE q.one AND s.one`;
  return (work, { isShort = false } = {}) =>
    database.reading(async (session) => {
      const attempt = async <T>(of: Transaction, all: (snapshot: Snapshot) => Promise<T>): Promise<T> => {
        const result = await all(of);
        // Work that has run no statement may have relied on an outdated catalog. `moment` compares the catalog's
        // version with that in the database.
        await of.moment();
        return result;
      };
      const known = memory.catalog;
      if (known !== undefined) {
        const first = new Transaction({ session, point, termCounts }, known, isShort);
        try {
          return await attempt(first, work);
        } catch (error) {
          // Work that failed before its first statement may have failed because the cached catalog is outdated. Its
          // error is final only when the catalog is current; otherwise the work is done again.
          if (!(error instanceof AgainError) && (await first.isCurrent())) throw error;
        }
      }
      const transaction = new Transaction({ session, point, termCounts }, known ?? emptyCatalog, false);
      const read = await transaction.begin();
      // Another question may have stored a newer catalog meanwhile, which must not be replaced by an older one.
      const { catalog } = memory;
      if (catalog === undefined || catalog === known || catalog.version < read.version) memory.catalog = read;
      return attempt(transaction, work);
    });
}

const emptyCatalog: Catalog = {
  version: Number.NaN,
  types: new Map(),
  typeKeys: new Map(),
  incarnations: new Map(),
  byNumber: new Map(),
  byCluster: new Map(),
  oldestForm: undefined,
};

interface Parts {
  readonly session: ReadSession;
  /** SQL that reads the state of the index, and the version of its catalog. */
  readonly point: string;
  readonly termCounts: TermCounts;
}

class Transaction implements Snapshot {
  readonly termCounts: TermCounts;
  readonly #session: ReadSession;
  readonly #point: string;
  /** Whether COMMIT was sent together with the first statement. */
  readonly #isShort: boolean;
  #catalog: Catalog;
  #isBegun = false;
  #moment: Moment | undefined;
  #number = 0;

  constructor({ session, point, termCounts }: Parts, catalog: Catalog, isShort: boolean) {
    this.#session = session;
    this.#point = point;
    this.termCounts = termCounts;
    this.#catalog = catalog;
    this.#isShort = isShort;
  }

  get catalog(): Catalog {
    return this.#catalog;
  }

  /** Whether the catalog with which the transaction was made is the one that the transaction sees. */
  async isCurrent(): Promise<boolean> {
    try {
      await this.moment();
      return true;
    } catch (error) {
      if (error instanceof AgainError) return false;
      throw error;
    }
  }

  /** Begins the transaction, and reads the catalog when the database has a newer version of it. */
  async begin(): Promise<Catalog> {
    this.#isBegun = true;
    const [point] = await this.#session.begin(this.#point);
    const version = this.#begun(point!);
    if (this.#catalog.version !== version) {
      this.#catalog = await readCatalog(this.rows, version);
    }
    return this.#catalog;
  }

  readonly moment = async (): Promise<Moment> => {
    if (!this.#isBegun) await this.#run('');
    return this.#moment!;
  };

  readonly rows = async <Row extends readonly unknown[]>(statement: SqlFragment): Promise<readonly Row[]> => {
    const { rows, columnTypes } = await this.#run(withLiterals(statement));
    const readers = columnTypes.map((type) => this.#session.readerOf(type));
    const read = (value: string | null, column: number): unknown => (value === null ? null : readers[column]!(value));
    return rows.map((row) => row.map(read)) as unknown as readonly Row[];
  };

  readonly copied = async (query: SqlFragment): Promise<readonly CopyRow[]> =>
    (await this.#run(copyOf(withLiterals(query)))).copied;

  readonly newNumber = (): number => ++this.#number;

  /** Runs a statement. With the first one, also begins the transaction. */
  async #run(text: string): Promise<Answered> {
    if (this.#isBegun) {
      if (this.#isShort) throw new AgainError();
      return (await this.#session.run(text))[0]!;
    }
    this.#isBegun = true;
    const rest = [...(text === '' ? [] : [text]), ...(this.#isShort ? ['COMMIT'] : [])];
    const [point, answered] = await this.#session.begin(this.#point, ...rest);
    if (this.#begun(point!) !== this.#catalog.version) throw new AgainError();
    return answered ?? point!;
  }

  /**
   * Notes which state of the index the transaction sees.
   * @returns the version of the catalog in the database
   */
  #begun({ rows }: Answered): number {
    const [sequence, rights, version, trimmed] = rows[0]!.map(Number) as [number, number, number, number];
    this.#moment = { sequence, rights, trimmed };
    return version;
  }
}
