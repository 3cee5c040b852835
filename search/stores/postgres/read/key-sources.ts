// Reads the rows of one type in the order of a query, some at a time. Where the order begins with the cluster, the
// first clusters are read on their own, so that one page does not sort the rows of all clusters.
import type { RowKey } from '../../../query/match.ts';
import { documentPaths, readDocument } from '../../../query/document.ts';
import type { BodyBudget } from '../../body-budget.ts';
import { sortValue, type KeyRow, type RowOrder } from '../../row-order.ts';
import { readRaw } from './bodies.ts';
import type { Catalog, IncarnationRecord } from './catalog.ts';
import { countExtents } from './extent-counts.ts';
import { extentIn, incarnationsOf } from './extents.ts';
import { compareIncarnations, isByCluster, KeyOrder, type FoundRow } from './key-order.ts';
import { passedPart, rowParts, selectRows, type TypePlan } from './plans.ts';
import type { Snapshot } from './snapshot.ts';
import { piece, type Piece } from './sql.ts';

/** Gives rows in order, some at a time; undefined when there are no more. */
export interface RowSource {
  next(want: number): Promise<readonly FoundRow[] | undefined>;
}

/** Which rows of a plan are wanted. */
export interface SourceOptions {
  readonly order: RowOrder;
  /** Only rows after this one are wanted. */
  readonly after: KeyRow | undefined;
  /** The most rows the caller will need. Infinite when it needs all, or when rows are filtered later. */
  readonly most: number;
  readonly offset: number;
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

/**
 * The most rows with a required term that are all read and then sorted. When more rows have the term, rows are read in
 * order and tested.
 */
const mostCollected = 20_000;
/** A statement for more rows than this uses a cursor. */
const mostAtOnce = 2000;

export async function keySource(snapshot: Snapshot, plan: TypePlan, options: SourceOptions): Promise<RowSource> {
  if (!isSelective(plan) && isByCluster(options.order) && options.offset === 0) {
    return clusterSource(snapshot, plan, options);
  }
  const incarnations = recordsOf(snapshot.catalog, plan);
  const order = new KeyOrder(options.order, plan.type, incarnations, false);
  const isPassed = await passesRows(snapshot, plan, options);
  return statementSource(snapshot, { ...plan, isPassed }, options, order);
}

/** A plan. With `isPassed`, all rows of the type are read in order and those the user may not see are skipped. */
type WalkedPlan = TypePlan & { readonly isPassed?: boolean };

/** With fewer namespaces than this, the rows of all of them are read and sorted. */
const manyPlaces = 256;

/**
 * Whether fewer rows have to be read when all rows of the type are read in order and tested, than when all rows in the
 * user's namespaces are read and sorted.
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
    piece('SELECT coalesce(sum(objects), 0)::int8 FROM follow WHERE t = ?', extent.t),
  );
  const own = Math.max(1, await countExtents(snapshot, [plan]));
  return ((most + offset) * all) / own < own;
}

/** Whether a condition matches so few rows that all of them are read and sorted. */
function isSelective({ conditions, only }: TypePlan): boolean {
  return only !== undefined || (conditions.best?.postings ?? Number.POSITIVE_INFINITY) < mostCollected;
}

function recordsOf({ byNumber }: Catalog, { extent, only }: TypePlan): readonly IncarnationRecord[] {
  const numbers = new Set([...incarnationsOf(extent), ...(only ?? []).map(({ inc }) => inc)]);
  return [...numbers].map((number) => byNumber.get(number)!);
}

/** Reads one cluster, then the next four, then sixteen and so on. */
function clusterSource(snapshot: Snapshot, plan: TypePlan, options: SourceOptions): RowSource {
  const { order, after } = options;
  const { direction } = order.keys[0]!;
  const compare = (one: { id: string; cluster: string }, other: { id: string; cluster: string }): number =>
    direction * compareIncarnations(one, other);
  let left = recordsOf(snapshot.catalog, plan)
    .filter((one) => after === undefined || compare(one, after.slot.incarnation) >= 0)
    .toSorted(compare);
  let count = 1;
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
    const rest = { ...options, after: isBehind ? undefined : after, most: options.most - given };
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

function statementSource(
  snapshot: Snapshot,
  plan: WalkedPlan,
  { after, most, offset }: SourceOptions,
  order: KeyOrder,
): RowSource {
  const sorted = sortedRows(snapshot, plan, order, after);
  if (most <= mostAtOnce) {
    const statement: Piece = { text: `${sorted.text} LIMIT ? OFFSET ?`, values: [...sorted.values, most, offset] };
    return onceSource(async () => keyRows(snapshot, plan, await snapshot.rows<KeyColumns>(statement)));
  }
  const statement = { text: `${sorted.text} OFFSET ?`, values: [...sorted.values, offset] };
  return cursorSource(snapshot, plan, statement);
}

/** A statement for the plan's rows in order. */
function sortedRows(snapshot: Snapshot, plan: WalkedPlan, order: KeyOrder, after: KeyRow | undefined): Piece {
  const parts = plan.isPassed === true ? [passedPart(plan)] : rowParts(snapshot, plan);
  const behind = after === undefined ? [] : order.after(after);
  const { orderBy } = order;
  // MATERIALIZED keeps the planner from reading all rows in order and testing each one for its terms.
  if (isSelective(plan)) {
    const rows = selectRows(columns, parts);
    const where =
      behind.length === 0
        ? piece('')
        : {
            text: `WHERE ${behind.map(({ text }) => text).join(' AND ')}`,
            values: behind.flatMap(({ values }) => values),
          };
    return {
      text: `WITH o AS MATERIALIZED (${rows.text}) SELECT ${columns} FROM o ${where.text} ORDER BY ${orderBy.text}`,
      values: [...rows.values, ...where.values, ...orderBy.values],
    };
  }
  const rows = selectRows(columns, parts, behind);
  const text = `SELECT ${columns} FROM (${rows.text}) o ORDER BY ${orderBy.text}`;
  return { text, values: [...rows.values, ...orderBy.values] };
}

function keyRows({ catalog }: Snapshot, plan: TypePlan, rows: readonly KeyColumns[]): FoundRow[] {
  return rows.map(([id, inc, namespace, name, created, rv, bytes]) => {
    const slot = { incarnation: catalog.byNumber.get(inc)!, namespace: namespace.toString() };
    return { id, type: plan.type, slot, name: name.toString(), created, rv: rv.toString(), sort: [], bytes };
  });
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

/** Reads the rows of a statement through a cursor, which stays open until the transaction ends. */
function cursorSource(snapshot: Snapshot, plan: TypePlan, statement: Piece): RowSource {
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
      const rows = await snapshot.rows<KeyColumns>(piece(`FETCH ${want} FROM ${name}`));
      isOver = rows.length < want;
      if (isOver) await snapshot.rows(piece(`CLOSE ${name}`));
      return rows.length === 0 ? undefined : keyRows(snapshot, plan, rows);
    },
  };
}

/** How many bodies one statement reads. */
const bodiesAtOnce = 64;

/**
 * All rows of a plan, ordered by paths of the object. Every body is read, and rows whose body does not match are left
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
  const some: Piece = { text: `SELECT * FROM (${all.text}) o LIMIT ?`, values: [...all.values, budget.left + 1] };
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

/** The key of a row in the form that a matcher takes. */
export function matchKey({ type, slot, name }: KeyRow): RowKey {
  return { cluster: slot.incarnation.cluster, type, namespace: slot.namespace, name };
}
