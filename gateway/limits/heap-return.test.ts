import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { shrinkingCollector } from '../../routing/buffer-reclaim.ts';
import { startHeapReturn } from './heap-return.ts';

const mib = 1024 ** 2;

/** A heap whose size the test sets; a collection leaves `live` bytes. */
function pretend(t: TestContext) {
  const world = { heapMib: 200, liveMib: 90, busy: 0.1, idle: true, nowMs: 0, collected: 0 };
  const heap = startHeapReturn({
    collect: () => {
      world.collected += 1;
      world.heapMib = world.liveMib;
    },
    heapBytes: () => world.heapMib * mib,
    busyShare: () => world.busy,
    isIdle: () => world.idle,
    nowMs: () => world.nowMs,
  });
  t.after(() => heap.close());
  const rest = (looks = 5): void => {
    for (let i = 0; i < looks; i++) heap.check();
  };
  return { world, rest };
}

test('a process that rests gives back what its start took, and not while it works or anybody waits', (t) => {
  const { world, rest } = pretend(t);
  world.busy = 0.3;
  rest();
  world.busy = 0.1;
  rest(4);
  assert.equal(world.collected, 0, 'it may only wait for its hub');
  world.idle = false;
  rest();
  assert.equal(world.collected, 0);
  world.idle = true;
  rest(1);
  assert.equal(world.collected, 1);
});

test('a small heap is left alone', (t) => {
  const { world, rest } = pretend(t);
  world.heapMib = 90;
  rest();
  assert.equal(world.collected, 0);
});

test('it is done again after five minutes at the earliest, and only when much has come to the heap', (t) => {
  const { world, rest } = pretend(t);
  rest();
  world.heapMib = 400;
  world.nowMs = 4 * 60_000;
  rest();
  assert.equal(world.collected, 1);
  world.nowMs = 6 * 60_000;
  world.heapMib = 150;
  rest();
  assert.equal(world.collected, 1, 'what it left the last time and little more');
  world.heapMib = 400;
  rest();
  assert.equal(world.collected, 2);
});

test('without a collector nothing happens, and this V8 has one that leaves a small young generation', async (t) => {
  const none = startHeapReturn({ collect: undefined, isIdle: () => true });
  t.after(() => none.close());
  none.check();
  const { getHeapSpaceStatistics } = await import('node:v8');
  const youngBytes = (): number =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
  let kept: number[][] = [];
  for (let round = 0; round < 40 && youngBytes() < 16 * mib; round++) {
    for (let i = 0; i < 50_000; i++) kept.push([i, i]);
    if (kept.length > 400_000) kept = [];
  }
  const before = youngBytes();
  shrinkingCollector()?.();
  assert.ok(youngBytes() < before / 2, `${before} to ${youngBytes()}`);
});
