import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tailStart, withoutEnds, withoutTail } from './text-ends.ts';

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

test('what is taken off stands at the ends only', () => {
  for (const [text, both, tail] of [
    ['', '', ''],
    [' \t ', '', ''],
    ['a', 'a', 'a'],
    [' a\t', 'a', ' a'],
    ['\ta b ', 'a b', '\ta b'],
    ['\u00a0a\u00a0', '\u00a0a\u00a0', '\u00a0a\u00a0'],
  ] as const) {
    assert.equal(withoutEnds(text, isBlank), both, JSON.stringify(text));
    assert.equal(withoutTail(text, isBlank), tail, JSON.stringify(text));
    assert.equal(tailStart(text, isBlank), tail.length, JSON.stringify(text));
  }
});

test('a long run in the middle of a text costs no more than its length (ATT-39)', () => {
  const text = `a${' '.repeat(1024 * 1024)}b`;
  assert.equal(withoutEnds(text, isBlank), text);
  assert.equal(withoutTail(text, isBlank), text);
});
