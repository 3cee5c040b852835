// Answers the questions of a store from the database. Each answer is read in one transaction, except for the bodies of
// a page, which are read in chunks as the consumer asks for them.
import type { ListQuery } from '../../../query/list-query.ts';
import type { RowScope } from '../../../query/scope/scope.ts';
import { typeKey, type ResourceType } from '../../../query/types.ts';
import { indexVersionsOf } from '../../index-version.ts';
import { BodyBudget, type BodyLimits } from '../../body-budget.ts';
import { compareKeys } from '../../compare-keys.ts';
import { pointOf, pointPage } from '../../point.ts';
import { storedTypesOf, type FollowRow } from '../../stored-types.ts';
import type { IndexStore, Page, PageRequest, ReadPoint, RowRead, StoredType, StoredVersion } from '../../store.ts';
import type { Database } from '../connection/database.ts';
import { readBodies, type BodyChunk, type PageRows } from './bodies.ts';
import { countRows } from './counts.ts';
import { readFacets, readFacetValues } from './facets.ts';
import { readKeys } from './pages.ts';
import type { Question } from './plans.ts';
import { readPoint } from './point.ts';
import { snapshotsOf, type InSnapshot, type KnownCatalog, type Moment, type Snapshot } from './snapshot.ts';
import { fragment } from './sql.ts';

/** The read methods of a store. */
export type Reader = Pick<IndexStore, 'types' | 'versions' | 'list' | 'count' | 'facets' | 'values'>;

export interface ReaderOptions {
  readonly database: Pick<Database, 'reading' | 'schema'>;
  readonly storeId: string;
  /** Limits of what one question may read of bodies, for conditions that no database index answers. */
  readonly bodyLimits?: BodyLimits | undefined;
}

export function openReader({ database, storeId, bodyLimits }: ReaderOptions): Reader {
  const memory: KnownCatalog = { catalog: undefined };
  const inSnapshot = snapshotsOf(database, memory);
  const versions = indexVersionsOf(storeId);
  const seen = ({ sequence, rights }: Moment): ReadPoint => {
    return { resourceVersion: versions.make(sequence), rightsVersion: rights === 0 ? '' : versions.make(rights) };
  };
  return {
    types: (incarnation) => inSnapshot((snapshot) => storedTypes(snapshot, incarnation)),
    versions: (incarnation, type) => inSnapshot((snapshot) => storedVersions(snapshot, incarnation, type)),
    list: async (query, scope, page) => {
      const point = pointOf(query, page);
      const read =
        point === undefined || memory.catalog === undefined
          ? undefined
          : await readPoint(database, memory.catalog, point, scope);
      if (read !== undefined) return pointPage(read.rows, seen(read.moment), page.withRemaining);
      return readPage(inSnapshot, questionOf(query, scope), page, { seen, bodyLimits });
    },
    count: (query, scope, over) =>
      inSnapshot(
        async (snapshot) => {
          const budget = new BodyBudget(query.types, bodyLimits);
          const count = await countRows(snapshot, questionOf(query, scope), { budget, over });
          return { count, ...seen(await snapshot.moment()) };
        },
        { isShort: isPlain(query) && query.types.length === 1 },
      ),
    facets: (query, scope, by, limit) =>
      inSnapshot(async (snapshot) => {
        const counts = await readFacets(snapshot, { ...questionOf(query, scope), by }, limit, bodyLimits);
        return { counts, ...seen(await snapshot.moment()) };
      }),
    values: (query, scope, by, prefix, limit) =>
      inSnapshot(async (snapshot) => {
        const question = { ...questionOf(query, scope), by, prefix };
        return {
          values: await readFacetValues(snapshot, question, limit, bodyLimits),
          ...seen(await snapshot.moment()),
        };
      }),
  };
}

function questionOf(query: ListQuery, { grants }: RowScope): Question {
  return { query, grants };
}

/** Whether one statement will probably read the whole page. */
function isShort(query: ListQuery, { limit, withRemaining = false }: PageRequest): boolean {
  return limit !== undefined && !withRemaining && query.types.length === 1 && isPlain(query);
}

