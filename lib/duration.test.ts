import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDuration } from './duration.ts';

test('durations read as Go reads them, and a bare number is none', () => {
  assert.equal(parseDuration('10s'), 10_000);
  assert.equal(parseDuration('1m30s'), 90_000);
  assert.equal(parseDuration('1.5h'), 5_400_000);
  assert.equal(parseDuration('250ms'), 250);
  assert.equal(parseDuration('0'), 0);
  for (const wrong of ['', '10', 's', '-1s', '10 s', '1d', '1s2', 'NaNs'])
    assert.equal(parseDuration(wrong), undefined);
});
