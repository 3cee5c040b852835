// Streams of rows in the query's order, one type at a time, resumable after any row: along an index where the order allows, else collected and sorted.
// Easy to get wrong: no statement stays open between two calls, and rows equal in the leading key must all be there before they are sorted.
import { readDocument, documentPaths } from '../../query/document.ts';
import type { RowKey } from '../../query/match.ts';
import type { BodyBudget } from './body-budget.ts';
import { incarnationOf, type Catalog, type Place } from './catalog.ts';
import { passInMemory } from './created-skip.ts';
import { compareText, comparePlaceClusters, sortValue, type KeyRow, type RowOrder, type SortKey } from './order.ts';
import { placesPerIncarnation } from './schema.ts';
import { whereOf, type Session, type TypePlan } from './session.ts';
import { inExtent, joined, type Access } from './sources.ts';
import type { Piece } from './sql.ts';

/** Gives rows after a row, in order, some at a time; undefined when there are no more. */
export interface Walk {
  /** Passes over rows from the very first on, at most so many. @returns how many; more may be left to be read and dropped */
  readonly skip?: (session: Session, plan: TypePlan, count: number) => number;
  readonly next: (session: Session, plan: TypePlan, want: number) => readonly KeyRow[] | undefined;
}

/** A walk pauses after so long, whether or not it has found anything. */
export const atOnceMs = 15;

type Row = readonly [id: number, place: number, name: string, created: number, rv: string];

/** What an order does not compare is not read: the indexes of places and names hold the rest, so that no row is looked up. */
function columnsOf({ keys }: RowOrder): string {
  const has = (column: SortKey['by']): boolean => keys.some(({ by }) => by === column);
  const created = has('created_at') ? 'o.created' : '0';
  return `o.id, o.place, o.name, ${created}, ${has('resource_version') ? 'o.rv' : "''"}`;
}

function keyRow({ catalog }: Session, plan: TypePlan, [id, place, name, created, rv]: Row): KeyRow {
  return { id, type: plan.type, place: catalog.place(place), name, created, rv, sort: [] };
}

/**
 * All rows of an access that come after a row, sorted at once.
 * @param budget for an order by paths of the object, which reads each row's body and then leaves out what that tells is not wanted
 */
export function collect(
  session: Session,
  plan: TypePlan,
  access: Access,
  order: RowOrder,
  after?: KeyRow,
  budget?: BodyBudget,
): KeyRow[] {
  const rows: KeyRow[] = [];
  for (const way of joined(access)) {
    const all = whereOf([...way.where, ...access.rest]);
    // Each is read, so there is nothing to be had from more than may be.
    const limit = budget === undefined ? '' : ` LIMIT ${budget.left + 1}`;
    const text = `SELECT ${way.repeats ? 'DISTINCT ' : ''}${columnsOf(order)} FROM ${way.from.text} WHERE ${all.text}${limit}`;
    for (const row of session.sql.all<Row>(text, [...way.from.values, ...all.values])) {
      rows.push(keyRow(session, plan, row));
    }
    budget?.expect(rows.length);
  }
  const sortable = budget === undefined ? rows : withSortValues(session, plan, rows, order, budget);
  const wanted = after === undefined ? sortable : sortable.filter((row) => order.compare(row, after) > 0);
  return wanted.sort(order.compare);
}

function withSortValues(
  { sql }: Session,
  { conditions }: TypePlan,
  rows: readonly KeyRow[],
  order: RowOrder,
  budget: BodyBudget,
): KeyRow[] {
  const paths = documentPaths(order.paths);
  return rows.flatMap((row) => {
    const [raw] = sql.first<[Uint8Array]>('SELECT raw FROM body WHERE id = ?', [row.id])!;
    budget.read(raw.byteLength);
    if (conditions.recheck?.(raw, matchKey(row)) === false) return [];
    const sort = readDocument(raw, paths).map(([first]) => sortValue(first));
    return [{ ...row, sort }];
  });
}

/** A row as a matcher wants to know where it stands. */
export function matchKey({ type, place, name }: KeyRow): RowKey {
  return { cluster: place.incarnation.cluster, type, namespace: place.namespace, name };
}

/** Rows that are already there. */
export function sortedWalk(rows: readonly KeyRow[]): Walk {
  let at = 0;
  return {
    next: (_session, _plan, want) => {
      if (at >= rows.length) return undefined;
      const page = rows.slice(at, at + want);
      at += page.length;
      return page;
    },
  };
}

