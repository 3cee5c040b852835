// A scan that reads rows incarnation by incarnation (a cluster from its creation until it is recreated): all rows, or
// those that have a certain term (label or indexed value). So the first page of rows sorted by cluster reads only the
// first clusters. All rows of one incarnation are read and sorted before the next one is begun.
import { incarnationOf, type SlotRow } from '../tables/catalog.ts';
import { compareSlotClusters, type KeyRow, type RowOrder } from '../../row-order.ts';
import type { Session, TypePlan } from '../session/session.ts';
import { rowsOfIncarnation, termsInIncarnation } from './sources.ts';
import { atOnceMs, collect, type Scan } from './scans.ts';

/** Whether rows in this order are grouped by incarnation. */
export function isByIncarnation({ keys, paths }: RowOrder): boolean {
  return keys[0]!.by === 'cluster' && paths.length === 0;
}

/** The incarnations in which the plan has complete namespaces, and not only objects granted by name. */
export function incarnationsOf({ extent }: TypePlan): readonly number[] {
  return [...new Set([...extent.incarnations, ...extent.slots.map(incarnationOf)])];
}

/**
 * Makes a scan that reads one incarnation after the other.
 * @param after the scan begins after this row; undefined: at the first row
 * @param isByTerms true when rows are found through the plan's condition on terms
 */
export function incarnationScan(order: RowOrder, after: KeyRow | undefined, isByTerms: boolean): Scan {
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
        // Without `best`, the last row with the term was deleted after the scan began, so no row is left to read.
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
