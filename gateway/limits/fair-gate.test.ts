import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairGate } from './fair-gate.ts';
import type { Waiting } from './fair-gate.ts';

function gateWithOrder(limit: number) {
  const gate = new FairGate(limit);
  const order: string[] = [];
  const wait = (user: string, name: string): Waiting => {
    const request = { user, enter: () => void order.push(name) };
    gate.wait(request);
    return request;
  };
  return { gate, order, wait };
}

test('users take turns, so the one request of a small user passes the hundred of a big one', () => {
  const { gate, order, wait } = gateWithOrder(1);
  gate.held = 1;
  for (let i = 0; i < 100; i++) wait('big', `big-${i}`);
  wait('small', 'small-0');
  for (let i = 0; i < 3; i++) gate.leave();
  assert.deepEqual(order, ['big-0', 'small-0', 'big-1']);
});

test('every user with something waiting has a turn before any has two, and each in order of arrival', () => {
  const { gate, order, wait } = gateWithOrder(1);
  gate.held = 1;
  for (const user of ['a', 'b', 'c']) for (const n of [1, 2]) wait(user, `${user}${n}`);
  for (let i = 0; i < 6; i++) gate.leave();
  assert.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
  assert.equal(gate.waiting, 0);
  gate.leave();
  assert.ok(gate.idle);
});

test('a slot is handed on, so nobody who comes in between takes it', () => {
  const { gate, order, wait } = gateWithOrder(2);
  gate.held = 2;
  wait('a', 'a1');
  assert.ok(!gate.open);
  gate.leave();
  assert.deepEqual(order, ['a1']);
  assert.ok(!gate.open, 'the free slot belongs to the waiting request');
});

test('Who withdraws is passed over and counts no more, and withdrawing twice changes nothing', () => {
  const { gate, order, wait } = gateWithOrder(1);
  gate.held = 1;
  const gone = wait('a', 'a1');
  wait('b', 'b1');
  gate.withdraw(gone);
  gate.withdraw(gone);
  assert.equal(gate.waiting, 1);
  gate.leave();
  assert.deepEqual(order, ['b1']);
  gate.withdraw(gone);
  assert.equal(gate.waiting, 0);
});
