// Reads the rows of one type in the order of a query, some at a time. When the order begins with the cluster, the rows
// of the first clusters are read alone, so that not all clusters' rows are sorted for one page.
import { documentPaths, readDocument } from '../../../query/document.ts';
import type { BodyBudget } from '../../body-budget.ts';
import { matchKey, sortValue, type KeyRow, type RowOrder } from '../../row-order.ts';
import type { CopyRow } from '../connection/script.ts';
import { chunkBytes, readRaw } from './bodies.ts';
import type { Catalog, IncarnationRecord } from './catalog.ts';
import { countExtents } from './extent-counts.ts';
import { extentIn, incarnationsOf } from './extents.ts';
import { compareIncarnations, isByCluster, KeyOrder, type FoundRow } from './key-order.ts';
import { isExtentOnly, passedPart, rowParts, selectRows, type TypePlan } from './plans.ts';
import type { Snapshot } from './snapshot.ts';
import { allHold, concat, isOneOf, fragment, type SqlFragment } from './sql.ts';

/** Gives rows in order. `next` returns some rows at a time; undefined when there are no more. */
export interface RowSource {
  next(want: number): Promise<readonly FoundRow[] | undefined>;
}

/** Which rows of a plan are wanted, and in which order. */
export interface SourceOptions {
  readonly order: RowOrder;
  /** Only rows that come after this row in the order are wanted; undefined: all rows. */
  readonly after: KeyRow | undefined;
  /** The most rows that the caller needs. Infinite when it needs all, or when it leaves out rows later. */
  readonly most: number;
  readonly offset: number;
  /**
   * How many rows the page shows. Their bodies are read by the statement that reads the keys. Undefined when bodies are
   * read later, because the caller may leave out rows.
   */
  readonly shown: number | undefined;
}

type KeyColumns = readonly [
  id: number,
  inc: number,
  namespace: Buffer,
  name: Buffer,
  created: number,
  rv: Buffer,
  bytes: number,
];

const columns = 'o.id, o.inc, o.namespace, o.name, o.created, o.rv, o.bytes';
const wholeColumns = `${columns}, o.uid, o.shard`;

/**
 * When fewer rows than this have a term (label or indexed value) that the query requires, all of them are read and then
 * sorted. When more rows have it, rows are read in order and tested.
 */
const mostCollected = 20_000;
/** The most rows that one statement returns. For more, a database cursor is used. */
const mostAtOnce = 2000;

export async function keySource(snapshot: Snapshot, plan: TypePlan, options: SourceOptions): Promise<RowSource> {
  if (plan.only === undefined && isByCluster(options.order) && options.offset === 0) {
    return clusterSource(snapshot, plan, options);
  }
  const incarnations = recordsOf(snapshot.catalog, plan);
  const order = new KeyOrder(options.order, plan.type, incarnations, false);
  const isPassed = await passesRows(snapshot, plan, options);
  return statementSource(snapshot, { ...plan, isPassed }, options, order);
}

/**
 * A plan (the question compiled for one type). With `isPassed`, all rows of the type are read in order, and those that
 * the user may not see are skipped.
 */
type ScannedPlan = TypePlan & { readonly isPassed?: boolean };

/** When the user sees fewer namespaces than this, the rows of all of them are read and sorted. */
const manyPlaces = 256;

/**
 * Whether it takes fewer rows to read all rows of the type in order and test each, than to read and sort all rows in
 * the user's namespaces.
 */
async function passesRows(
  snapshot: Snapshot,
  plan: TypePlan,
  { order, most, offset }: SourceOptions,
): Promise<boolean> {
  const [first] = order.keys;
  const { extent } = plan;
  if (isSelective(plan) || extent.places.length < manyPlaces) return false;
  if (first!.by !== 'name' && first!.by !== 'created_at') return false;
  const [[all] = [0]] = await snapshot.rows<readonly [number]>(
    fragment('SELECT coalesce(sum(objects), 0)::int8 FROM follow WHERE t = ?', extent.t),
  );
  const own = Math.max(1, await countExtents(snapshot, [plan]));
  return ((most + offset) * all) / own < own;
}

/** Whether so few rows can match that all of them are read and sorted. */
function isSelective({ conditions, only }: TypePlan): boolean {
  return only !== undefined || (conditions.best?.postings ?? Number.POSITIVE_INFINITY) < mostCollected;
}

function recordsOf({ byNumber }: Catalog, { extent, only }: TypePlan): readonly IncarnationRecord[] {
  const numbers = new Set([...incarnationsOf(extent), ...(only ?? []).map(({ inc }) => inc)]);
  return [...numbers].map((number) => byNumber.get(number)!);
}

/**
 * How many clusters probably have enough rows for the page.
 * @param clusters the number of all clusters
 */
