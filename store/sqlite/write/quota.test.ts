import assert from 'node:assert/strict';
import { test } from 'node:test';

import { stoppedTypes } from './quota.ts';

const bytesByType = new Map([
  [1, 10],
  [2, 500],
  [3, 70],
]);
const at = (usedBytes: number, ...stopped: number[]): readonly number[] => [
  ...stoppedTypes({ usedBytes, maxBytes: 1000, bytesByType, stopped: new Set(stopped) }),
];

test('at the limit the largest type stops, and one more with each percent above it', () => {
  assert.deepEqual(at(999), []);
  assert.deepEqual(at(1000), [2]);
  assert.deepEqual(at(1009, 2), [2]);
  assert.deepEqual(at(1010, 2), [2, 3]);
  assert.deepEqual(at(1500, 2), [2, 3, 1]);
});

test('what has stopped starts again only when there is clearly room', () => {
  assert.deepEqual(at(990, 2, 3), [2, 3]);
  assert.deepEqual(at(951, 2), [2]);
  assert.deepEqual(at(949, 2, 3), []);
});
