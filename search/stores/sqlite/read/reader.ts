// Answers questions from one read-only connection: every operation of a reader worker. Easy to get wrong: a transaction
// is open only inside `slice`, which is synchronous; nothing may wait while it is.
import { DatabaseSync } from 'node:sqlite';

import { GatewayError } from '../../../../cache/model/errors.ts';
import type { TypeInfo, TypeKey } from '../../../types.ts';
import { typeKey, type ResourceType } from '../../../types.ts';
import type { ListQuery } from '../../../query/list-query.ts';
import type { FacetBy, FacetCount, PageRequest, StoredType } from '../../store.ts';
import { readBodies, type BodyChunk } from './bodies.ts';
import { BodyBudget, type BodyLimits } from './body-budget.ts';
import { Catalog } from '../catalog.ts';
import { isInLog, oldestSequence, readChanges, type Changes } from './change-reader.ts';
import { countRows } from './counts.ts';
import type { Grants } from './extents.ts';
import { readFacets, readFacetValues } from './facets.ts';
import { configure } from '../file.ts';
import { readPage, type KeyPage } from './pages.ts';
import { ReaderMemory } from '../memory/reader-memory.ts';
import { indexVersionsOf, type IndexVersions } from '../../index-version.ts';
import { metaKey, slotsPerIncarnation, readStoreId } from '../schema.ts';
import type { Session } from '../session.ts';
import { TermTestSets, type Slice, type Turns } from '../transaction.ts';
import { type Question } from '../session.ts';
import { Sql } from '../sql.ts';

/** A scope as it is sent: whole the first time, then by number. */
export interface SentScope {
  readonly number: number;
  readonly grants: Grants | undefined;
  /** Numbers that will not come again. */
  readonly dropped: readonly number[];
}

interface Asked {
  readonly query: ListQuery;
  readonly scope: SentScope;
}

/** Rows of one type as four lists. */
export interface VersionColumns {
  readonly namespaces: readonly string[];
  readonly names: readonly string[];
  readonly uids: readonly string[];
  readonly resourceVersions: readonly string[];
}

/** A page with its first rows, and the ids of those that are still to be read, if there are any. */
export type ReadPage = Omit<KeyPage, 'ids'> & { readonly first: BodyChunk; readonly left: Float64Array | undefined };

/** The operations of a reader, by name; inputs and outputs cross threads. */
export interface ReaderOperations {
  readonly list: (input: Asked & { readonly page: PageRequest }) => Promise<ReadPage>;
  readonly bodies: (input: { readonly ids: Float64Array; readonly sequence: number }) => BodyChunk;
  readonly count: (input: Asked & { readonly overBudget?: 'refuse' | undefined }) => Promise<number>;
  readonly facets: (input: Asked & { readonly by: FacetBy; readonly limit: number }) => Promise<readonly FacetCount[]>;
  readonly values: (
    input: Asked & { readonly by: FacetBy; readonly prefix: string; readonly limit: number },
  ) => Promise<readonly string[]>;
  readonly types: () => readonly StoredType[];
  readonly versions: (input: { readonly incarnation: string; readonly type: ResourceType }) => VersionColumns;
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

const newest = `SELECT value, (SELECT value FROM meta WHERE key = '${metaKey.catalog}') FROM meta WHERE key = '${metaKey.sequence}'`;

/**
 * @param db a connection to the file, to be closed with the reader
 * @param bodyLimits what one question may read of bodies
 */
export function openReader(
  file: string,
  cacheBytes: number,
  db: DatabaseSync = new DatabaseSync(file, { readOnly: true }),
  bodyLimits?: BodyLimits,
): Reader {
  configure(db, cacheBytes);
  const sql = new Sql(db);
  const tests = new TermTestSets();
  db.function('holds', { deterministic: true }, (packed, number) =>
    tests.holds(packed as Uint8Array, Number(number)) ? 1 : 0,
  );
  db.function('fold', { deterministic: true }, (text) => String(text).toLowerCase());
  const scopes = new Map<number, Grants>();
  const memory = new ReaderMemory();
  let catalog = new Catalog();
  // Not read on opening: a fault of the file has to show in an answer, where it is recognised as damage.
  let versions: IndexVersions | undefined;

  const slice: Slice<Session> = (work) => {
    sql.all('BEGIN', []);
    try {
      const [sequence, version] = sql.first<[number, number]>(newest, [])!;
      catalog.refresh(db, version);
      tests.clear();
      versions ??= indexVersionsOf(readStoreId(db));
      return work({ sql, catalog, sequence, versions, tests, memory });
    } catch (error) {
      // It may hold half of what was added; not so where a question was refused.
      if (!(error instanceof GatewayError)) catalog = new Catalog();
      throw error;
    } finally {
      sql.all('COMMIT', []);
    }
  };
  const turns: Turns<Session> = { slice, pause: () => new Promise((resolve) => setImmediate(resolve)) };
  const question = ({ query, scope }: Asked): Question => {
    for (const number of scope.dropped) scopes.delete(number);
    if (scope.grants !== undefined) scopes.set(scope.number, scope.grants);
    return { query, grants: scopes.get(scope.number)! };
  };

  const operations: ReaderOperations = {
    list: async (asked) => {
      const { ids, ...page } = await readPage(turns, question(asked), asked.page, bodyLimits, readBodies);
      const { done } = page.first;
      return { ...page, left: done < ids.length ? ids.slice(done) : undefined };
    },
    bodies: ({ ids, sequence }) => slice((session) => readBodies(session, ids, sequence)),
    count: (asked) => {
      const budget = new BodyBudget(asked.query.types, bodyLimits);
      return countRows(turns, question(asked), { budget, over: asked.overBudget });
    },
    facets: (asked) => readFacets(turns, question(asked), asked.by, asked.limit, bodyLimits),
    values: (asked) => readFacetValues(turns, question(asked), asked.by, asked, bodyLimits),
    types: () => slice(() => storedTypes(sql)),
    versions: ({ incarnation, type }) =>
      slice((session) => {
        const t = session.catalog.types.get(typeKey(type));
        const inc = session.catalog.incarnations.get(incarnation)?.number;
        return versionColumns(session.sql, session.catalog, t, inc);
      }),
    oldest: () => slice(oldestSequence),
    isInLog: ({ timeUs }) => slice((session) => isInLog(session, timeUs)),
    changes: ({ sinceUs, types, limit }) => slice((session) => readChanges(session, sinceUs, types, limit)),
  };
  return { operations, close: () => db.close() };
}

function storedTypes(sql: Sql): readonly StoredType[] {
  return sql
    .all<[string, string, string, string, number, number]>(
      `SELECT i.incarnation, i.cluster, f.info, f.version, f.confirmed, f.objects
      FROM follow f CROSS JOIN incarnation i ON i.id = f.inc`,
      [],
    )
    .map(([id, cluster, info, resourceVersion, confirmedAtMs, objects]) => ({
      incarnation: { id, cluster },
      type: JSON.parse(info) as TypeInfo,
      position: { resourceVersion, confirmedAtMs },
      objects,
    }));
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
