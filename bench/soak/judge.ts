// Judges what the gateway still holds after a cycle of the soak test: no more sockets, timers and descriptors than in
// the reference cycle, and no growing memory. A straight line through few points would be mostly noise. So the growth
// is the median of the slopes of all pairs of cycles (Theil-Sen), which a single odd cycle does not change.
import type { Holdings } from '../../test/faults/witness.ts';

/** One cycle, and what the gateway still held after everything was closed. */
export interface CycleRecord {
  readonly cycle: number;
  readonly holdings: Holdings;
  readonly streams: number;
}

/**
 * By how much the numbers of sockets, timers and descriptors may be higher than in the reference cycle, because a probe
 * may be running, with or without a new connection.
 */
const probeSlack = 3;

/**
 * Returns a text for each number of sockets, timers, descriptors or streams that is higher than it may be; empty for
 * none.
 */
export function handleFaults(reference: Holdings, found: Holdings, streams: number): readonly string[] {
  const faults = (['sockets', 'timers', 'descriptors'] as const)
    .filter((what) => found[what] > reference[what] + probeSlack)
    .map((what) => `${what}: ${reference[what]} -> ${found[what]}`);
  return streams === 0 ? faults : [...faults, `${streams} streams are open`];
}

/**
 * Returns the growth from one value to the next, as a share of the first value: the median slope of all pairs.
 * @param values at least two; each is measured one cycle after the one before
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
