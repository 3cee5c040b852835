// A scan that reads rows by namespace slot (a namespace of one cluster), in the order of clusters and namespaces. Most
// pages are read like this. One statement reads several slots: that halves the CPU time of a page of 50 rows for users
// with 3,000 namespaces, from 1.4 to 0.7 ms (docs/performance.md). When a slot holds more rows than are wanted at a
// time, the scan continues within the slot in the next transaction.
import { incarnationOf, type Catalog, type NamespaceSlot, type SlotRow } from '../tables/catalog.ts';
import { compareText } from '../../../lib/text/compare-text.ts';
import { compareSlotClusters, type KeyRow, type RowOrder, type RowPlace, type SortKey } from '../../row-order.ts';
import { slotsPerIncarnation } from '../tables/schema.ts';
import type { Session, TypePlan } from '../session/session.ts';
import { allHold } from '../../sql/sql-fragment.ts';
import type { SqlFragment } from '../tables/sql.ts';
import { atOnceMs, columnsOf, keyRow, type KeyColumns, type Scan } from './scans.ts';

/**
 * How many namespace slots (a namespace of one cluster) one statement reads: at first (`firstBatch`), and at most
 * (`mostInBatch`).
 */
const firstBatch = 4;
const mostInBatch = 256;
/** When a statement takes more milliseconds than this, the next statement reads half as many namespace slots. */
const batchMs = 3;

/**
 * Makes a scan for rows sorted by cluster and namespace.
 * @param after the scan begins after this row
 */
export function slotScan(order: RowOrder, after: KeyRow | undefined): Scan {
  const [, , third] = order.keys;
  const isByName = third!.by === 'name';
  const direction = third!.direction;
  let slots: Iterator<NamespaceSlot> | undefined;
  let queue: readonly NamespaceSlot[] = [];
  let batch = firstBatch;
  let from: NameRange['from'];
  let isFirst = after !== undefined;
  /** Reads rows of the queued slots with one statement: at least as many as are wanted, if the slots have them. */
  const readBatch = (session: Session, plan: TypePlan, want: number): readonly SlotRow[] => {
    const startedMs = performance.now();
    const rows = rowsOfSlots(session, plan, order, queue, want + 1);
    batch = performance.now() - startedMs < batchMs ? Math.min(batch * 2, mostInBatch) : Math.max(1, batch >> 1);
    const last = rows.length > want ? rows.at(-1)! : undefined;
    queue = last === undefined ? [] : queue.slice(queue.indexOf(last.slot));
    if (last !== undefined) from = { name: last.name, isAfter: true };
    return rows;
  };
  const readOne = (session: Session, plan: TypePlan, slot: NamespaceSlot, want: number): readonly SlotRow[] => {
    const isAfterSlot = isFirst && sameSlot(slot, after!);
    // The last row of the previous page may have the same name as rows of other types, which come after it. So the scan
    // begins at this name, not behind it.
    if (isAfterSlot && isByName) from ??= { name: after!.name, isAfter: false };
    const limit = want + 1;
    const found = rowsOfSlot(session, plan, order, slot, isByName ? { direction, from, limit } : undefined);
    if (isByName && found.length === limit) from = { name: found.at(-1)!.name, isAfter: true };
    else {
      queue = queue.slice(1);
      from = undefined;
      isFirst = false;
    }
    const wanted = isAfterSlot ? found.filter((row) => order.compare(row, after!) > 0) : found;
    return isByName ? wanted : wanted.sort(order.compare);
  };
  return {
    next: (session, plan, want) => {
      slots ??= slotsInOrder(session, plan, order, after);
      const rows: SlotRow[] = [];
      const untilMs = performance.now() + atOnceMs;
      while (rows.length < want && performance.now() < untilMs) {
        if (queue.length === 0) queue = take(slots, batch);
        const [slot] = queue;
        if (slot === undefined) return rows.length === 0 ? undefined : rows;
        const isPlain = isByName && direction === 1 && from === undefined && !(isFirst && sameSlot(slot, after!));
        const left = want - rows.length;
        rows.push(...(isPlain ? readBatch(session, plan, left) : readOne(session, plan, slot, left)));
      }
      return rows;
    },
  };
}

