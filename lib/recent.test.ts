import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRecent } from './recent.ts';

test('what was used longest ago goes first, and looking without using changes nothing', () => {
  const recent = makeRecent<number>({ maxEntries: 3 });
  for (const [index, key] of ['a', 'b', 'c'].entries()) recent.set(key, index);
  assert.equal(recent.get('a'), 0);
  assert.equal(recent.peek('b'), 1);
  recent.set('d', 3);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => recent.peek(key)),
    [0, undefined, 2, 3],
  );
  recent.delete('a');
  recent.set('e', 4);
  assert.equal(recent.peek('c'), 2);
  recent.clear();
  assert.equal(recent.get('d'), undefined);
});

for (const maxKeyLength of [undefined, 1_000_000])
  test(`never holds more than its entries${maxKeyLength === undefined ? '' : ' when keys are bounded, too'}`, () => {
    const recent = makeRecent<number>({ maxEntries: 100, ...(maxKeyLength === undefined ? {} : { maxKeyLength }) });
    for (let i = 0; i < 1000; i += 1) recent.set(`k${i}`, i);
    const held = Array.from({ length: 1000 }, (_, i) => i).filter((i) => recent.peek(`k${i}`) !== undefined);
    assert.deepEqual(
      held,
      Array.from({ length: 100 }, (_, i) => 900 + i),
    );
  });

test('long keys leave room for fewer, and one that is too long alone is not remembered', () => {
  const recent = makeRecent<number>({ maxEntries: 100, maxKeyLength: 50 });
  for (let i = 0; i < 4; i += 1) recent.set(`${i}`.repeat(20), i);
  assert.deepEqual(
    [0, 1, 2, 3].map((i) => recent.peek(`${i}`.repeat(20))),
    [undefined, undefined, 2, 3],
  );
  recent.set('x'.repeat(51), 9);
  assert.equal(recent.peek('x'.repeat(51)), undefined);
});

test('values that count beside their keys leave room for fewer', () => {
  const recent = makeRecent<number>({ maxEntries: 100, maxKeyLength: 50, sizeOf: (value) => value });
  for (const [key, value] of [['a', 20] as const, ['b', 20] as const, ['c', 20] as const, ['d', 60] as const])
    recent.set(key, value);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => recent.peek(key)),
    [undefined, 20, 20, undefined],
  );
});
