import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ManifestResult, Seen } from '../work/work-status.ts';
import type { AppliedResource } from './applied-works.ts';
import { inOrder, isClean, isOlderThan, isTooMuch, textOfSpec, untracked } from './keep-inventory.ts';

const entry = (name: string, more: Partial<AppliedResource> = {}): AppliedResource => ({
  group: '',
  version: 'v1',
  resource: 'configmaps',
  namespace: 'a',
  name,
  uid: name,
  ...more,
});
const many = (count: number): readonly AppliedResource[] =>
  Array.from({ length: count }, (_, index) => entry(`c${index}`));

test('an object in a new version is the same one, and one of another namespace is not', () => {
  const recorded = [entry('a', { version: 'v1beta1' }), entry('b', { namespace: 'x' })];
  assert.deepEqual(untracked(recorded, [entry('a'), entry('b')]), [recorded[1]]);
});

test('a few objects are pruned freely, and more than half of many are not', () => {
  assert.equal(isTooMuch(many(3), many(3)), false);
  assert.equal(isTooMuch(many(4), many(8)), false);
  assert.equal(isTooMuch(many(4), many(7)), true);
});

test('only a reconcile in which everything was applied and read is clean', () => {
  const result = (seen: Seen, applied: ManifestResult['applied'] = 'done'): ManifestResult => ({
    meta: { ordinal: 0, kind: 'ConfigMap', ...entry('a') },
    applied,
    seen,
  });
  assert.equal(isClean([result({ state: 'absent' })]), true);
  for (const seen of [{ state: 'unserved' }, { state: 'unreadable', message: '' }] as const)
    assert.equal(isClean([result({ state: 'absent' }), result(seen)]), false);
  assert.equal(isClean([result({ state: 'absent' }, { reason: 'r', message: 'm' })]), false);
});

test('a work is older than what was applied when its generation went back, or is the same of another content', () => {
  const spec = { uid: 'u', generation: 5, hash: 'h' };
  assert.equal(isOlderThan(spec, textOfSpec(spec)), false);
  assert.equal(isOlderThan(spec, textOfSpec({ ...spec, generation: 4 })), false);
  assert.equal(isOlderThan(spec, textOfSpec({ ...spec, generation: 6 })), true);
  assert.equal(isOlderThan(spec, textOfSpec({ ...spec, hash: 'x' })), true);
  assert.equal(isOlderThan(spec, textOfSpec({ ...spec, uid: 'another work', generation: 9 })), false);
  assert.equal(isOlderThan(spec, ''), false);
});

test('a record is in the order of group, version, resource, namespace and name', () => {
  const sorted = [
    entry('b'),
    entry('a', { namespace: 'b' }),
    entry('a', { resource: 'secrets' }),
    entry('a', { group: 'apps' }),
  ];
  assert.deepEqual(inOrder(sorted.toReversed()), sorted);
});