/** Whether an order can be followed without looking at all rows, and how. */
export function walkOf(order: RowOrder): 'places' | Column | undefined {
  if (order.paths.length > 0) return undefined;
  const [first, second] = order.keys.map(({ by }) => by);
  if (first === 'name') return 'name';
  if (first === 'created_at') return 'created';
  if (first === 'resource_version') return 'rv';
  const isOfPlaces = (by: SortKey['by'] | undefined): boolean => by === 'cluster' || by === 'namespace';
  return isOfPlaces(first) && isOfPlaces(second) ? 'places' : undefined;
}

/** A column that rows can be read in the order of. */
export type Column = 'name' | 'created' | 'rv';

/** How a column is read in order. A resourceVersion has no index: SQLite keeps the first of them while it reads all. */
const columnReads: Readonly<Record<Column, { readonly index: string; readonly keys: readonly string[] }>> = {
  name: { index: 'obj_name', keys: ['o.name'] },
  created: { index: 'obj_created', keys: ['o.created'] },
  // Decimals: the longer is the larger.
  rv: { index: 'obj_key', keys: ['length(o.rv)', 'o.rv'] },
};

/** Along a column: whole groups of equal ones. */
export function columnWalk(column: Column, order: RowOrder, after: KeyRow | undefined): Walk {
  const { direction } = order.keys[0]!;
  const compare = direction === 1 ? '>' : '<';
  const { index, keys } = columnReads[column];
  const isAsc = direction === 1;
  const orderBy = keys.map((key) => `${key} ${isAsc ? 'ASC' : 'DESC'}`).join(', ');
  const valuesOf = (value: string | number): readonly (string | number)[] =>
    column === 'rv' ? [String(value).length, value] : [value];
  let from: { readonly value: string | number; readonly isAfter: boolean } | undefined =
    after === undefined ? undefined : { value: after[column], isAfter: false };
  let isOver = false;
  const whereFrom = (plan: TypePlan, start: readonly Piece[]): Piece => {
    const member = inExtent(plan.extent, 'o');
    return whereOf([
      { text: 'o.t = ?', values: [plan.extent.t] },
      ...start,
      ...(member === undefined ? [] : [member]),
      ...plan.conditions.pieces,
    ]);
  };
  const startAt = (operator: string, value: string | number): Piece => ({
    text: `(${keys.join(', ')}) ${operator} (${keys.map(() => '?').join(', ')})`,
    values: valuesOf(value),
  });
  return {
    skip: (session, plan, count) => {
      if (column === 'rv') return 0;
      const passed = passInMemory(session, plan, order, count);
      if (passed !== undefined) {
        if (passed.created === undefined) isOver = true;
        else from = { value: passed.created, isAfter: false };
        return passed.before;
      }
      const all = whereFrom(plan, []);
      const rows = `FROM obj o INDEXED BY ${index} WHERE`;
      const text = `SELECT o.${column} ${rows} ${all.text} ORDER BY ${orderBy} LIMIT 1 OFFSET ?`;
      const found = session.sql.first<[string | number]>(text, [...all.values, count]);
      if (found === undefined) return 0;
      const before = whereFrom(plan, [startAt(isAsc ? '<' : '>', found[0])]);
      from = { value: found[0], isAfter: false };
      return session.sql.first<[number]>(`SELECT count(*) ${rows} ${before.text}`, before.values)![0];
    },
    next: (session, plan, want) => {
      if (isOver) return undefined;
      const start = from === undefined ? [] : [startAt(`${compare}${from.isAfter ? '' : '='}`, from.value)];
      const where = whereFrom(plan, start);
      const text = `SELECT ${columnsOf(order)} FROM obj o INDEXED BY ${index} WHERE ${where.text} ORDER BY ${orderBy} LIMIT ?`;
      for (let limit = want + 16; ; limit *= 4) {
        const rows = session.sql.all<Row>(text, [...where.values, limit]).map((row) => keyRow(session, plan, row));
        const last = rows.at(-1);
        // The last group may go on beyond the limit.
        const whole = rows.length < limit ? rows : rows.filter((row) => row[column] !== last![column]);
        if (whole.length === 0 && rows.length === limit) continue;
        isOver = rows.length < limit;
        if (whole.length > 0) from = { value: whole.at(-1)![column], isAfter: true };
        const wanted = after === undefined ? whole : whole.filter((row) => order.compare(row, after) > 0);
        return wanted.sort(order.compare);
      }
    },
  };
}

