import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownObjects } from './known-objects.ts';

test('an object is put right three times within a minute, and then not before that minute is over', () => {
  const known = new KnownObjects();
  assert.deepEqual(
    [0, 1_000, 2_000].map((atMs) => known.correct('w', 'o', atMs)),
    [0, 0, 0],
  );
  assert.equal(known.correct('w', 'o', 10_000), 52_000);
  assert.equal(known.correct('w', 'other', 10_000), 0);
  assert.equal(known.correct('w', 'o', 62_001), 0);
});

test('what was applied from another manifest is not known, and neither is what is no longer part of the work', () => {
  const known = new KnownObjects();
  const one = {
    taskHash: 'h',
    version: '1',
    content: 'c',
    fault: undefined,
    seen: { state: 'absent' },
    refusedUntilMs: 0,
  } as const;
  known.set('w', 'a', one);
  known.set('w', 'b', one);
  assert.equal(known.get('w', 'a', 'h'), one);
  assert.equal(known.get('w', 'a', 'other'), undefined);
  known.keepOnly('w', new Set(['b']));
  assert.equal(known.get('w', 'a', 'h'), undefined);
  assert.equal(known.get('w', 'b', 'h'), one);
  known.forget('w');
  assert.equal(known.get('w', 'b', 'h'), undefined);
});
