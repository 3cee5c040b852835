import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Holdings } from '../../test/faults/witness.ts';
import { growthPerCycle, handleFaults } from './judge.ts';

const held: Holdings = {
  sockets: 10,
  timers: 12,
  descriptors: 30,
  heapBytes: 1,
  externalBytes: 1,
  residentBytes: 1,
};

test('a leak of a socket a cycle is found, a probe under way is not one (FLT-20)', () => {
  assert.deepEqual(handleFaults(held, { ...held, sockets: 12 }, 0), []);
  assert.deepEqual(handleFaults(held, { ...held, sockets: 20 }, 0), ['sockets: 10 -> 20']);
  assert.deepEqual(handleFaults(held, { ...held, timers: 112, descriptors: 130 }, 2), [
    'timers: 12 -> 112',
    'descriptors: 30 -> 130',
    '2 streams are open',
  ]);
});

test('growth is told through one odd cycle, and noise is none (FLT-20)', () => {
  assert.equal(growthPerCycle([100, 101, 102, 180, 104, 105, 106]), 0.01);
  assert.ok(growthPerCycle([100, 100.2, 99.9, 100.1, 100, 99.8, 100.1]) < 0.005);
});
