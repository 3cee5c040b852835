// All operations of a reader thread, on one read-only connection. A transaction is open only inside `slice`. `slice` is
// synchronous, so no transaction stays open while the thread waits.
import { DatabaseSync } from 'node:sqlite';

import { GatewayError } from '../../../model/errors.ts';
import type { TypeKey } from '../../../query/types.ts';
import { typeKey, type ResourceType } from '../../../query/types.ts';
import type { ListQuery } from '../../../query/list-query.ts';
import type { FacetBy, FacetCount, PageRequest, StoredType } from '../../store.ts';
import { readBodies, type BodyChunk } from './bodies.ts';
import { BodyBudget, type BodyLimits } from '../../body-budget.ts';
import { Catalog } from '../tables/catalog.ts';
import { isInLog, oldestSequence, readChanges, type Changes } from '../session/change-reader.ts';
import { countRows } from './counts.ts';
import type { Grants } from '../session/extents.ts';
import { readFacets, readFacetValues } from './facets.ts';
import { configure } from '../write/file.ts';
import { readPage, type KeyPage } from './pages.ts';
import { ReaderMemory } from '../session/reader-memory.ts';
import { indexVersionsOf, type IndexVersions } from '../../index-version.ts';
import { storedTypesOf, type FollowRow } from '../../stored-types.ts';
import { metaKey, slotsPerIncarnation, readStoreId } from '../tables/schema.ts';
import type { Session } from '../session/session.ts';
import { RowTestRegistry, type Moment, type Slice, type TimeSlices } from '../tables/transaction.ts';
import { type Question } from '../session/session.ts';
import { Sql } from '../tables/sql.ts';

/**
 * The grants of a scope as sent to a reader thread: with `grants` the first time, later only by number. The thread
 * keeps the grants.
 */
export interface SentScope {
  readonly number: number;
  readonly grants: Grants | undefined;
  /** Numbers of scopes that the reader thread shall forget. */
  readonly dropped: readonly number[];
}

interface Asked {
  readonly query: ListQuery;
  readonly scope: SentScope;
}

/** Rows of one type as four lists, which are cheaper to send between threads than objects. */
export interface VersionColumns {
  readonly namespaces: readonly string[];
  readonly names: readonly string[];
  readonly uids: readonly string[];
  readonly resourceVersions: readonly string[];
}

/**
 * A page with its first rows, and the ids of the rows that are still to be read (`left`); `left` is undefined when
 * there are none.
 */
export type ReadPage = Omit<KeyPage, 'ids'> &
  Moment & { readonly first: BodyChunk; readonly left: Float64Array | undefined };

/** A result, and the state of the index from which it was read. */
export interface Found<T> extends Moment {
  readonly found: T;
}

/** The operations of a reader thread by name. Inputs and outputs are sent between threads. */
export interface ReaderOperations {
  readonly list: (input: Asked & { readonly page: PageRequest }) => Promise<ReadPage>;
  readonly bodies: (input: { readonly ids: Float64Array; readonly sequence: number }) => BodyChunk;
  readonly count: (input: Asked & { readonly overBudget?: 'refuse' | undefined }) => Promise<Found<number>>;
  readonly facets: (
    input: Asked & { readonly by: FacetBy; readonly limit: number },
  ) => Promise<Found<readonly FacetCount[]>>;
  readonly values: (
    input: Asked & { readonly by: FacetBy; readonly prefix: string; readonly limit: number },
  ) => Promise<Found<readonly string[]>>;
  readonly types: (incarnation?: string) => readonly StoredType[];
  readonly versions: (input: { readonly incarnation: string; readonly type: ResourceType }) => VersionColumns;
  readonly moment: () => Moment;
  readonly oldest: () => number;
  readonly isInLog: (input: { readonly timeUs: number }) => boolean;
  readonly changes: (input: {
    readonly sinceUs: number;
    readonly types: readonly TypeKey[];
    readonly limit: number;
  }) => Changes;
}

export interface Reader {
  readonly operations: ReaderOperations;
  readonly close: () => void;
}

const newest = `SELECT value, (SELECT value FROM meta WHERE key = '${metaKey.rights}'),
  (SELECT value FROM meta WHERE key = '${metaKey.catalog}') FROM meta WHERE key = '${metaKey.sequence}'`;

/**
 * Opens a reader.
 * @param db a connection to the file; it is closed with the reader
 * @param bodyLimits how many bodies one question may read
 */
export function openReader(
  file: string,
  cacheBytes: number,
  db: DatabaseSync = new DatabaseSync(file, { readOnly: true }),
  bodyLimits?: BodyLimits,
): Reader {
  configure(db, cacheBytes);
  const connection = new ReaderConnection(db);
  return { operations: operationsOf(connection, bodyLimits), close: () => db.close() };
}

