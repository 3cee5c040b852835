// Judges what is left after a cycle of the soak test: it must be the same as after the cycle before. A line through few
// points would be mostly noise. So the growth is the median of the slopes of all pairs of cycles (Theil-Sen), which a
// single odd cycle does not change.
import type { Holdings } from '../../test/faults/witness.ts';

/** One cycle, and what the gateway still held when it was over. */
export interface CycleRecord {
  readonly cycle: number;
  readonly holdings: Holdings;
  readonly streams: number;
}

/**
 * The numbers of sockets, timers and descriptors may be higher than in the reference by this much, because a probe may
 * be running, with or without a new connection for it.
 */
const probeSlack = 3;

/** Returns a text for each number of sockets, timers, descriptors or streams that is higher than in the reference. */
export function handleFaults(reference: Holdings, found: Holdings, streams: number): readonly string[] {
  const faults = (['sockets', 'timers', 'descriptors'] as const)
    .filter((what) => found[what] > reference[what] + probeSlack)
    .map((what) => `${what}: ${reference[what]} -> ${found[what]}`);
  return streams === 0 ? faults : [...faults, `${streams} streams are open`];
}

/**
 * Growth from one value to the next as a share of the first value: the median slope of all pairs.
 * @param values at least two
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
