import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameMatcher } from './selectors.ts';

test('a field selector may exclude several names', () => {
  const matches = nameMatcher('metadata.name!=a,metadata.name!=b');
  assert.deepEqual(['a', 'b', 'c'].map(matches), [false, false, true]);
});
