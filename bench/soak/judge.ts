// What a cycle of the soak must leave behind: the same as the cycle before it. A slope through few points is mostly
// noise, so it is the median of all pairs (Theil-Sen), which one odd cycle does not move.
import type { Holdings } from '../../test/faults/witness.ts';

/** One cycle and what was held when it was over. */
export interface CycleRecord {
  readonly cycle: number;
  readonly holdings: Holdings;
  readonly streams: number;
}

/**
 * Sockets and descriptors that may differ from one idle moment to another: a probe of a member may be under way, and a
 * connection pool is either there for it or not.
 */
const probeSlack = 3;

/** What is held beyond the reference, in words; none when nothing is. */
export function handleFaults(reference: Holdings, found: Holdings, streams: number): readonly string[] {
  const faults = (['sockets', 'timers', 'descriptors'] as const)
    .filter((what) => found[what] > reference[what] + probeSlack)
    .map((what) => `${what}: ${reference[what]} -> ${found[what]}`);
  return streams === 0 ? faults : [...faults, `${streams} streams are open`];
}

/**
 * Growth from one value to the next as a share of the first, by the median slope of all pairs. @param values two at
 * least
 */
export function growthPerCycle(values: readonly number[]): number {
  const slopes: number[] = [];
  for (let from = 0; from < values.length; from++)
    for (let to = from + 1; to < values.length; to++) slopes.push((values[to]! - values[from]!) / (to - from));
  const sorted = slopes.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const slope = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return slope / values[0]!;
}
