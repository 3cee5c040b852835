import assert from 'node:assert/strict';
import { test } from 'node:test';
import { correct, KnownObjects } from './known-objects.ts';

test('an object is put right three times within a minute, and then not before that minute is over', () => {
  const [known, other] = [{ corrections: [] }, { corrections: [] }];
  assert.deepEqual(
    [0, 1_000, 2_000].map((atMs) => correct(known, atMs)),
    [0, 0, 0],
  );
  assert.equal(correct(known, 10_000), 52_000);
  assert.equal(correct(other, 10_000), 0);
  assert.equal(correct(known, 62_001), 0);
});

test('what is known of the objects of a work is kept until the work is forgotten', () => {
  const known = new KnownObjects();
  const one = {
    taskHash: 'h',
    version: '1',
    content: 'c',
    fault: undefined,
    seen: { state: 'absent' },
    refusedUntilMs: 0,
    corrections: [],
  } as const;
  known.of('w').set('a', { ...one, corrections: [] });
  assert.deepEqual(known.of('w').get('a'), one);
  assert.equal(known.of('other').get('a'), undefined);
  known.forget('w');
  assert.equal(known.of('w').get('a'), undefined);
});
