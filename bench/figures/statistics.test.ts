import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  createRandom,
  estimateDifference,
  estimateMedian,
  estimateRatio,
  median,
  quantile,
  shuffled,
  verdict,
} from './statistics.ts';

test('medians and quantiles match hand-computed values', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.equal(quantile([10, 20, 30, 40, 50], 0.9), 46);
  assert.equal(quantile([7], 0.99), 7);
  assert.ok(Number.isNaN(median([])));
});

test('the same seed gives the same numbers and another seed others', () => {
  const take = (seed: number) => Array.from({ length: 5 }, createRandom(seed));
  assert.deepEqual(take(7), take(7));
  assert.notDeepEqual(take(7), take(8));
  for (const value of take(9)) assert.ok(value >= 0 && value < 1);
});

test('shuffling keeps every contender and reaches every order', () => {
  const random = createRandom(3);
  const seen = new Set<string>();
  for (let i = 0; i < 200; i += 1) {
    const order = shuffled(['a', 'b', 'c'], random);
    assert.deepEqual([...order].sort(), ['a', 'b', 'c']);
    seen.add(order.join(''));
  }
  assert.equal(seen.size, 6);
});

test('pairing rounds removes what both targets of a round share', () => {
  // The machine slows down fivefold over the run; the ratio inside every round stays 0.8.
  const rival = Array.from({ length: 20 }, (_, round) => 100 + round * 20);
  const ours = rival.map((value) => value * 0.8);
  const estimate = estimateRatio(ours, rival);
  assert.ok(Math.abs(estimate.point - 0.8) < 1e-9);
  assert.ok(estimate.high - estimate.low < 1e-9);
  assert.equal(verdict(estimate, 0.81), 'holds');
});

test('the interval of the median covers what theory says it should', () => {
  // For 20 values the 95 % interval of the median lies between about the 6th and the 15th of them (binomial).
  const values = Array.from({ length: 20 }, (_, i) => i + 1);
  const estimate = estimateMedian(values);
  assert.equal(estimate.point, 10.5);
  assert.ok(estimate.low >= 5 && estimate.low <= 8, `low ${estimate.low}`);
  assert.ok(estimate.high >= 13 && estimate.high <= 16, `high ${estimate.high}`);
  assert.deepEqual(estimateMedian(values), estimate);
});

test('a noisy ratio within the bound is unresolved, not a pass', () => {
  const rival = Array.from({ length: 20 }, () => 100);
  const ours = rival.map((value, round) => value * (round % 2 === 0 ? 0.7 : 1.25));
  const estimate = estimateRatio(ours, rival);
  assert.ok(estimate.point <= 1);
  assert.ok(estimate.high > 1);
  assert.equal(verdict(estimate, 1), 'unresolved');
});

test('a ratio above the bound fails even when its interval reaches below it', () => {
  assert.equal(verdict({ point: 1.05, low: 0.8, high: 1.2, rounds: 40 }, 1), 'fails');
  assert.equal(verdict({ point: Number.NaN, low: Number.NaN, high: Number.NaN, rounds: 0 }, 1), 'fails');
});

test('too few rounds never hold, however clear they look', () => {
  assert.equal(verdict({ point: 0.2, low: 0.2, high: 0.2, rounds: 19 }, 1), 'unresolved');
  assert.equal(verdict({ point: 0.2, low: 0.2, high: 0.2, rounds: 20 }, 1), 'holds');
});

test('unpaired rounds and empty denominators are refused', () => {
  assert.throws(() => estimateRatio([1, 2], [1]), RangeError);
  assert.throws(() => estimateRatio([1], [0]), RangeError);
  assert.throws(() => estimateDifference([1], []), RangeError);
});

test('a difference keeps its unit', () => {
  const estimate = estimateDifference([30, 31, 32], [20, 21, 22]);
  assert.deepEqual([estimate.point, estimate.low, estimate.high], [10, 10, 10]);
});
