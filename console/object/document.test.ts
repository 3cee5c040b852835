import assert from 'node:assert/strict';
import { test } from 'node:test';
import { difference, read, write } from './document.ts';

test('a difference says what was added, changed and taken away, and is nothing for the same', () => {
  const from = { a: 1, b: { c: 'x', d: [1, 2] }, e: { f: 1 } };
  assert.equal(difference(from, structuredClone(from)), undefined);
  assert.deepEqual(difference(from, { a: 1, b: { c: 'y', d: [1] }, g: true }), {
    b: { c: 'y', d: [1] },
    e: null,
    g: true,
  });
  assert.deepEqual(difference({ a: {} }, { a: 'text' }), { a: 'text' });
});

test('what is written is read back, and text that looks like something else stays text', () => {
  const object = { a: 'yes', b: '012', c: '1e3', d: 'on', e: 'x: y', f: '', g: 'two\nlines\n', h: null, i: 1.5 };
  assert.deepEqual(read(write(object)), object);
});

test('text that is not one object is refused with its place', () => {
  assert.throws(() => read('a: [1'), /Line 1/);
  assert.throws(() => read('a: 1\na: 2'), /unique/i);
  assert.throws(() => read('- 1'), /not one object/);
});

test('a change that would send a number other than the one that is there is refused, and any other is not', () => {
  const of = (text: string): object => JSON.parse(text) as object;
  const object = of('{"spec":{"id":9007199254740993,"list":[{"id":9007199254740993,"a":1}],"small":9007199254740991}}');
  for (const text of [
    'spec: {id: 9007199254740993, list: [{id: 9007199254740993, a: 2}], small: 9007199254740991}',
    'spec: {id: 9223372036854775807, list: [{id: 9007199254740993, a: 1}], small: 9007199254740991}',
    'spec: {id: 9007199254740993, list: [{id: 9007199254740992, a: 1}], small: 9007199254740991}',
  ])
    assert.throws(() => difference(object, read(text)), /beyond 2\^53/, text);
  // As `write` shows what a browser has read.
  const text = 'spec: {id: 9007199254740992, list: [{id: 9007199254740992, a: 1}], small: 5}';
  assert.deepEqual(difference(object, read(text)), { spec: { small: 5 } });
});
