// Counts the rows of a question, in total or by cluster, namespace or type. The stored counters (tables `counter` and
// `follow`) are used only where they give the same result as reading the rows.
import { allHold } from '../../sql/sql-fragment.ts';
import type { SlotRow } from '../tables/catalog.ts';
import type { BodyAllowance } from '../../body-budget.ts';
import type { NamedFacet } from '../../store.ts';
import { placeValue } from '../../value-counts.ts';
import { extentRows, rowsBySlot, type Extent } from '../session/extents.ts';
import { KeyStream } from './key-stream.ts';
import { countByNames, prepareNames } from '../session/name-search.ts';
import { sliceMs, type TimeSlices } from '../tables/transaction.ts';
import { planTypes, type Question, type Session, type TypePlan } from '../session/session.ts';
import { cheapestAccess, inSlots, isOfSingles, joined } from '../scans/sources.ts';
import { isExtentOnly } from '../session/session.ts';

/**
 * Counts the rows.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function countRows(
  timeSlices: TimeSlices<Session>,
  question: Question,
  allowance: BodyAllowance,
): Promise<number> {
  let sum = 0;
  await prepareNames(timeSlices, question);
  await eachPlan(timeSlices, question, allowance, {
    plan: (session, plan) => (sum += countPlan(session, plan, question)),
    row: () => sum++,
  });
  return sum;
}

/**
 * Counts the rows by cluster, by namespace, by both, or by type.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function countBy(
  timeSlices: TimeSlices<Session>,
  question: Question,
  allowance: BodyAllowance,
  by: NamedFacet,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const add = (value: string, n: number): unknown => counts.set(value, (counts.get(value) ?? 0) + n);
  await prepareNames(timeSlices, question);
  await eachPlan(timeSlices, question, allowance, {
    plan: (session, plan) => {
      if (by === 'type') {
        const n = countPlan(session, plan, question);
        if (n > 0) add(plan.type, n);
        return;
      }
      if (by === 'cluster' && isOfIncarnations(plan)) {
        for (const [cluster, n] of countIncarnations(session, plan.extent)) add(cluster, n);
        return;
      }
      for (const [number, n] of countSlots(session, plan, question)) {
        const slot = session.catalog.slot(number);
        if (n > 0) add(placeValue(slot.incarnation.cluster, slot.namespace, by), n);
      }
    },
    row: (_session, { type, slot }) =>
      add(by === 'type' ? type : placeValue(slot.incarnation.cluster, slot.namespace, by), 1),
  });
  return counts;
}

/**
 * Called with each plan (the question compiled for one type) or, when bodies decide which rows match, with each
 * matching row.
 */
export interface PlanVisitor {
  readonly plan: (session: Session, plan: TypePlan) => unknown;
  readonly row: (session: Session, row: SlotRow) => unknown;
}

/**
 * Calls `visitor.plan` for each plan, all in one transaction. When a plan needs bodies, calls `visitor.row` for every
 * row instead, in several transactions.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function eachPlan(
  { slice, pause }: TimeSlices<Session>,
  question: Question,
  allowance: BodyAllowance,
  visitor: PlanVisitor,
): Promise<void> {
  const isDone = slice((session) => {
    const plans = planTypes(session, question);
    if (plans.some(({ conditions }) => conditions.recheck !== undefined)) return false;
    for (const plan of plans) visitor.plan(session, plan);
    return true;
  });
  if (isDone) return;
  await eachRows({ slice, pause }, question, allowance, (session, rows) => {
    for (const row of rows) visitor.row(session, row);
  });
}

/**
 * Visits all rows, several at a time and in no particular order.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function eachRows(
  { slice, pause }: TimeSlices<Session>,
  question: Question,
  allowance: BodyAllowance,
  visit: (session: Session, rows: readonly SlotRow[]) => void,
): Promise<void> {
  const query = { ...question.query, order: [] };
  const stream = new KeyStream({ ...question, query }, undefined, { offset: 0, limit: undefined }, allowance);
  let isFirst = true;
  for (let isDone = false; !isDone;) {
    isDone = slice((session) => {
      const untilMs = performance.now() + sliceMs;
      stream.enter(session);
      if (isFirst && allowance.over !== undefined) allowance.budget.expect(leastRechecked(session, question));
      isFirst = false;
      do {
        const rows = stream.next(session);
        if (rows === undefined) return true;
        visit(session, rows);
      } while (performance.now() < untilMs);
      return false;
    });
    if (stream.cutAt !== undefined) throw allowance.budget.tooMany();
    if (!isDone) await pause();
  }
}

/** The least number of bodies that a question will read. It is compared with the budget before any body is read. */
function leastRechecked(session: Session, question: Question): number {
  const plans = planTypes(session, question).filter(
    (plan) => isExtentOnly(plan) && plan.conditions.recheck !== undefined,
  );
  return plans.reduce((sum, { extent }) => sum + extentRows(session, extent), 0);
}

