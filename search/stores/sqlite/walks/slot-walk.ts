// Reads rows namespace slot by namespace slot, in the order of clusters and namespaces. Most pages are read like this.
// One statement reads several slots: that halves the CPU time of a page of 50 rows for users with 3,000 namespaces,
// from 1.4 to 0.7 ms (docs/performance.md). A slot can hold more rows than are wanted at a time. The walk then
// continues within it in the next transaction.
import { incarnationOf, type Catalog, type NamespaceSlot, type SlotRow } from '../catalog.ts';
import { compareText } from '../../text-order.ts';
import { compareSlotClusters, type KeyRow, type RowOrder, type RowPlace, type SortKey } from '../../row-order.ts';
import { slotsPerIncarnation } from '../schema.ts';
import { whereOf, type Session, type TypePlan } from '../session.ts';
import type { Piece } from '../sql.ts';
import { atOnceMs, columnsOf, keyRow, type KeyColumns, type Walk } from './walks.ts';

/** How many slots one statement reads: at first, and at most. */
const firstBatch = 4;
const mostInBatch = 256;
/** When a statement takes longer than this, the next one reads fewer slots. */
const batchMs = 3;

/** A walk over the slots of an order by cluster and namespace. */
export function slotWalk(order: RowOrder, after: KeyRow | undefined): Walk {
  const [, , third] = order.keys;
  const isByName = third!.by === 'name';
  const direction = third!.direction;
  let slots: Iterator<NamespaceSlot> | undefined;
  let queue: readonly NamespaceSlot[] = [];
  let batch = firstBatch;
  let from: NameRange['from'];
  let isFirst = after !== undefined;
  /** Reads rows of the queued slots with one statement, until as many are found as are wanted. */
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
    // The object may exist with the same name in another type that comes later in the order, so its name is included.
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
  /** The name at which to begin; undefined means the first name. */
  readonly from: { readonly name: string; readonly isAfter: boolean } | undefined;
  readonly limit: number;
}

/** Rows of several slots, in the order of the slots and by name. This is the order of the index obj_key. */
function rowsOfSlots(
  session: Session,
  plan: TypePlan,
  order: RowOrder,
  slots: readonly NamespaceSlot[],
  limit: number,
): readonly SlotRow[] {
  const where = whereOf(plan.conditions.pieces);
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
    { text: 'o.t = ? AND o.place = ?', values: [t, slot.number] },
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

/** The slots that have rows of the type, from the slot of `after` on. Objects granted by name are not included. */
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

/** One incarnation, as a part of a walk. */
interface Stop {
  readonly incarnation: number;
  /** Numbers of the incarnation's slots in order; undefined means all slots. */
  readonly listed: readonly number[] | undefined;
}

/**
 * Remembered results of {@link stopsOf}, by the extent's list of slots and then by direction. The list is the same
 * array for all questions of a user about the same slots.
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
  /** Both directions as a text: the inner key of {@link knownStops}. */
  readonly key: string;
  readonly byFirst: (one: NamespaceSlot, other: NamespaceSlot) => number;
  readonly compare: (one: NamespaceSlot, other: NamespaceSlot) => number;
  readonly isWanted: (slot: NamespaceSlot) => boolean;
  /** Whether namespaces ascend within a cluster. */
  readonly ascending: boolean;
}

/** Gives the slots incarnation by incarnation. The slots of one are looked up only when the walk reaches it. */
function* perIncarnation(session: Session, plan: TypePlan, order: SlotOrder): Generator<NamespaceSlot> {
  const { catalog, sql } = session;
  const { t, except } = plan.extent;
  const { isWanted, ascending } = order;
  for (const { incarnation, listed: listedHere } of stopsOf(session, plan, order)) {
    if (listedHere === undefined) yield* wholeIncarnation(incarnation);
    else yield* listedHere.map((number) => catalog.slot(number)).filter((slot) => isWanted(slot));
  }
  /**
   * Slots of an incarnation of which all namespaces are wanted. Most questions are answered from the first slots; only
   * after them is it looked up which other slots have rows.
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