function take(slots: Iterator<NamespaceSlot>, count: number): readonly NamespaceSlot[] {
  const taken: NamespaceSlot[] = [];
  while (taken.length < count) {
    const next = slots.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
}

function sameSlot(slot: NamespaceSlot, { slot: other }: KeyRow): boolean {
  return slot.incarnation.id === other.incarnation.id && slot.namespace === other.namespace;
}

interface NameRange {
  readonly direction: 1 | -1;
  /**
   * The name at which to begin; with `isAfter`, the first name after it. Undefined: the first name of the namespace
   * slot.
   */
  readonly from: { readonly name: string; readonly isAfter: boolean } | undefined;
  readonly limit: number;
}

/**
 * Reads rows of several namespace slots, sorted by slot and then by name. The database index obj_key has this order.
 */
function rowsOfSlots(
  session: Session,
  plan: TypePlan,
  order: RowOrder,
  slots: readonly NamespaceSlot[],
  limit: number,
): readonly SlotRow[] {
  const where = allHold(plan.conditions.fragments);
  const text = `SELECT ${columnsOf(order)} FROM json_each(?) j CROSS JOIN obj o INDEXED BY obj_key
    ON o.t = ? AND o.place = j.value WHERE ${where.text} LIMIT ?`;
  const numbers = JSON.stringify(slots.map(({ number }) => number));
  return session.sql
    .all<KeyColumns>(text, [numbers, plan.extent.t, ...where.values, limit])
    .map((row) => keyRow(session, plan, row));
}

function rowsOfSlot(
  session: Session,
  plan: TypePlan,
  order: RowOrder,
  slot: NamespaceSlot,
  range: NameRange | undefined,
): SlotRow[] {
  const { t } = plan.extent;
  const after: readonly SqlFragment[] =
    range?.from === undefined
      ? []
      : [
          {
            text: `o.name ${range.direction === 1 ? '>' : '<'}${range.from.isAfter ? '' : '='} ?`,
            values: [range.from.name],
          },
        ];
  const where = allHold([
    { text: 'o.t = ? AND o.place = ?', values: [t, slot.number] },
    ...after,
    ...plan.conditions.fragments,
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

/** The namespace slots to read, from that of the row `after` on. Objects granted by name are not included. */
function slotsInOrder(
  session: Session,
  plan: TypePlan,
  order: RowOrder,
  after: KeyRow | undefined,
): Iterator<NamespaceSlot> {
  const [first, second] = order.keys as readonly [SortKey, SortKey];
  const by = ({ by: column, direction }: SortKey) =>
    column === 'cluster'
      ? (one: RowPlace, other: RowPlace) => direction * compareSlotClusters(one, other)
      : (one: RowPlace, other: RowPlace) => direction * compareText(one.namespace, other.namespace);
  const byFirst = by(first);
  const bySecond = by(second);
  const compare = (one: RowPlace, other: RowPlace): number => byFirst(one, other) || bySecond(one, other);
  const isWanted = (slot: NamespaceSlot): boolean => after === undefined || compare(slot, after.slot) >= 0;
  const catalog = session.catalog;
  if (first.by === 'cluster') {
    const key = `${first.direction} ${second.direction}`;
    return perIncarnation(session, plan, { key, byFirst, compare, isWanted, ascending: second.direction === 1 });
  }
  const numbers = plan.extent.incarnations.flatMap((number) => [...catalog.slotsOf.get(number)!.values()]);
  const slots = [...numbers.filter(({ number }) => !plan.extent.except.has(number)), ...listed(catalog, plan)];
  return slots.filter(isWanted).sort(compare)[Symbol.iterator]();
}

function listed(catalog: Catalog, { extent }: TypePlan): readonly NamespaceSlot[] {
  return extent.slots.map((number) => catalog.slot(number));
}

/** An incarnation (a cluster from its creation until it is recreated) that the scan reads. */
interface Stop {
  readonly incarnation: number;
  /** Numbers of the namespace slots to read, in order; undefined for all namespaces of the incarnation. */
  readonly listed: readonly number[] | undefined;
}

/**
 * Cached results of {@link stopsOf}, by the list of namespace slots that the user may see, and then by sort direction.
 * The list is the same array for all questions of a user about the same namespaces.
 */
const knownStops = new WeakMap<readonly number[], Map<string, readonly Stop[]>>();

function stopsOf({ catalog }: Session, plan: TypePlan, { key, byFirst, compare }: SlotOrder): readonly Stop[] {
  const { incarnations, slots } = plan.extent;
  const known = knownStops.get(slots) ?? new Map<string, readonly Stop[]>();
  knownStops.set(slots, known);
  let stops = known.get(key);
  if (stops === undefined) {
    const single = Map.groupBy(listed(catalog, plan), ({ number }) => incarnationOf(number));
    const heads = [
      ...incarnations.map((number) => catalog.slotsOf.get(number)!.values().next().value),
      ...[...single.values()].map(([slot]) => slot),
    ].filter((slot) => slot !== undefined);
    stops = heads.sort(byFirst).map(({ incarnation: { number } }) => ({
      incarnation: number,
      listed: single
        .get(number)
        ?.sort(compare)
        .map((slot) => slot.number),
    }));
    known.set(key, stops);
  }
  return stops;
}

interface SlotOrder {
  /** Both sort directions as a text: the inner key of {@link knownStops}. */
  readonly key: string;
  readonly byFirst: (one: NamespaceSlot, other: NamespaceSlot) => number;
  readonly compare: (one: NamespaceSlot, other: NamespaceSlot) => number;
  readonly isWanted: (slot: NamespaceSlot) => boolean;
  /** Whether namespaces are in ascending order within a cluster. */
  readonly ascending: boolean;
}

/**
 * Gives the namespace slots one incarnation after the other. The slots of an incarnation are looked up when the scan
 * reaches it.
 */
function* perIncarnation(session: Session, plan: TypePlan, order: SlotOrder): Generator<NamespaceSlot> {
  const { catalog, sql } = session;
  const { t, except } = plan.extent;
  const { isWanted, ascending } = order;
  for (const { incarnation, listed: listedHere } of stopsOf(session, plan, order)) {
    if (listedHere === undefined) yield* wholeIncarnation(incarnation);
    else yield* listedHere.map((number) => catalog.slot(number)).filter((slot) => isWanted(slot));
  }
  /**
   * Gives the slots of an incarnation of which all namespaces are wanted. The first slots answer most questions. Only
   * after these is it looked up which of the other slots have rows.
   */
  function* wholeIncarnation(number: number): Generator<NamespaceSlot> {
    const inOrder = ascending ? catalog.inOrder(number) : catalog.inOrder(number).toReversed();
    const wanted = inOrder.filter((slot) => !except.has(slot.number) && isWanted(slot));
    yield* wanted.slice(0, firstBatch);
    if (wanted.length <= firstBatch) return;
    const withRows = nonEmpty(number);
    for (const slot of wanted.slice(firstBatch)) if (withRows.has(slot.number)) yield slot;
  }
  function nonEmpty(number: number): ReadonlySet<number> {
    const start = number * slotsPerIncarnation;
    const rows = sql.all<[number]>('SELECT place FROM counter WHERE t = ? AND place BETWEEN ? AND ?', [
      t,
      start,
      start + slotsPerIncarnation - 1,
    ]);
    return new Set(rows.map(([slot]) => slot));
  }
}