function clustersToBegin(plan: TypePlan, most: number, clusters: number): number {
  const { conditions, extent } = plan;
  const postings = conditions.best?.postings ?? Number.POSITIVE_INFINITY;
  if (isSelective(plan)) return Math.min(clusters, Math.ceil((2 * most * clusters) / Math.max(1, postings)));
  // A whole cluster usually has enough rows for a page. A part of a cluster often has not.
  return isExtentOnly(plan) && extent.whole.length > 0 && extent.namespaces === undefined ? 1 : 4;
}

/** Reads the rows of some clusters, then of the next four times as many clusters, and so on. */
function clusterSource(snapshot: Snapshot, plan: TypePlan, options: SourceOptions): RowSource {
  const { order, after } = options;
  const { direction } = order.keys[0]!;
  const compare = (one: { id: string; cluster: string }, other: { id: string; cluster: string }): number =>
    direction * compareIncarnations(one, other);
  let left = recordsOf(snapshot.catalog, plan)
    .filter((one) => after === undefined || compare(one, after.slot.incarnation) >= 0)
    .toSorted(compare);
  let count = clustersToBegin(plan, options.most, left.length);
  let given = 0;
  let source: RowSource | undefined;
  const begin = (): RowSource => {
    const some = left.slice(0, count);
    left = left.slice(count);
    count *= 4;
    const extent = extentIn(plan.extent, new Set(some.map(({ number }) => number)));
    const isOfOne = some.length === 1;
    const isBehind = isOfOne && some[0]!.id !== after?.slot.incarnation.id;
    const keyOrder = new KeyOrder(order, plan.type, some, isOfOne);
    const { shown } = options;
    const rest = {
      ...options,
      after: isBehind ? undefined : after,
      most: options.most - given,
      ...(shown === undefined ? {} : { shown: shown - given }),
    };
    return statementSource(snapshot, { ...plan, extent }, rest, keyOrder);
  };
  return {
    next: async (want) => {
      for (;;) {
        if (source === undefined && left.length === 0) return undefined;
        source ??= begin();
        const rows = await source.next(want);
        if (rows === undefined) source = undefined;
        else if (rows.length > 0) {
          given += rows.length;
          return rows;
        }
      }
    },
  };
}

function statementSource(snapshot: Snapshot, plan: ScannedPlan, options: SourceOptions, order: KeyOrder): RowSource {
  const { most, offset, shown } = options;
  const sorted = sortedRows(snapshot, plan, order, options);
  if (most <= mostAtOnce) {
    const statement: SqlFragment = {
      text: `${sorted.text} LIMIT ? OFFSET ?`,
      values: [...sorted.values, most, offset],
    };
    if (shown !== undefined) {
      const bodies = withBodies(statement, shown, shardsOf(recordsOf(snapshot.catalog, plan)));
      return onceSource(async () => wholeRows(snapshot, plan, await snapshot.copied(bodies)));
    }
    return onceSource(async () => keyRows(snapshot, plan, await snapshot.rows<KeyColumns>(statement)));
  }
  const statement = { text: `${sorted.text} OFFSET ?`, values: [...sorted.values, offset] };
  return cursorSource(snapshot, plan, statement);
}

/** Makes a statement for the plan's rows in order. */
function sortedRows(
  snapshot: Snapshot,
  plan: ScannedPlan,
  order: KeyOrder,
  { after, shown }: Pick<SourceOptions, 'after' | 'shown'>,
): SqlFragment {
  const selected = shown === undefined ? columns : wholeColumns;
  const parts = plan.isPassed === true ? [passedPart(plan)] : rowParts(snapshot, plan);
  const behind = after === undefined ? [] : order.after(after);
  const { orderBy } = order;
  // MATERIALIZED makes the planner find the rows with the term and sort these. Otherwise it may choose to read all rows
  // in order and test each one for the term.
  if (isSelective(plan)) {
    const rows = selectRows(selected, parts);
    const where = behind.length === 0 ? fragment('') : concat(fragment('WHERE'), allHold(behind));
    return {
      text: `WITH o AS MATERIALIZED (${rows.text}) SELECT ${selected} FROM o ${where.text} ORDER BY ${orderBy.text}`,
      values: [...rows.values, ...where.values, ...orderBy.values],
    };
  }
  const rows = selectRows(selected, parts, behind);
  const text = `SELECT ${selected} FROM (${rows.text}) o ORDER BY ${orderBy.text}`;
  return { text, values: [...rows.values, ...orderBy.values] };
}

function keyRows({ catalog }: Snapshot, plan: TypePlan, rows: readonly KeyColumns[]): FoundRow[] {
  return rows.map(([id, inc, namespace, name, created, rv, bytes]) => {
    const slot = { incarnation: catalog.byNumber.get(inc)!, namespace: namespace.toString() };
    return { id, type: plan.type, slot, name: name.toString(), created, rv: rv.toString(), sort: [], bytes };
  });
}

