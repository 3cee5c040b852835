// Medians, paired ratios, bootstrap intervals, and whether they keep a limit. In each round both programs ran under the
// same conditions of the machine, so values are resampled in pairs. Resampling the values of each program alone would
// make every interval wider.

/** A median (`point`) with its 95 % interval (`low` to `high`), computed by a percentile bootstrap. */
export interface Estimate {
  readonly point: number;
  readonly low: number;
  readonly high: number;
  /** Number of rounds from which the estimate was computed. */
  readonly rounds: number;
}

/** Options of the bootstrap, which computes an interval by drawing new samples from the measured values. */
export interface BootstrapOptions {
  /** Number of resamples, at least 2,000; the default is 10,000. */
  readonly resamples?: number;
  /** Seed of the random numbers; the same seed gives the same interval. The default is 1. */
  readonly seed?: number;
}

/**
 * Whether an estimate keeps an upper limit: `holds`, `fails`, or `unresolved` when the interval is too wide or there
 * are too few rounds. Only `holds` passes.
 */
export type Verdict = 'holds' | 'unresolved' | 'fails';

/** Smallest number of rounds with which a limit can hold. With fewer rounds its verdict is `unresolved` or `fails`. */
export const minimumRounds = 20;
const minimumResamples = 2_000;

/**
 * Makes a random number generator with a seed (mulberry32) that returns numbers from 0 to below 1. The same seed gives
 * the same numbers.
 */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A copy of the list in random order (Fisher-Yates). */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

/** Quantile with linear interpolation (type 7 of R). The values may have any order; NaN when there are none. */
export function quantile(values: readonly number[], q: number): number {
  return sortedQuantile([...values].sort(ascending), q);
}

/** The middle value, or the mean of the two middle values; NaN when there are none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Median of one value per round, with its interval. */
export function estimateMedian(values: readonly number[], options: BootstrapOptions = {}): Estimate {
  return bootstrap(values, options);
}

/**
 * Median of `numerators[i] / denominators[i]` over all rounds i, with its interval.
 * @throws RangeError when the lists have different lengths or a denominator is not positive
 */
export function estimateRatio(
  numerators: readonly number[],
  denominators: readonly number[],
  options: BootstrapOptions = {},
): Estimate {
  return bootstrap(
    paired(numerators, denominators, (a, b) => {
      if (!(b > 0)) throw new RangeError(`a ratio to ${b} says nothing`);
      return a / b;
    }),
    options,
  );
}

/**
 * Median of `minuends[i] - subtrahends[i]` over all rounds i, with its interval.
 * @throws RangeError when the lists have different lengths
 */
export function estimateDifference(
  minuends: readonly number[],
  subtrahends: readonly number[],
  options: BootstrapOptions = {},
): Estimate {
  return bootstrap(
    paired(minuends, subtrahends, (a, b) => a - b),
    options,
  );
}

/**
 * Compares an estimate with an upper limit: `fails` when the median is above the limit; `holds` when the whole interval
 * is within the limit and there are enough rounds; otherwise `unresolved`.
 */
export function verdict(estimate: Estimate, bound: number): Verdict {
  if (!(estimate.point <= bound)) return 'fails';
  if (estimate.high <= bound && estimate.rounds >= minimumRounds) return 'holds';
  return 'unresolved';
}

function paired(a: readonly number[], b: readonly number[], join: (a: number, b: number) => number): number[] {
  if (a.length !== b.length) throw new RangeError(`unpaired rounds: ${a.length} and ${b.length}`);
  return a.map((value, round) => join(value, b[round] as number));
}

function bootstrap(values: readonly number[], options: BootstrapOptions): Estimate {
  const resamples = Math.max(minimumResamples, options.resamples ?? 10_000);
  const random = createRandom(options.seed ?? 1);
  const count = values.length;
  if (count === 0) return { point: Number.NaN, low: Number.NaN, high: Number.NaN, rounds: 0 };
  const medians = new Float64Array(resamples);
  const sample = new Float64Array(count);
  for (let resample = 0; resample < resamples; resample += 1) {
    for (let i = 0; i < count; i += 1) sample[i] = values[Math.floor(random() * count)] as number;
    medians[resample] = sortedQuantile(sample.sort(), 0.5);
  }
  medians.sort();
  return {
    point: median(values),
    low: sortedQuantile(medians, 0.025),
    high: sortedQuantile(medians, 0.975),
    rounds: count,
  };
}

function sortedQuantile(sorted: ArrayLike<number>, q: number): number {
  if (sorted.length === 0) return Number.NaN;
  const position = (sorted.length - 1) * Math.min(1, Math.max(0, q));
  const below = Math.floor(position);
  const low = sorted[below] as number;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] as number;
  return low + (high - low) * (position - below);
}

function ascending(a: number, b: number): number {
  return a - b;
}
