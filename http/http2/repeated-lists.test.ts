import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isRepeated } from '../repeated-headers.ts';
import { RepeatedLists } from './repeated-lists.ts';

const caller = (name: string): string[] => ['accept', '*/*', 'x-remote-user', name];

test('a list that came before is the same object again, whoever asked in between', () => {
  const lists = new RepeatedLists();
  const ada = lists.settle(caller('ada'));
  const bob = lists.settle(caller('bob'));
  assert.deepEqual([isRepeated(ada), isRepeated(bob)], [false, false]);
  for (let i = 0; i < 3; i++) {
    assert.equal(lists.settle(caller('ada')), ada);
    assert.equal(lists.settle(caller('bob')), bob);
  }
  assert.deepEqual([ada[3], bob[3]], ['ada', 'bob']);
  assert.ok(isRepeated(ada) && isRepeated(bob));
});

test('one byte, one header more or another order makes another list', () => {
  const lists = new RepeatedLists();
  const first = lists.settle(caller('ada'));
  for (const other of [
    caller('Ada'),
    [...caller('ada'), 'x-remote-group', 'ops'],
    ['x-remote-user', 'ada', 'accept', '*/*'],
    ['accept', '*/*'],
    [],
  ]) {
    assert.equal(lists.settle(other), other);
    assert.ok(!isRepeated(other));
  }
  assert.equal(lists.settle(caller('ada')), first);
});

test('only the last few lists are kept, and no long one', () => {
  const lists = new RepeatedLists();
  const first = lists.settle(caller('first'));
  for (let i = 0; i < 8; i++) lists.settle(caller(`caller-${i}`));
  assert.notEqual(lists.settle(caller('first')), first);
  const long = Array.from({ length: 130 }, (_, i) => `x-${i}`);
  lists.settle(long);
  assert.notEqual(lists.settle([...long]), long);
});

test('no list with a long value is kept, or anybody could leave 8 MiB behind on each connection (ATT-39)', () => {
  const lists = new RepeatedLists();
  const long = ['x', 'a'.repeat(20_000)];
  lists.settle(long);
  assert.notEqual(lists.settle([...long]), long);
  const token = ['authorization', `Bearer ${'a'.repeat(8_000)}`];
  lists.settle(token);
  assert.equal(lists.settle([...token]), token);
});
