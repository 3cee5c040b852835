// Rows incarnation by incarnation, all or those that have a term, so that the first page of an order by cluster looks
// only at the first clusters' rows. The rows of one incarnation are all read before they are sorted, and the next is
// not begun while there are enough.
import { incarnationOf, type SlotRow } from '../catalog.ts';
import { compareSlotClusters, type KeyRow, type RowOrder } from '../../row-order.ts';
import type { Session, TypePlan } from '../session.ts';
import { rowsOfIncarnation, termsInIncarnation } from '../read/sources.ts';
import { atOnceMs, collect, type Walk } from './walks.ts';

/** Whether an order takes one incarnation after the other. */
export function isByIncarnation({ keys, paths }: RowOrder): boolean {
  return keys[0]!.by === 'cluster' && paths.length === 0;
}

/** Incarnations in which an extent has more than single objects. */
export function incarnationsOf({ extent }: TypePlan): readonly number[] {
  return [...new Set([...extent.incarnations, ...extent.slots.map(incarnationOf)])];
}

/** @param isByTerms the plan has a condition on terms, by which rows are found */
export function incarnationWalk(order: RowOrder, after: KeyRow | undefined, isByTerms: boolean): Walk {
  let left: readonly number[] | undefined;
  return {
    next: (session, plan, want) => {
      left ??= inOrder(session, plan, order, after);
      const rows: SlotRow[] = [];
      const untilMs = performance.now() + atOnceMs;
      while (rows.length < want && performance.now() < untilMs) {
        const [incarnation] = left;
        if (incarnation === undefined) return rows.length === 0 ? undefined : rows;
        left = left.slice(1);
        const { best } = plan.conditions;
        // All rows with the term have gone since the walk began.
        if (isByTerms && best === undefined) continue;
        const access =
          isByTerms && best !== undefined
            ? termsInIncarnation(plan, best, incarnation)
            : rowsOfIncarnation(plan, incarnation);
        rows.push(...collect(session, plan, access, order, after));
      }
      return rows;
    },
  };
}

function inOrder({ catalog }: Session, plan: TypePlan, order: RowOrder, after: KeyRow | undefined): readonly number[] {
  const { direction } = order.keys[0]!;
  return incarnationsOf(plan)
    .flatMap((number) => catalog.slotsOf.get(number)!.values().next().value ?? [])
    .filter((slot) => after === undefined || direction * compareSlotClusters(slot, after.slot) >= 0)
    .sort((one, other) => direction * compareSlotClusters(one, other))
    .map(({ incarnation }) => incarnation.number);
}
