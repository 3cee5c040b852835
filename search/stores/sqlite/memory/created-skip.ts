// Passes over the rows of a decimal offset in the created column instead of in the file; figures are in
// created-column.ts. It applies only where slots alone say which rows there are: no condition and no single object is
// in that column.
import { isExtentOnly } from '../session.ts';
import type { CreatedColumn, Passed } from './created-column.ts';
import { rowOrder, type RowOrder } from '../../row-order.ts';
import { type Turns } from '../transaction.ts';
import { planTypes, type Question, type Session, type TypePlan } from '../session.ts';

/** No column is made for a smaller offset or type. */
const leastPrepared = 100;
/** Fewer rows than this are passed over in the file. */
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

/** Whether {@link passInMemory} can pass over so many of a plan's rows. */
export function isPassedInMemory(session: Session, plan: TypePlan, order: RowOrder, count: number): boolean {
  return count >= leastPassed && columnOf(session, plan, order) !== undefined;
}

/** Passes over `count` rows; undefined when the column is not in memory. */
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
