import assert from 'node:assert/strict';
import { test } from 'node:test';

import { shortened } from './shortened.ts';

test('a text as long as allowed stays, and a longer one ends in an ellipsis', () => {
  assert.deepEqual(
    ['', 'abc', 'abcd', 'abcde'].map((text) => shortened(text, 4)),
    ['', 'abc', 'abcd', 'abc…'],
  );
  assert.equal(shortened('äöü', 3), 'äöü', 'lengths are those of characters, not of bytes');
});

test('no character is cut in two, so that a shortened text is valid UTF-8', () => {
  const text = 'a😀b😀c😀d';
  for (let most = 1; most <= text.length + 1; most += 1) {
    const shown = shortened(text, most);
    assert.ok(shown.isWellFormed() && shown.length <= most, `${most}: ${JSON.stringify(shown)}`);
  }
  assert.deepEqual([shortened(text, 3), shortened(text, 4)], ['a…', 'a😀…']);
});
