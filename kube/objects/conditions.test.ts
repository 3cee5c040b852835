import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withConditions, type Condition, type Finding } from './conditions.ts';

const old = '2020-01-01T00:00:00Z';
const finding = (type: string, status: Finding['status'], message = ''): Finding => ({
  ...{ type, status, message },
  reason: 'R',
});
const condition = (type: string, status: Finding['status']): Condition => ({
  ...finding(type, status),
  lastTransitionTime: old,
});

test('a condition is replaced at its place, keeps its time with its status, and of two of a type the first counts', () => {
  const before = [condition('A', 'True'), condition('B', 'True'), condition('B', 'False'), condition('C', 'True')];
  const found = [finding('C', 'False'), finding('B', 'True', 'm'), finding('D', 'True'), finding('D', 'True', 'last')];
  const after = withConditions(before, found, 7);
  assert.deepEqual(
    after.map(({ type, status, message, lastTransitionTime }) => [type, status, message, lastTransitionTime === old]),
    [
      ['A', 'True', '', true],
      ['B', 'True', 'm', true],
      ['B', 'False', '', true],
      ['C', 'False', '', false],
      ['D', 'True', 'last', false],
    ],
  );
  assert.deepEqual(
    after.map(({ observedGeneration }) => observedGeneration),
    [undefined, 7, undefined, 7, 7],
  );
});