/** Whether the plan consists of all rows of some incarnations. For these, table `follow` has one counter each. */
function isOfIncarnations(plan: TypePlan): boolean {
  const { except, slots, ids } = plan.extent;
  return isExtentOnly(plan) && except.size === 0 && slots.length === 0 && ids.length === 0;
}

function countIncarnations({ sql }: Session, { t, incarnationsJson }: Extent): readonly (readonly [string, number])[] {
  return sql.all<[string, number]>(
    `SELECT i.cluster, f.objects FROM json_each(?) j CROSS JOIN follow f ON f.t = ? AND f.inc = j.value
    CROSS JOIN incarnation i ON i.id = f.inc WHERE f.objects > 0`,
    [incarnationsJson, t],
  );
}

function countPlan(session: Session, plan: TypePlan, question: Question): number {
  if (isExtentOnly(plan)) return extentRows(session, plan.extent);
  const byNames = countByNames(session, plan, question);
  if (byNames !== undefined) return [...byNames.values()].reduce((sum, n) => sum + n, 0);
  const { sql } = session;
  const access = cheapestAccess(plan, question.query);
  const isOfRows = access.rest.length > 0 || !access.isOfPostings;
  const id = isOfRows ? 'o.id' : 'x.id';
  return (isOfRows ? joined(access) : access.paths).reduce((sum, { from, where, repeats }) => {
    const all = allHold([...where, ...access.rest]);
    const counted = repeats ? `count(DISTINCT ${id})` : 'count(*)';
    const text = `SELECT ${counted} FROM ${from.text} WHERE ${all.text}`;
    return sum + sql.first<[number]>(text, [...from.values, ...all.values])![0];
  }, 0);
}

function countSlots(session: Session, plan: TypePlan, question: Question): readonly (readonly [number, number])[] {
  const { extent } = plan;
  const { sql } = session;
  if (isExtentOnly(plan)) {
    const singles = extent.singles.rows.map(({ slot }) => [slot.number, 1] as const);
    if (isOfSingles(extent)) return singles;
    const member = inSlots(extent, 'x');
    if (extent.incarnations.length === 0 && extent.slots.length > 0) {
      return [...rowsBySlot(session, extent.t, extent.slots, extent.slotsJson), ...singles];
    }
    const where = allHold([{ text: 'x.t = ?', values: [extent.t] }, ...(member === undefined ? [] : [member])]);
    return [
      ...sql.all<[number, number]>(`SELECT x.place, x.n FROM counter x WHERE ${where.text}`, where.values),
      ...singles,
    ];
  }
  const byNames = countByNames(session, plan, question);
  if (byNames !== undefined) return [...byNames];
  const access = cheapestAccess(plan, question.query);
  return joined(access).flatMap(({ from, where, repeats }) => {
    const all = allHold([...where, ...access.rest]);
    const counted = repeats ? 'count(DISTINCT o.id)' : 'count(*)';
    const text = `SELECT o.place, ${counted} FROM ${from.text} WHERE ${all.text} GROUP BY o.place`;
    return sql.all<[number, number]>(text, [...from.values, ...all.values]);
  });
}
