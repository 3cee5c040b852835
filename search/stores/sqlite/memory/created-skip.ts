// Skips the rows of an offset in memory instead of in the file, for an order by creation time (measurements are in
// created-column.ts). It can only be used when complete slots are wanted, without conditions and without objects
// granted by name.
import { isExtentOnly } from '../session.ts';
import type { CreatedColumn, Passed } from './created-column.ts';
import { rowOrder, type RowOrder } from '../../row-order.ts';
import { type Turns } from '../transaction.ts';
import { planTypes, type Question, type Session, type TypePlan } from '../session.ts';

/** For smaller offsets or types, the column is not built. */
const leastPrepared = 100;
/** Smaller offsets are skipped in the file. */
const leastPassed = 20;

/** Builds the column that {@link passInMemory} needs. */
export async function prepareSkip(turns: Turns<Session>, question: Question, offset: number): Promise<void> {
  if (offset < leastPrepared || !isByCreation(rowOrder(question.query))) return;
  const found = turns.slice((session) => {
    const [plan, ...others] = planTypes(session, question);
    const isFit = plan !== undefined && others.length === 0 && isOfSlots(plan) && plan.extent.rows > leastPrepared;
    return isFit ? { memory: session.memory, t: plan.extent.t } : undefined;
  });
  await found?.memory.prepareCreatedColumn(turns, found.t);
}

/** Whether {@link passInMemory} can skip this many rows of a plan. */
export function isPassedInMemory(session: Session, plan: TypePlan, order: RowOrder, count: number): boolean {
  return count >= leastPassed && columnOf(session, plan, order) !== undefined;
}

/** Skips `count` rows; undefined when the column is not in memory. */
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
