import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listed } from './listed.ts';

test('a list that is too long ends with how many are left out', () => {
  assert.equal(listed([], 2), '');
  assert.equal(listed(['a', 'b'], 2), 'a, b');
  assert.equal(listed(['a', 'b', 'c', 'd'], 2), 'a, b and 2 more');
  assert.equal(listed(['a', 'b'], 2, '; '), 'a; b');
  assert.equal(listed(['a', 'b', 'c'], 2, '; '), 'a; b; and 1 more');
  assert.equal(listed(['a', 'b'], 1, '\n  '), 'a\n  and 1 more');
});
