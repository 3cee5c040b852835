// Skips the rows before an offset in memory instead of in the file, for lists sorted by creation time (measurements are
// in created-column.ts). This is possible only when the query has no conditions and the user sees all objects of the
// namespaces concerned, and no further objects that are granted by name.
import { isExtentOnly } from './session.ts';
import type { CreatedColumn, Passed } from './created-column.ts';
import { rowOrder, type RowOrder } from '../../row-order.ts';
import { type TimeSlices } from '../tables/transaction.ts';
import { planTypes, type Question, type Session, type TypePlan } from './session.ts';

/**
 * The column of creation times is built only for an offset of at least this many rows, and when the query may examine
 * more rows than this.
 */
const leastPrepared = 100;
/** Up to this offset, the skipped rows are read from the file. */
const leastPassed = 20;

/** Builds the column of creation times that {@link passInMemory} needs, if the question can use it. */
export async function prepareSkip(timeSlices: TimeSlices<Session>, question: Question, offset: number): Promise<void> {
  if (offset < leastPrepared || !isByCreation(rowOrder(question.query))) return;
  const found = timeSlices.slice((session) => {
    const [plan, ...others] = planTypes(session, question);
    const isFit = plan !== undefined && others.length === 0 && isOfSlots(plan) && plan.extent.rows > leastPrepared;
    return isFit ? { memory: session.memory, t: plan.extent.t } : undefined;
  });
  await found?.memory.prepareCreatedColumn(timeSlices, found.t);
}

/** Whether {@link passInMemory} can skip `count` rows of a plan (the question compiled for one type). */
export function isPassedInMemory(session: Session, plan: TypePlan, order: RowOrder, count: number): boolean {
  return count >= leastPassed && columnOf(session, plan, order) !== undefined;
}

/** Skips `count` rows; undefined when the column of creation times is not in memory or cannot be used. */
export function passInMemory(session: Session, plan: TypePlan, order: RowOrder, count: number): Passed | undefined {
  if (count < leastPassed) return undefined;
  const column = columnOf(session, plan, order);
  if (column === undefined) return undefined;
  return column.at(session.memory.slots.among(plan.extent), count, order.keys[0]!.direction === 1);
}

function columnOf(session: Session, plan: TypePlan, order: RowOrder): CreatedColumn | undefined {
  if (!isByCreation(order) || !isOfSlots(plan)) return undefined;
  return session.memory.createdColumn(session, plan.extent.t);
}

function isByCreation({ keys, paths }: RowOrder): boolean {
  return keys[0]!.by === 'created_at' && paths.length === 0;
}

function isOfSlots(plan: TypePlan): boolean {
  return isExtentOnly(plan) && plan.conditions.recheck === undefined && plan.extent.ids.length === 0;
}