/** Whether no condition of the query needs a statement of its own before the one that reads rows. */
function isPlain({ labels, fields, text, anyOf, where, owner }: ListQuery): boolean {
  const isEqual = ({ operator }: { readonly operator: string }): boolean => ['In', 'Equals'].includes(operator);
  const isSimple = owner === undefined && where === undefined;
  return isSimple && text.length + anyOf.length === 0 && [...labels, ...fields].every(isEqual);
}

interface PageOptions {
  readonly seen: (moment: Moment) => ReadPoint;
  readonly bodyLimits: BodyLimits | undefined;
}

async function readPage(
  inSnapshot: InSnapshot,
  question: Question,
  request: PageRequest,
  { seen, bodyLimits }: PageOptions,
): Promise<Page> {
  const read = await inSnapshot(
    async (snapshot) => {
      const keys = await readKeys(snapshot, question, request, bodyLimits);
      const moment = await snapshot.moment();
      const { first: rows, ids } = keys;
      const first = rows.length > 0 ? { rows, done: rows.length } : await readBodies(snapshot, ids, moment.sequence);
      return { ...keys, sequence: moment.sequence, point: seen(moment), first };
    },
    { isShort: isShort(question.query, request) },
  );
  const { ids, sequence, first, next, remaining, warnings, point } = read;
  const more = (rest: PageRows): Promise<BodyChunk> => inSnapshot((snapshot) => readBodies(snapshot, rest, sequence));
  return {
    ...point,
    next,
    remaining,
    ...(warnings === undefined ? {} : { warnings }),
    chunks: { [Symbol.asyncIterator]: () => chunksOf(ids, first, more) },
  };
}

async function* chunksOf(
  { ids, incs, bytes }: PageRows,
  first: BodyChunk,
  read: (rest: PageRows) => Promise<BodyChunk>,
): AsyncGenerator<readonly RowRead[]> {
  let chunk = first;
  for (let done = chunk.done; ; done += chunk.done) {
    // The next chunk is read while this one is consumed. The consumer may stop early, so an error of reading it is
    // ignored until the chunk is needed.
    const next =
      done < ids.length
        ? read({ ids: ids.subarray(done), incs: incs.subarray(done), bytes: bytes.subarray(done) })
        : undefined;
    next?.catch(() => undefined);
    if (chunk.rows.length > 0) yield chunk.rows;
    if (next === undefined) return;
    chunk = await next;
  }
}

async function storedTypes({ rows, catalog }: Snapshot, incarnation?: string): Promise<readonly StoredType[]> {
  const only = incarnation === undefined ? undefined : catalog.incarnations.get(incarnation);
  if (incarnation !== undefined && only === undefined) return [];
  const found = await rows<FollowRow>(
    fragment(`SELECT i.incarnation, i.cluster, f.info, f.version, f.confirmed, f.objects, f.resume
      FROM follow f JOIN incarnation i ON i.id = f.inc
      ${only === undefined ? '' : `WHERE f.shard = ${only.shard} AND f.inc = ${only.number}`} ORDER BY f.t, f.inc`),
  );
  return storedTypesOf(found);
}

/** How many rows are fetched from a database cursor at a time. */
const versionsAtOnce = 10_000;

async function storedVersions(
  { rows, catalog, newNumber }: Snapshot,
  incarnation: string,
  type: ResourceType,
): Promise<readonly StoredVersion[]> {
  const t = catalog.types.get(typeKey(type));
  const inc = catalog.incarnations.get(incarnation)?.number;
  if (t === undefined || inc === undefined) return [];
  const name = `versions_${newNumber()}`;
  const text = 'SELECT o.namespace, o.name, o.uid, o.rv FROM obj o WHERE o.t = ? AND o.inc = ?';
  await rows(fragment(`DECLARE ${name} NO SCROLL CURSOR FOR ${text}`, t, inc));
  const found: StoredVersion[] = [];
  for (;;) {
    const some = await rows<readonly Buffer[]>(fragment(`FETCH ${versionsAtOnce} FROM ${name}`));
    for (const [namespace, of, uid, rv] of some) {
      const resourceVersion = rv!.toString();
      found.push({ namespace: namespace!.toString(), name: of!.toString(), uid: uid!.toString(), resourceVersion });
    }
    if (some.length < versionsAtOnce) return found.sort(compareKeys);
  }
}