/** Places that are read by one statement at first, and at most. */
const firstBatch = 4;
const mostInBatch = 256;
/** A statement that takes longer is followed by one over fewer places. */
const batchMs = 3;

/** Place by place, in the order of clusters and namespaces. */
export function placeWalk(order: RowOrder, after: KeyRow | undefined): Walk {
  const [, , third] = order.keys;
  const isByName = third!.by === 'name';
  const direction = third!.direction;
  let places: Iterator<Place> | undefined;
  let queue: readonly Place[] = [];
  let batch = firstBatch;
  let from: NameRange['from'];
  let isFirst = after !== undefined;
  /** As many rows of the places in the queue as are wanted. */
  const readBatch = (session: Session, plan: TypePlan, want: number): readonly KeyRow[] => {
    const startedMs = performance.now();
    const rows = rowsOfPlaces(session, plan, order, queue, want + 1);
    batch = performance.now() - startedMs < batchMs ? Math.min(batch * 2, mostInBatch) : Math.max(1, batch >> 1);
    const last = rows.length > want ? rows.at(-1)! : undefined;
    queue = last === undefined ? [] : queue.slice(queue.indexOf(last.place));
    if (last !== undefined) from = { name: last.name, isAfter: true };
    return rows;
  };
  const readOne = (session: Session, plan: TypePlan, place: Place, want: number): readonly KeyRow[] => {
    const isAfterPlace = isFirst && samePlace(place, after!);
    // Another type may have an object of the same name that comes later.
    if (isAfterPlace && isByName) from ??= { name: after!.name, isAfter: false };
    const limit = want + 1;
    const found = rowsOfPlace(session, plan, order, place, isByName ? { direction, from, limit } : undefined);
    if (isByName && found.length === limit) from = { name: found.at(-1)!.name, isAfter: true };
    else {
      queue = queue.slice(1);
      from = undefined;
      isFirst = false;
    }
    const wanted = isAfterPlace ? found.filter((row) => order.compare(row, after!) > 0) : found;
    return isByName ? wanted : wanted.sort(order.compare);
  };
  return {
    next: (session, plan, want) => {
      places ??= placesInOrder(session, plan, order, after);
      const rows: KeyRow[] = [];
      const untilMs = performance.now() + atOnceMs;
      while (rows.length < want && performance.now() < untilMs) {
        if (queue.length === 0) queue = take(places, batch);
        const [place] = queue;
        if (place === undefined) return rows.length === 0 ? undefined : rows;
        const isPlain = isByName && direction === 1 && from === undefined && !(isFirst && samePlace(place, after!));
        const left = want - rows.length;
        rows.push(...(isPlain ? readBatch(session, plan, left) : readOne(session, plan, place, left)));
      }
      return rows;
    },
  };
}

