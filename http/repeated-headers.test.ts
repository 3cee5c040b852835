import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isRepeated, markRepeated, readOnce } from './repeated-headers.ts';

test('a reading of a repeated list is made once, of any other list each time', () => {
  let made = 0;
  const count = readOnce((headers) => {
    made += 1;
    return headers.length;
  });
  const once = ['Accept', '*/*'];
  assert.equal(count(once), 2);
  assert.equal(count(once), 2);
  assert.equal(made, 2);

  const again = ['Accept', '*/*', 'Host', 'a'];
  markRepeated(again);
  assert.equal(count(again), 4);
  assert.equal(count(again), 4);
  assert.equal(made, 3);
  assert.deepEqual([isRepeated(once), isRepeated(again)], [false, true]);
});

test('readings of one list do not take each other’s place', () => {
  const first = readOnce((headers) => headers[0] ?? '');
  const last = readOnce((headers) => headers.at(-1) ?? '');
  const list = ['Host', 'a'];
  markRepeated(list);
  assert.deepEqual([first(list), last(list), first(list), last(list)], ['Host', 'a', 'Host', 'a']);
});

test('two lists with the same words are told apart, and equal words elsewhere do not see the readings', () => {
  const seen: string[] = [];
  const read = readOnce((headers) => {
    seen.push(headers[1] ?? '');
    return true;
  });
  const [one, other] = [
    ['Authorization', 'Bearer a'],
    ['Authorization', 'Bearer b'],
  ];
  for (const list of [one, other]) markRepeated(list!);
  for (const list of [one, other, one, other, ['Authorization', 'Bearer a']]) read(list!);
  assert.deepEqual(seen, ['Bearer a', 'Bearer b', 'Bearer a']);
});

test('what a reading throws is thrown each time', () => {
  const list = ['Host', 'a'];
  markRepeated(list);
  const refuse = readOnce((): string => {
    throw new Error('bad');
  });
  assert.throws(() => refuse(list), /bad/);
  assert.throws(() => refuse(list), /bad/);
});
