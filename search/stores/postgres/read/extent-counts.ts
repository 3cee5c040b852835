// Rows of what a user may see, by the counters alone.
import { partsOf, type Extent } from './extents.ts';
import { selectRows } from './plans.ts';
import type { Snapshot } from './snapshot.ts';

/** Rows of the extents of some plans. */
export async function countExtents(snapshot: Snapshot, plans: readonly { readonly extent: Extent }[]): Promise<number> {
  let sum = 0;
  for (const { extent } of plans) sum += await countExtent(snapshot, extent);
  return sum;
}

/** By the counters, and single rows by themselves. */
export async function countExtent(snapshot: Snapshot, extent: Extent): Promise<number> {
  const { text, values } = selectRows('o.n', partsOf(snapshot, extent, 'counter'));
  const sum = { text: `SELECT coalesce(sum(o.n), 0)::int8 FROM (${text}) o`, values };
  const [[n] = [0]] = isWithoutParts(extent) ? [[0] as const] : await snapshot.rows<readonly [number]>(sum);
  return n + extent.singles.length;
}

/** Whether there is nothing but single rows. */
export function isWithoutParts({ whole, places }: Extent): boolean {
  return whole.length === 0 && places.length === 0;
}