/**
 * Adds bodies to a statement for some rows in order: the bodies of the first `shown` rows, until they fill a chunk. So
 * one statement reads a short page.
 */
function withBodies(sorted: SqlFragment, shown: number, shards: SqlFragment): SqlFragment {
  const counted = `SELECT *, row_number() OVER () AS place, sum(o.bytes) OVER (ROWS UNBOUNDED PRECEDING) AS up_to`;
  const body = `SELECT b.raw FROM body b WHERE ${shards.text} AND b.shard = o.shard AND b.id = o.id`;
  return {
    text: `SELECT ${columns}, o.uid, CASE WHEN o.place <= ? AND o.up_to - o.bytes < ${chunkBytes} THEN (${body}) END
      FROM (${counted} FROM (${sorted.text}) o) o ORDER BY o.place`,
    values: [shown, ...shards.values, ...sorted.values],
  };
}

function wholeRows({ catalog }: Snapshot, plan: TypePlan, rows: readonly CopyRow[]): FoundRow[] {
  return rows.map((row) => {
    const [id, inc, namespace, name, created, rv, bytes, uid] = row as readonly Buffer[];
    const incarnation = catalog.byNumber.get(inc!.readInt32BE())!;
    const raw = row[8];
    return {
      id: Number(id!.readBigInt64BE()),
      type: plan.type,
      slot: { incarnation, namespace: namespace!.toString() },
      name: name!.toString(),
      created: Number(created!.readBigInt64BE()),
      rv: rv!.toString(),
      sort: [],
      bytes: bytes!.readInt32BE(),
      ...(raw === undefined ? {} : { rest: { uid: uid!.toString(), raw } }),
    };
  });
}

/** A condition on `b.shard` that lets the planner leave out partitions without rows of these incarnations. */
function shardsOf(records: readonly IncarnationRecord[]): SqlFragment {
  const shards = new Set(records.map(({ shard }) => shard));
  return isOneOf('b.shard', 'int2', [...shards]);
}

function onceSource(read: () => Promise<readonly FoundRow[]>): RowSource {
  let rows: readonly FoundRow[] | undefined;
  let at = 0;
  return {
    next: async (want) => {
      rows ??= await read();
      if (at >= rows.length) return undefined;
      const some = rows.slice(at, at + want);
      at += some.length;
      return some;
    },
  };
}

/**
 * Reads the rows of a statement through a database cursor, which is open until its last row or the transaction's end.
 */
function cursorSource(snapshot: Snapshot, plan: TypePlan, statement: SqlFragment): RowSource {
  const name = `rows_${snapshot.newNumber()}`;
  let isOpen = false;
  let isOver = false;
  return {
    next: async (want) => {
      if (isOver) return undefined;
      if (!isOpen) {
        await snapshot.rows({
          text: `DECLARE ${name} NO SCROLL CURSOR FOR ${statement.text}`,
          values: statement.values,
        });
      }
      isOpen = true;
      const rows = await snapshot.rows<KeyColumns>(fragment(`FETCH ${want} FROM ${name}`));
      isOver = rows.length < want;
      if (isOver) await snapshot.rows(fragment(`CLOSE ${name}`));
      return rows.length === 0 ? undefined : keyRows(snapshot, plan, rows);
    },
  };
}

/** How many bodies one statement reads. */
const bodiesAtOnce = 64;

/**
 * All rows of a plan, sorted by paths of the object. Every body is read, and rows whose body does not match are left
 * out.
 * @throws TooManyBodies (rejects) when there are more rows than the budget allows
 */
export async function sortedByPaths(
  snapshot: Snapshot,
  plan: TypePlan,
  { order, after }: Pick<SourceOptions, 'order' | 'after'>,
  budget: BodyBudget,
): Promise<RowSource> {
  const all = selectRows(columns, rowParts(snapshot, plan));
  // One row more than the budget allows is enough to refuse the question.
  const some: SqlFragment = { text: `SELECT * FROM (${all.text}) o LIMIT ?`, values: [...all.values, budget.left + 1] };
  const found = keyRows(snapshot, plan, await snapshot.rows<KeyColumns>(some));
  budget.expect(found.length);
  const paths = documentPaths(order.paths);
  const rows: FoundRow[] = [];
  for (let at = 0; at < found.length; at += bodiesAtOnce) {
    const here = found.slice(at, at + bodiesAtOnce);
    const bodies = await readRaw(snapshot, here);
    for (const row of here) {
      const raw = bodies.get(row.id)!;
      budget.read(raw.byteLength);
      if (plan.conditions.recheck?.(raw, matchKey(row)) === false) continue;
      rows.push({ ...row, sort: readDocument(raw, paths).map(([first]) => sortValue(first)) });
    }
  }
  const wanted = after === undefined ? rows : rows.filter((row) => order.compare(row, after) > 0);
  return onceSource(async () => wanted.sort(order.compare));
}