function take(places: Iterator<Place>, count: number): readonly Place[] {
  const taken: Place[] = [];
  while (taken.length < count) {
    const next = places.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
}

function samePlace(place: Place, { place: other }: KeyRow): boolean {
  return place.incarnation.id === other.incarnation.id && place.namespace === other.namespace;
}

interface NameRange {
  readonly direction: 1 | -1;
  /** Undefined: from the first name. */
  readonly from: { readonly name: string; readonly isAfter: boolean } | undefined;
  readonly limit: number;
}

/** In the order of the places and by name: the statement reads them so, there is nothing to sort. */
function rowsOfPlaces(
  session: Session,
  plan: TypePlan,
  order: RowOrder,
  places: readonly Place[],
  limit: number,
): readonly KeyRow[] {
  const where = whereOf(plan.conditions.pieces);
  const text = `SELECT ${columnsOf(order)} FROM json_each(?) j CROSS JOIN obj o INDEXED BY obj_key
    ON o.t = ? AND o.place = j.value WHERE ${where.text} LIMIT ?`;
  const numbers = JSON.stringify(places.map(({ number }) => number));
  return session.sql
    .all<Row>(text, [numbers, plan.extent.t, ...where.values, limit])
    .map((row) => keyRow(session, plan, row));
}

function rowsOfPlace(
  session: Session,
  plan: TypePlan,
  order: RowOrder,
  place: Place,
  range: NameRange | undefined,
): KeyRow[] {
  const { t } = plan.extent;
  const after: readonly Piece[] =
    range?.from === undefined
      ? []
      : [
          {
            text: `o.name ${range.direction === 1 ? '>' : '<'}${range.from.isAfter ? '' : '='} ?`,
            values: [range.from.name],
          },
        ];
  const where = whereOf([
    { text: 'o.t = ? AND o.place = ?', values: [t, place.number] },
    ...after,
    ...plan.conditions.pieces,
  ]);
  const text = `SELECT ${columnsOf(order)} FROM obj o INDEXED BY obj_key WHERE ${where.text}`;
  const values = [...where.values];
  const rows =
    range === undefined
      ? session.sql.all<Row>(text, values)
      : session.sql.all<Row>(`${text} ORDER BY o.name ${range.direction === 1 ? 'ASC' : 'DESC'} LIMIT ?`, [
          ...values,
          range.limit,
        ]);
  return rows.map((row) => keyRow(session, plan, row));
}

/** Places that have rows of the type, from that of `after` on; the extent's single objects are not among them. */
function placesInOrder(session: Session, plan: TypePlan, order: RowOrder, after: KeyRow | undefined): Iterator<Place> {
  const [first, second] = order.keys as readonly [SortKey, SortKey];
  const by = ({ by: column, direction }: SortKey) =>
    column === 'cluster'
      ? (one: Place, other: Place) => direction * comparePlaceClusters(one, other)
      : (one: Place, other: Place) => direction * compareText(one.namespace, other.namespace);
  const byFirst = by(first);
  const bySecond = by(second);
  const compare = (one: Place, other: Place): number => byFirst(one, other) || bySecond(one, other);
  const isWanted = (place: Place): boolean => after === undefined || compare(place, after.place) >= 0;
  const catalog = session.catalog;
  if (first.by === 'cluster') {
    return perIncarnation(session, plan, { byFirst, compare, isWanted, ascending: second.direction === 1 });
  }
  const numbers = plan.extent.incarnations.flatMap((number) => [...catalog.placesOf.get(number)!.values()]);
  const places = [...numbers.filter(({ number }) => !plan.extent.except.has(number)), ...listed(catalog, plan)];
  return places.filter(isWanted).sort(compare)[Symbol.iterator]();
}

function listed(catalog: Catalog, { extent }: TypePlan): readonly Place[] {
  return extent.places.map((number) => catalog.place(number));
}

interface PlaceOrder {
  readonly byFirst: (one: Place, other: Place) => number;
  readonly compare: (one: Place, other: Place) => number;
  readonly isWanted: (place: Place) => boolean;
  /** By namespace within a cluster. */
  readonly ascending: boolean;
}

/** One incarnation's places are read when the walk comes to it. */
function* perIncarnation(
  session: Session,
  plan: TypePlan,
  { byFirst, compare, isWanted, ascending }: PlaceOrder,
): Generator<Place> {
  const { catalog, sql } = session;
  const { t, incarnations, except } = plan.extent;
  const single = Map.groupBy(listed(catalog, plan), ({ number }) => incarnationOf(number));
  const heads = [
    ...incarnations.map((number) => catalog.placesOf.get(number)!.values().next().value),
    ...[...single.values()].map(([place]) => place),
  ].filter((place) => place !== undefined);
  for (const head of heads.sort(byFirst)) {
    const number = head.incarnation.number;
    const listedHere = single.get(number);
    if (listedHere === undefined) yield* wholeIncarnation(number);
    else yield* listedHere.filter((place) => isWanted(place)).sort(compare);
  }
  /** Most questions are answered from the first places, so which of the others have rows is looked up once they are needed. */
  function* wholeIncarnation(number: number): Generator<Place> {
    const inOrder = ascending ? catalog.inOrder(number) : catalog.inOrder(number).toReversed();
    const wanted = inOrder.filter((place) => !except.has(place.number) && isWanted(place));
    yield* wanted.slice(0, firstBatch);
    if (wanted.length <= firstBatch) return;
    const withRows = nonEmpty(number);
    for (const place of wanted.slice(firstBatch)) if (withRows.has(place.number)) yield place;
  }
  function nonEmpty(number: number): ReadonlySet<number> {
    const start = number * placesPerIncarnation;
    const rows = sql.all<[number]>('SELECT place FROM counter WHERE t = ? AND place BETWEEN ? AND ?', [
      t,
      start,
      start + placesPerIncarnation - 1,
    ]);
    return new Set(rows.map(([place]) => place));
  }
}
