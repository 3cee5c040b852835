import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { startMemoryCeiling } from './memory-ceiling.ts';

const mega = 1024 ** 2;

/** A ceiling with 1,000 MiB to use; `used` is what the process seems to hold. */
function setting(t: TestContext, heapLimitBytes = 100_000 * mega) {
  const state = { used: 0, heap: 0, nowMs: 0, garbage: 0, events: [] as string[] };
  const ceiling = startMemoryCeiling({
    limitBytes: 1096 * mega,
    heapLimitBytes,
    read: () => ({ heapBytes: state.heap * mega, externalBytes: (state.used + state.garbage) * mega }),
    collect() {
      state.events.push('collect');
      state.garbage = 0;
    },
    endSlowest: () => void state.events.push('end slowest'),
    shed: (shedding) => void state.events.push(shedding ? 'shed' : 'serve'),
    nowMs: () => state.nowMs,
  });
  t.after(() => ceiling.close());
  return {
    ceiling,
    state,
    at(used: number): string[] {
      state.used = used;
      state.nowMs += 250;
      ceiling.check();
      return state.events.splice(0);
    },
  };
}

test('below three quarters nothing happens, above it slow clients are ended, above 85 % requests are refused until it is below again', (t) => {
  const { at, ceiling } = setting(t);
  assert.deepEqual(at(700), []);
  assert.deepEqual(at(760), ['collect', 'end slowest']);
  assert.deepEqual(at(849), ['end slowest']);
  assert.deepEqual(at(851), ['end slowest', 'shed']);
  assert.ok(ceiling.shedding);
  assert.deepEqual(at(800), ['end slowest'], 'still too much to take new ones');
  assert.deepEqual(at(740), ['serve']);
  assert.ok(!ceiling.shedding);
});

test('garbage is collected before anybody is ended for it, but not all the time', (t) => {
  const { at, state } = setting(t);
  state.garbage = 900;
  assert.deepEqual(at(100), ['collect']);
  state.garbage = 900;
  assert.deepEqual(at(100), ['end slowest', 'shed'], 'collected a moment ago');
  state.nowMs += 4_000;
  assert.deepEqual(at(100), ['end slowest']);
  state.nowMs += 1_000;
  assert.deepEqual(at(100), ['collect', 'serve']);
});

test("the heap has a limit of its own, V8's", (t) => {
  const { at, state } = setting(t, 100 * mega);
  state.heap = 90;
  assert.deepEqual(at(0), ['collect', 'end slowest', 'shed']);
});
