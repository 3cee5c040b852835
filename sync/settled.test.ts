import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeSettled } from './settled.ts';
import type { ClusterState } from './member/sync-types.ts';

test('a wait for what is read for the first time ends with the index, and none begins after it', async () => {
  const closed = new AbortController();
  // A cluster that nobody has reached yet.
  const cluster = { cluster: 'a', fault: undefined, incarnation: undefined, types: [] } as unknown as ClusterState;
  let listeners = 0;
  const onChange = (): (() => void) => {
    listeners += 1;
    return () => void (listeners -= 1);
  };
  const settled = makeSettled({ state: () => [cluster], onChange }, performance.now(), closed.signal);
  let isOver = false;
  const waiting = settled().then(() => (isOver = true));
  await new Promise(setImmediate);
  assert.deepEqual([isOver, listeners], [false, 1]);
  closed.abort();
  await waiting;
  await settled();
  assert.equal(listeners, 0);
});
