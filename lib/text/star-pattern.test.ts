import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matches } from './star-pattern.ts';

test('a star stands for any run of characters, and for nothing else', () => {
  for (const [pattern, text, expected] of [
    ['*', 'x', true],
    ['*1', 'deploy1', true],
    ['a*c*e', 'abcde', true],
    ['a*c*e', 'abde', false],
    ['a*a', 'a', false],
    ['a.c', 'abc', false],
    ['', 'x', false],
  ] as const)
    assert.equal(matches(pattern, text), expected, `${pattern} ${text}`);
});
