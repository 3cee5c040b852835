import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedObject, isAsWanted, newObject } from './desired.ts';

const owner = { apiVersion: 'work.open-cluster-management.io/v1', kind: 'AppliedManifestWork', name: 'w', uid: 'own' };
const other = { apiVersion: 'v1', kind: 'Namespace', name: 'n', uid: 'other' };
const owned = { owner, wanted: true };

test('labels and annotations are merged, and a key that ends in "-" removes one', () => {
  const live = { metadata: { labels: { a: '1', gone: 'x' }, annotations: { theirs: 'x' }, finalizers: ['f'] } };
  const manifest = { metadata: { labels: { b: '2', 'gone-': '' } } };
  const { metadata } = changedObject(live, manifest, owned) as { metadata: Record<string, unknown> };
  assert.deepEqual(metadata, {
    labels: { a: '1', b: '2' },
    annotations: { theirs: 'x' },
    finalizers: ['f'],
    ownerReferences: [owner],
  });
  assert.deepEqual(newObject(manifest, { owner, wanted: false }), { metadata: { labels: { b: '2' } } });
});

test('our reference is added to the owners or taken out, and others stay', () => {
  const owners = (before: readonly object[], wanted: boolean): unknown =>
    (
      changedObject({ metadata: { ownerReferences: before } }, {}, { owner, wanted })['metadata'] as Record<
        string,
        unknown
      >
    )['ownerReferences'];
  assert.deepEqual(owners([other], true), [other, owner]);
  assert.deepEqual(owners([other, owner], false), [other]);
});

test('fields that the manifest does not have are lost', () => {
  const map = changedObject(
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { a: '1', b: '2' } },
    { apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } },
    owned,
  );
  assert.deepEqual(map['data'], { a: '1' });
});

test('the number of replicas is left as it is where the manifest does not say one', () => {
  const deployment = (spec: object): Record<string, unknown> => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {},
    spec,
  });
  const live = deployment({ replicas: 5, paused: true });
  assert.deepEqual(changedObject(live, deployment({}), owned)['spec'], { replicas: 5 });
  assert.deepEqual(changedObject(live, deployment({ replicas: 2 }), owned)['spec'], { replicas: 2 });
});

test('only what a manifest can say makes a difference', () => {
  const live = {
    kind: 'ConfigMap',
    metadata: { labels: { a: '1' }, resourceVersion: '1', ownerReferences: [owner] },
    data: { a: '1' },
    status: { x: 1 },
  };
  const manifest = { kind: 'ConfigMap', metadata: { labels: { a: '1' } }, data: { a: '1' } };
  assert.equal(isAsWanted(live, changedObject(live, manifest, owned)), true);
  assert.equal(isAsWanted(live, changedObject(live, { ...manifest, data: { a: '2' } }, owned)), false);
  assert.equal(isAsWanted(live, changedObject(live, manifest, { owner, wanted: false })), false);
});
