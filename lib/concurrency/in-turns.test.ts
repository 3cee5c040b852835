import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as moment } from 'node:timers/promises';
import { inTurns } from './in-turns.ts';

test('results come in the order of the items, and no more are worked on at once than may be', async () => {
  let running = 0;
  let most = 0;
  const double = async (item: number): Promise<number> => {
    most = Math.max(most, ++running);
    for (let i = 0; i < 5 - item; i++) await moment();
    running -= 1;
    return 2 * item;
  };
  assert.deepEqual(await inTurns([0, 1, 2, 3, 4], 2, double), [0, 2, 4, 6, 8]);
  assert.equal(most, 2);
  assert.deepEqual(await inTurns([], 2, double), []);
  assert.deepEqual(await inTurns([1], 9, String), ['1']);
});

test('the first error is thrown on, and no further item is begun after it', async () => {
  const begun: number[] = [];
  const fail = async (item: number): Promise<void> => {
    begun.push(item);
    await moment();
    if (item === 1) throw new Error('one');
  };
  await assert.rejects(inTurns([0, 1, 2, 3, 4, 5], 2, fail), /^Error: one$/);
  for (let i = 0; i < 10; i++) await moment();
  assert.deepEqual(begun, [0, 1, 2]);
});
