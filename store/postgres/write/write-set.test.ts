import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';

import type { RowWrite } from '../../store.ts';
import { arrayText, termsOf } from './terms.ts';
import { WriteSet, type FoundRow, type Target } from './write-set.ts';

const target: Target = { shard: 3, inc: 1, t: 2, type: 'pods.' };

function row(change: Partial<RowWrite> = {}): RowWrite {
  return {
    namespace: 'default',
    name: 'web',
    uid: 'uid-1',
    resourceVersion: '1',
    ownerUid: '',
    createdAtMs: 5,
    labels: [['app', 'web']],
    terms: [['status.phase', 'Running']],
    raw: Buffer.from('{"a":1}'),
    ...change,
  };
}

/** A row as the database has it after it was written. */
function stored(one: RowWrite, id = 7): FoundRow {
  return {
    id,
    uid: Buffer.from(one.uid),
    rv: Buffer.from(one.resourceVersion),
    digest: hash('sha256', one.raw, 'buffer').subarray(0, 16),
    bytes: one.raw.byteLength,
    terms: arrayText(termsOf('pods.', one).map(({ id: term }) => term)),
  };
}

function newSet() {
  let next = 100;
  const set = new WriteSet(() => next++);
  return { set, follow: set.follow(target, '{}') };
}

/** How rows of the shard gain and lose each value. */
function termCounts({ terms }: WriteSet): Readonly<Record<string, number>> {
  return Object.fromEntries([...terms.values()].map(({ term, n }) => [term?.value ?? 'lost', n]));
}

test('a row that is stored byte for byte writes nothing', () => {
  const { set, follow } = newSet();
  assert.equal(set.upsert(follow, row(), stored(row())), 'unchanged');
  assert.deepEqual([set.objects, set.bodies, set.log, set.before, [...set.terms]], [[], [], [], [], []]);
});

test('other labels of the same bytes are kept without a change that a watch would show', () => {
  const { set, follow } = newSet();
  const changed = row({ labels: [['app', 'api']] });
  assert.equal(set.upsert(follow, changed, stored(row())), 'unchanged');
  assert.deepEqual([set.objects.length, set.bodies.length, set.log.length], [1, 0, 0]);
  assert.deepEqual(termCounts(set), { api: 1, lost: -1 });
});

test('a changed row keeps its number, its body of before goes into the log, and only other terms are counted', () => {
  const { set, follow } = newSet();
  const changed = row({ raw: Buffer.from('{"a":22}'), terms: [['status.phase', 'Failed']] });
  assert.equal(set.upsert(follow, changed, stored(row())), 'written');
  assert.deepEqual(
    set.objects.map(({ id, isNew }) => [id, isNew]),
    [[7, false]],
  );
  assert.deepEqual(set.before, [{ shard: 3, id: 7 }]);
  assert.deepEqual(
    set.log.map(({ id, kind }) => [id, kind]),
    [[7, 1]],
  );
  assert.deepEqual(termCounts(set), { Failed: 1, lost: -1 });
  assert.deepEqual([follow.objects, follow.bytes], [0, 1]);
});

test('an object of another uid is a deletion and an addition under another number', () => {
  const { set, follow } = newSet();
  const changed = row({ uid: 'uid-2' });
  assert.equal(set.upsert(follow, changed, stored(row())), 'written');
  assert.deepEqual(set.gone, [{ shard: 3, id: 7 }]);
  assert.deepEqual(
    set.log.map(({ id, kind, uid }) => [id, kind, uid.toString()]),
    [
      [7, 2, 'uid-1'],
      [100, 0, 'uid-2'],
    ],
  );
  assert.deepEqual(
    [...set.counts.values()].map(({ n }) => n),
    [0],
  );
  assert.deepEqual(termCounts(set), { web: 0, Running: 0 });
  assert.deepEqual([follow.objects, follow.bytes], [0, 0]);
});

test('a text is kept a second time only where it has another case', () => {
  const { set, follow } = newSet();
  set.upsert(follow, row({ name: 'Web' }), undefined);
  set.upsert(follow, row({ name: 'api' }), undefined);
  assert.deepEqual(
    set.objects.map(({ fold }) => fold?.toString()),
    ['web', undefined],
  );
});
