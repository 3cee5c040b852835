import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overallFindings, type Overall } from './grant-status.ts';
import type { ClusterResult, Phase } from '../object/grant.ts';

const result = (phase: Phase, message = ''): ClusterResult => ({
  ...{ phase, message, reason: phase, since: '', objects: [], writer: undefined },
});
const reported = (overall: Partial<Overall>): readonly string[] =>
  overallFindings({
    ...{ results: new Map(), fault: undefined, isExpired: false, undecided: [], appliedType: 'Applied' },
    ...overall,
  }).map(({ type, status, reason }) => `${type} ${status} ${reason}`);

test('the conditions tell the worst that is true of any cluster', () => {
  const all = (...phases: readonly Phase[]): Map<string, ClusterResult> =>
    new Map(phases.map((phase, index) => [`m${index}`, result(phase)]));
  assert.deepEqual(reported({ results: all('Applied', 'Removed') }), [
    'Applied True Applied',
    'Complete True Complete',
  ]);
  assert.deepEqual(reported({ results: all('Applied', 'Pending') }), [
    'Applied False Pending',
    'Complete False Unfinished',
  ]);
  assert.deepEqual(reported({ results: all('Pending', 'Error') }), [
    'Applied False Error',
    'Complete False Unfinished',
  ]);
  assert.deepEqual(reported({ undecided: ['a/b'] }), ['Applied False Pending', 'Complete False Unfinished']);
  assert.deepEqual(reported({ isExpired: true, results: all('Removed') }), [
    'Applied False Expired',
    'Complete True Expired',
  ]);
  const fault = { reason: 'Refused', message: 'no' };
  assert.deepEqual(reported({ fault, results: all('Applied') }), [
    'Applied False Refused',
    'Complete False Unfinished',
  ]);
});
