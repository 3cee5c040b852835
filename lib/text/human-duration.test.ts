import assert from 'node:assert/strict';
import test from 'node:test';
import { humanDuration } from './human-duration.ts';

// The cases of k8s.io/apimachinery/pkg/util/duration/duration_test.go, in seconds.
const cases: readonly (readonly [seconds: number, shown: string])[] = [
  [-2, '<invalid>'],
  [-1.999, '0s'],
  [-1, '0s'],
  [0, '0s'],
  [1, '1s'],
  [70, '70s'],
  [119, '119s'],
  [119.999, '119s'],
  [120, '2m'],
  [121, '2m1s'],
  [190, '3m10s'],
  [599, '9m59s'],
  [599.999, '9m59s'],
  [600, '10m'],
  [601, '10m'],
  [70 * 60, '70m'],
  [179 * 60 + 59, '179m'],
  [3 * 3600, '3h'],
  [3 * 3600 + 60, '3h1m'],
  [7 * 3600 + 59 * 60 + 59, '7h59m'],
  [8 * 3600 + 59 * 60, '8h'],
  [47 * 3600, '47h'],
  [48 * 3600, '2d'],
  [49 * 3600, '2d1h'],
  [8 * 86_400, '8d'],
  [7 * 86_400 + 23 * 3600, '7d23h'],
  [367 * 86_400, '367d'],
  [729 * 86_400, '729d'],
  [730 * 86_400, '2y'],
  [2 * 365 * 86_400 + 86_400, '2y1d'],
  [8 * 365 * 86_400 - 1, '7y364d'],
  [8 * 365 * 86_400, '8y'],
  [8 * 365 * 86_400 + 5 * 86_400, '8y'],
  [9 * 365 * 86_400, '9y'],
];

test('ages lose precision in the same steps as in kubectl', () => {
  for (const [seconds, shown] of cases) assert.equal(humanDuration(seconds * 1000), shown, `${seconds} s`);
});

test('something that is not a number is an invalid age', () => {
  assert.equal(humanDuration(Number.NaN), '<invalid>');
});
