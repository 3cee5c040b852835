// Medians, paired ratios and bootstrap intervals, and what they say about a bound. Rounds are resampled as pairs,
// because both targets of a round met the same machine; resampling each side alone would throw that away and widen
// every interval.

/** A point estimate with its 95 % percentile bootstrap interval. */
export interface Estimate {
  readonly point: number;
  readonly low: number;
  readonly high: number;
  /** Rounds it rests on. */
  readonly rounds: number;
}

/** How resampling is done. */
export interface BootstrapOptions {
  /** At least 2,000; default 10,000. */
  readonly resamples?: number;
  /** Same seed, same interval. Default 1. */
  readonly seed?: number;
}

/** What an estimate says about an upper bound. Only `holds` passes. */
export type Verdict = 'holds' | 'unresolved' | 'fails';

/** Rounds below which no check can hold. */
export const minimumRounds = 20;
const minimumResamples = 2_000;

/** A seeded source of numbers in [0, 1) (mulberry32): a run can be repeated with the order it had. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A new list in random order (Fisher-Yates). */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

/** Linear-interpolated quantile (R type 7) of values in any order; NaN for none. */
export function quantile(values: readonly number[], q: number): number {
  return sortedQuantile([...values].sort(ascending), q);
}

/** Middle value; the mean of the two middle ones for an even count; NaN for none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Bootstrap of the median of one value per round. */
export function estimateMedian(values: readonly number[], options: BootstrapOptions = {}): Estimate {
  return bootstrap(values, options);
}

/**
 * Median of `numerators[i] / denominators[i]` over rounds.
 * @throws RangeError when the lists differ in length or a denominator is not positive
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

/** Median of `minuends[i] - subtrahends[i]` over rounds, in their unit. */
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

/** `holds` only when the whole interval is within the bound and rests on enough rounds. */
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
