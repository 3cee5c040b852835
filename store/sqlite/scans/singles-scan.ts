// A scan over objects that were granted by name, in the order of a query. Their keys are in memory; conditions are
// checked for as many objects as are wanted. Objects may be added and deleted between two transactions, so the scan
// continues after the last row that it gave, and not at an array position.
import type { SlotRow } from '../tables/catalog.ts';
import type { KeyRow, RowOrder } from '../../row-order.ts';
import type { SingleList } from '../session/single-rows.ts';
import { accessToSingles } from './sources.ts';
import { collect, type Scan } from './scans.ts';

const mostAtOnce = 1000;

/** Whether the order compares only columns that are in memory for these objects. */
export function isOrderOfSingles({ keys, paths }: RowOrder): boolean {
  return paths.length === 0 && keys.every(({ by }) => by !== 'resource_version');
}

/**
 * Makes a scan over the objects granted by name.
 * @param order one for which {@link isOrderOfSingles} is true
 */
export function singlesScan(order: RowOrder, after: KeyRow | undefined): Scan {
  let list: SingleList | undefined;
  let last = after;
  let at = 0;
  let chunk = 0;
  return {
    next: (session, plan, want) => {
      const { singles } = plan.extent;
      const rows = singles.inOrder(order);
      if (singles !== list) at = firstAfter(rows, order, last);
      list = singles;
      if (at >= rows.length) return undefined;
      chunk = Math.min(mostAtOnce, Math.max(want, chunk * 4));
      const some = rows.slice(at, at + chunk);
      at += some.length;
      last = some.at(-1);
      if (plan.conditions.fragments.length === 0) return some;
      return collect(session, plan, accessToSingles(plan, some), order);
    },
  };
}

function firstAfter(rows: readonly SlotRow[], { compare }: RowOrder, last: KeyRow | undefined): number {
  if (last === undefined) return 0;
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (compare(rows[middle]!, last) > 0) to = middle;
    else from = middle + 1;
  }
  return from;
}
