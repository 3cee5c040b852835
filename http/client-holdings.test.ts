import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdings } from './client-holdings.ts';
import type { Holding } from './client-holdings.ts';

/** Holdings of 1,000 bytes together; connections are told apart by name, and `closed` lists those that had to go. */
function setting() {
  const state = { nowMs: 0 };
  const proven = new Set<object>();
  const closed: string[] = [];
  const holdings = new Holdings({
    budgetBytes: 1000,
    isProven: (peer) => proven.has(peer),
    nowMs: () => state.nowMs,
  });
  const open = (name: string, logsIn = false): Holding => {
    const peer = {};
    if (logsIn) proven.add(peer);
    const holding = holdings.open(peer, () => {
      closed.push(name);
      holding.end();
    });
    return holding;
  };
  const settled = async (): Promise<string[]> => {
    await Promise.resolve();
    return closed.splice(0);
  };
  return { state, holdings, open, settled };
}

test('within the budget nobody is closed, and what ended counts no longer (ATT-41)', async () => {
  const { holdings, open, settled } = setting();
  const one = open('one');
  one.hold(900);
  one.hold(1000);
  one.end();
  open('two').hold(1000);
  assert.deepEqual(await settled(), []);
  assert.equal(holdings.bytes, 1000);
});

test('beyond it those are closed that held most for longest, until a quarter is free, and a large head that has just begun stays (ATT-41)', async () => {
  const { state, holdings, open, settled } = setting();
  open('small and old').hold(100);
  open('large and old').hold(300);
  state.nowMs = 5_000;
  open('large and younger').hold(300);
  state.nowMs = 10_000;
  const honest = open('honest');
  honest.hold(400);
  assert.deepEqual(await settled(), ['large and old', 'large and younger']);
  assert.equal(holdings.bytes, 500);
  assert.equal(holdings.closed, 2);
});

test('who has logged in is closed only when nobody else holds anything (ATT-41)', async () => {
  const { state, open, settled } = setting();
  open('known', true).hold(900);
  state.nowMs = 30_000;
  open('stranger').hold(90);
  open('another stranger').hold(20);
  assert.deepEqual(await settled(), ['stranger', 'another stranger', 'known']);
});

test('whoever is closed while others are does not hold any more, and is not closed twice (ATT-41)', async () => {
  const { open, settled } = setting();
  const all = Array.from({ length: 30 }, (_, i) => open(`${i}`));
  for (const one of all) one.hold(100);
  assert.equal((await settled()).length, 23);
  assert.deepEqual(await settled(), []);
});

test('when memory is short, a tenth of those that had time to log in and did not are closed, whoever is new or has logged in is not (ATT-41)', async () => {
  const { state, holdings, open, settled } = setting();
  open('known', true).hold(100);
  for (let i = 0; i < 10; i++) open(`idle ${i}`);
  open('holds a head').hold(100);
  state.nowMs = 5_001;
  for (let i = 0; i < 50; i++) open(`new ${i}`);
  holdings.relieve();
  assert.deepEqual(await settled(), ['holds a head', 'idle 0']);
});
