// Rows place by place, in the order of clusters and namespaces: what most questions are answered by. Easy to get wrong:
// a place may hold more rows than are wanted at a time, and the walk goes on within it in the next transaction.
import { incarnationOf, type Catalog, type Place } from '../catalog.ts';
import { compareText } from '../text-order.ts';
import { comparePlaceClusters, type KeyRow, type RowOrder, type SortKey } from '../read/order.ts';
import { placesPerIncarnation } from '../schema.ts';
import { whereOf, type Session, type TypePlan } from '../session.ts';
import type { Piece } from '../sql.ts';
import { atOnceMs, columnsOf, keyRow, type KeyColumns, type Walk } from './walks.ts';

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
    .all<KeyColumns>(text, [numbers, plan.extent.t, ...where.values, limit])
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
      ? session.sql.all<KeyColumns>(text, values)
      : session.sql.all<KeyColumns>(`${text} ORDER BY o.name ${range.direction === 1 ? 'ASC' : 'DESC'} LIMIT ?`, [
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
    const key = `${first.direction} ${second.direction}`;
    return perIncarnation(session, plan, { key, byFirst, compare, isWanted, ascending: second.direction === 1 });
  }
  const numbers = plan.extent.incarnations.flatMap((number) => [...catalog.placesOf.get(number)!.values()]);
  const places = [...numbers.filter(({ number }) => !plan.extent.except.has(number)), ...listed(catalog, plan)];
  return places.filter(isWanted).sort(compare)[Symbol.iterator]();
}

function listed(catalog: Catalog, { extent }: TypePlan): readonly Place[] {
  return extent.places.map((number) => catalog.place(number));
}

/** An incarnation a walk comes to. */
interface Stop {
  readonly incarnation: number;
  /** Numbers of its places, in order; undefined for all. */
  readonly listed: readonly number[] | undefined;
}

/**
 * By the list of places of an extent, which is one array for all questions of a user about the same places, then by
 * direction.
 */
const knownStops = new WeakMap<readonly number[], Map<string, readonly Stop[]>>();

function stopsOf({ catalog }: Session, plan: TypePlan, { key, byFirst, compare }: PlaceOrder): readonly Stop[] {
  const { incarnations, places } = plan.extent;
  const known = knownStops.get(places) ?? new Map<string, readonly Stop[]>();
  knownStops.set(places, known);
  let stops = known.get(key);
  if (stops === undefined) {
    const single = Map.groupBy(listed(catalog, plan), ({ number }) => incarnationOf(number));
    const heads = [
      ...incarnations.map((number) => catalog.placesOf.get(number)!.values().next().value),
      ...[...single.values()].map(([place]) => place),
    ].filter((place) => place !== undefined);
    stops = heads.sort(byFirst).map(({ incarnation: { number } }) => ({
      incarnation: number,
      listed: single
        .get(number)
        ?.sort(compare)
        .map((place) => place.number),
    }));
    known.set(key, stops);
  }
  return stops;
}

interface PlaceOrder {
  /** Says both directions. */
  readonly key: string;
  readonly byFirst: (one: Place, other: Place) => number;
  readonly compare: (one: Place, other: Place) => number;
  readonly isWanted: (place: Place) => boolean;
  /** By namespace within a cluster. */
  readonly ascending: boolean;
}

/** One incarnation's places are read when the walk comes to it. */
function* perIncarnation(session: Session, plan: TypePlan, order: PlaceOrder): Generator<Place> {
  const { catalog, sql } = session;
  const { t, except } = plan.extent;
  const { isWanted, ascending } = order;
  for (const { incarnation, listed: listedHere } of stopsOf(session, plan, order)) {
    if (listedHere === undefined) yield* wholeIncarnation(incarnation);
    else yield* listedHere.map((number) => catalog.place(number)).filter((place) => isWanted(place));
  }
  /**
   * Most questions are answered from the first places, so which of the others have rows is looked up once they are
   * needed.
   */
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