function operationsOf(connection: ReaderConnection, bodyLimits: BodyLimits | undefined): ReaderOperations {
  const { slice } = connection;
  const question = (asked: Asked): Question => connection.question(asked);
  return {
    list: async (asked) => {
      const read = (timeSlices: TimeSlices<Session>) =>
        readPage(timeSlices, question(asked), asked.page, bodyLimits, readBodies);
      const { rights, found } = await observed(slice, read);
      const { ids, ...page } = found;
      const { done } = page.first;
      return { ...page, rights, left: done < ids.length ? ids.slice(done) : undefined };
    },
    bodies: ({ ids, sequence }) => slice((session) => readBodies(session, ids, sequence)),
    count: (asked) => {
      const budget = new BodyBudget(asked.query.types, bodyLimits);
      return observed(slice, (timeSlices) =>
        countRows(timeSlices, question(asked), { budget, over: asked.overBudget }),
      );
    },
    facets: (asked) =>
      observed(slice, (timeSlices) => readFacets(timeSlices, question(asked), asked.by, asked.limit, bodyLimits)),
    values: (asked) =>
      observed(slice, (timeSlices) => readFacetValues(timeSlices, question(asked), asked.by, asked, bodyLimits)),
    types: (incarnation) => slice(({ sql }) => storedTypes(sql, incarnation)),
    versions: ({ incarnation, type }) =>
      slice(({ sql, catalog }) => {
        const t = catalog.types.get(typeKey(type));
        return versionColumns(sql, catalog, t, catalog.incarnations.get(incarnation)?.number);
      }),
    moment: () => slice(({ sequence, rights }) => ({ sequence, rights })),
    oldest: () => slice(oldestSequence),
    isInLog: ({ timeUs }) => slice((session) => isInLog(session, timeUs)),
    changes: ({ sinceUs, types, limit }) => slice((session) => readChanges(session, sinceUs, types, limit)),
  };
}

/**
 * Notes which states of the index the transactions of a question saw. The `sequence` is that of the first transaction,
 * because later commits do not belong to the answer. The `rights` are those of the last one, because it may have found
 * rows that were written after the first.
 */
async function observed<T>(
  slice: Slice<Session>,
  work: (timeSlices: TimeSlices<Session>) => Promise<T>,
): Promise<Found<T>> {
  let sequence: number | undefined;
  let rights = 0;
  const noting: Slice<Session> = (look) =>
    slice((session) => {
      sequence ??= session.sequence;
      rights = session.rights;
      return look(session);
    });
  const found = await work({ slice: noting, pause: () => new Promise((resolve) => setImmediate(resolve)) });
  return { sequence: sequence!, rights, found };
}

/** A read-only connection, with the grants and structures that it keeps in memory between questions. */
class ReaderConnection {
  readonly #db: DatabaseSync;
  readonly #sql: Sql;
  readonly #tests = new RowTestRegistry();
  readonly #scopes = new Map<number, Grants>();
  readonly #memory = new ReaderMemory();
  #catalog = new Catalog();
  /**
   * The functions for the resourceVersions of this store. The store's id is read with the first question and not when
   * the file is opened, because an error of the file inside an answer is recognised as damage.
   */
  #versions: IndexVersions | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#sql = new Sql(db);
    this.#tests.register(db);
    db.function('fold', { deterministic: true }, (text) => String(text).toLowerCase());
  }

  readonly slice: Slice<Session> = (work) => {
    const sql = this.#sql;
    sql.all('BEGIN', []);
    try {
      const [sequence, rights, version] = sql.first<[number, number, number]>(newest, [])!;
      this.#catalog.refresh(this.#db, version);
      this.#tests.clear();
      this.#versions ??= indexVersionsOf(readStoreId(this.#db));
      const [catalog, versions] = [this.#catalog, this.#versions];
      return work({ sql, catalog, sequence, rights, versions, tests: this.#tests, memory: this.#memory });
    } catch (error) {
      // The catalog may have been read only in part, and must then be read again. A GatewayError cannot come from that
      // reading.
      if (!(error instanceof GatewayError)) this.#catalog = new Catalog();
      throw error;
    } finally {
      sql.all('COMMIT', []);
    }
  };

  question({ query, scope }: Asked): Question {
    for (const number of scope.dropped) this.#scopes.delete(number);
    if (scope.grants !== undefined) this.#scopes.set(scope.number, scope.grants);
    return { query, grants: this.#scopes.get(scope.number)! };
  }
}

function storedTypes(sql: Sql, incarnation: string | undefined): readonly StoredType[] {
  const columns = 'i.incarnation, i.cluster, f.info, f.version, f.confirmed, f.objects, f.resume';
  const rows =
    incarnation === undefined
      ? sql.all<FollowRow>(`SELECT ${columns} FROM follow f CROSS JOIN incarnation i ON i.id = f.inc`, [])
      : // Table `type` comes before `follow`, so that each row of `follow` is looked up by its whole key.
        sql.all<FollowRow>(
          `SELECT ${columns} FROM incarnation i CROSS JOIN type t CROSS JOIN follow f ON f.t = t.id AND f.inc = i.id
          WHERE i.incarnation = ?`,
          [incarnation],
        );
  return storedTypesOf(rows);
}

function versionColumns(
  sql: Sql,
  catalog: Catalog,
  t: number | undefined,
  incarnation: number | undefined,
): VersionColumns {
  const first = (incarnation ?? 0) * slotsPerIncarnation;
  const rows =
    t === undefined || incarnation === undefined
      ? []
      : sql.all<[number, string, string, string]>(
          'SELECT place, name, uid, rv FROM obj INDEXED BY obj_key WHERE t = ? AND place BETWEEN ? AND ?',
          [t, first, first + slotsPerIncarnation - 1],
        );
  return {
    namespaces: rows.map(([slot]) => catalog.slot(slot).namespace),
    names: rows.map(([, name]) => name),
    uids: rows.map(([, , uid]) => uid),
    resourceVersions: rows.map(([, , , rv]) => rv),
  };
}
