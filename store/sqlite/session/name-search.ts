// Counts rows by parts of their names, with the names in memory (measurements are in name-column.ts). This is possible
// only when parts of names are the query's only conditions. Objects granted by name are compared one by one.
import type { NameColumn } from './name-column.ts';
import { type TimeSlices } from '../tables/transaction.ts';
import { planTypes, type Question, type Session, type TypePlan } from './session.ts';

/** For questions over fewer rows than this, names are read from the file. */
const leastRows = 1000;
/**
 * For users who see a smaller share of the type's rows, names are read from the file, because a search in memory goes
 * through the names of all rows.
 */
const leastShare = 1 / 4;

/** Brings into memory the names that {@link countByNames} searches, if the question can use them. */
export async function prepareNames(timeSlices: TimeSlices<Session>, question: Question): Promise<void> {
  if (question.query.nameContains.length === 0) return;
  const found = timeSlices.slice((session) => ({
    memory: session.memory,
    types: planTypes(session, question).flatMap((plan) => (isFit(plan, question) ? [plan.extent.t] : [])),
  }));
  for (const t of found.types) await found.memory.prepareNameColumn(timeSlices, t);
}

/**
 * The number of matching rows by slot, without slots that have none. Undefined when the names are not in memory or
 * cannot answer the question.
 */
export function countByNames(
  session: Session,
  plan: TypePlan,
  question: Question,
): ReadonlyMap<number, number> | undefined {
  const column = isFit(plan, question) ? session.memory.nameColumn(session, plan.extent.t) : undefined;
  return column === undefined ? undefined : countIn(column, session, plan, question.query.nameContains);
}

function countIn(
  column: NameColumn,
  { memory: { slots } }: Session,
  { extent }: TypePlan,
  parts: readonly string[],
): ReadonlyMap<number, number> {
  const members = slots.among(extent);
  const counts = new Uint32Array(members.length);
  column.find(parts, (number) => {
    counts[number] = counts[number]! + members[number]!;
  });
  const bySlot = new Map<number, number>();
  for (const [number, n] of counts.entries()) if (n > 0) bySlot.set(slots.slotOf(number), n);
  for (const { name, slot } of extent.singles.rows) {
    if (parts.every((part) => name.includes(part))) bySlot.set(slot.number, (bySlot.get(slot.number) ?? 0) + 1);
  }
  return bySlot;
}

function isFit({ conditions, only, extent }: TypePlan, { query }: Question): boolean {
  if (only !== undefined || !conditions.isOfNameParts || query.nameContains.includes('')) return false;
  return extent.rows >= leastRows && extent.rows >= extent.typeRows * leastShare;
}
