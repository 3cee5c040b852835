import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typeInfo } from './conformance/model.fixture.ts';
import type { StoredType } from './store.ts';
import { makeStoredTypes, storedTypesOf } from './stored-types.ts';

const position = { resourceVersion: '1', confirmedAtMs: 1 };
const storedPods: StoredType = {
  incarnation: { id: 'record/life', cluster: 'one' },
  type: typeInfo('', 'pods'),
  position,
  objects: 1,
};

test('types are read again when the catalog of the store has changed, and not before', async () => {
  let version = '1';
  let reads = 0;
  const types = makeStoredTypes({
    catalogVersion: async () => version,
    types: async () => [{ ...storedPods, objects: ++reads }],
  });
  const [first, second] = await Promise.all([types(), types()]);
  assert.equal(second, first);
  assert.equal(await types(), first);
  version = '2';
  const third = await types();
  assert.notEqual(third, first);
  assert.equal(await types(), third);
  assert.equal(reads, 2);
});

test('a store that cannot be read is asked again', async () => {
  let fails = true;
  const types = makeStoredTypes({
    catalogVersion: async () => '1',
    types: async () => {
      if (fails) throw new Error('down');
      return [storedPods];
    },
  });
  await assert.rejects(types(), /down/);
  fails = false;
  assert.deepEqual(await types(), [storedPods]);
});

test('types that many clusters have in common are one object', () => {
  const info = JSON.stringify({ group: '', resource: 'pods' });
  const [one, two, nodes] = storedTypesOf([
    ['one/1', 'one', info, '7', 100, 3, ''],
    ['two/1', 'two', info, '8', 200, 4, 'from here'],
    ['two/1', 'two', JSON.stringify({ group: '', resource: 'nodes' }), '9', 300, 5, ''],
  ]);
  assert.equal(one!.type, two!.type);
  assert.equal(two!.incarnation, nodes!.incarnation);
  assert.equal(nodes!.type.resource, 'nodes');
  assert.deepEqual(one!.position, { resourceVersion: '7', confirmedAtMs: 100 });
  assert.deepEqual(two!.position, { resourceVersion: '8', confirmedAtMs: 200, resume: 'from here' });
});
