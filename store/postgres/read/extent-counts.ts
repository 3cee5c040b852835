// Counts the rows that a user may see from the stored counters, without reading rows.
import { partsOf, type Extent } from './extents.ts';
import { selectRows } from './plans.ts';
import type { Snapshot } from './snapshot.ts';

/** The number of rows in the extents of these plans: the rows of each type that the query may examine. */
export async function countExtents(snapshot: Snapshot, plans: readonly { readonly extent: Extent }[]): Promise<number> {
  let sum = 0;
  for (const { extent } of plans) sum += await countExtent(snapshot, extent);
  return sum;
}

/**
 * The number of rows in an extent (the rows of one type that the query may examine): the sum of the stored counters,
 * plus the rows granted by name.
 */
export async function countExtent(snapshot: Snapshot, extent: Extent): Promise<number> {
  const { text, values } = selectRows('o.n', partsOf(snapshot, extent, 'counter'));
  const sum = { text: `SELECT coalesce(sum(o.n), 0)::int8 FROM (${text}) o`, values };
  const [[n] = [0]] = isWithoutParts(extent) ? [[0] as const] : await snapshot.rows<readonly [number]>(sum);
  return n + extent.singles.length;
}

/** Whether the query may examine only rows granted by name, and no whole namespace or cluster. */
export function isWithoutParts({ whole, places }: Extent): boolean {
  return whole.length === 0 && places.length === 0;
}
