import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeFakeStore } from '../fake-store.fixture.ts';
import { startClusterSync } from '../cluster-sync.ts';
import { makeGate } from '../../lib/concurrency/gates.ts';
import { defaultRetryDelays, makeRetryDelays } from './retry-delays.ts';
import { defaultSyncTiming } from './sync-types.ts';

test('with 1 s, 5 s, 10 s and 5 fast tries waits are 1, 2, 4, 5, 5, then 10 s and more, each cluster its own, and what works begins anew (CP-164)', () => {
  const delays = { firstMs: 1_000, maxMs: 5_000, fastTries: 5, slowMs: 10_000 };
  let drawn = 0;
  const one = makeRetryDelays(delays, () => drawn);
  const other = makeRetryDelays(delays, () => 0.5);
  const next = (count: number, of = one): readonly number[] => Array.from({ length: count }, () => of.next());
  assert.deepEqual(next(5), [1_000, 2_000, 4_000, 5_000, 5_000]);
  assert.equal(one.next(), 10_000);
  drawn = 0.999;
  assert.equal(one.next(), 19_990);
  assert.deepEqual(next(2, other), [1_000, 2_000]);
  one.reset();
  assert.deepEqual(next(2), [1_000, 2_000]);
  assert.deepEqual(next(1, other), [4_000]);
  assert.deepEqual(defaultRetryDelays, delays, 'nothing else is used');
});

test('a cluster that does not answer is asked again after 1, 2, 4, 5, 5 and then every 10 to 20 s (CP-164)', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let asked = 0;
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 10; i += 1) await new Promise(setImmediate);
  };
  const sync = startClusterSync({
    cluster: { uid: 'u', name: 'm1' },
    asks: {
      ask: async () => {
        asked += 1;
        throw new Error('refused');
      },
    },
    choice: () => ({ resources: [], allCustomResources: false }),
    store: makeFakeStore(),
    types: async () => [],
    stored: [],
    lists: makeGate(1),
    after: Promise.resolve(),
    timing: defaultSyncTiming,
    log: { info: () => undefined, warn: () => undefined },
    onState: () => undefined,
    random: () => 0.5,
    now: () => 0,
  });
  t.after(() => sync.close());
  await settle();
  for (const [tries, waitMs] of [1_000, 2_000, 4_000, 5_000, 5_000, 15_000, 15_000].entries()) {
    t.mock.timers.tick(waitMs - 1);
    await settle();
    assert.equal(asked, tries + 1, `not before ${waitMs} ms`);
    t.mock.timers.tick(1);
    await settle();
    assert.equal(asked, tries + 2, `after ${waitMs} ms`);
  }
});
