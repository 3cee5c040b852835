import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { makeObjectWriter } from '../../kube/objects/object-writer.ts';
import { byPriority, deleteNextWorks, dropWorks } from './cluster-works.ts';

const annotation = 'open-cluster-management.io/cleanup-priority';
const collection = 'manifestworks.work.open-cluster-management.io';
const types = [{ group: 'work.open-cluster-management.io', versions: ['v1'], resource: 'manifestworks' }];

function work(name: string, priority?: string): ApiObject {
  const annotations: Record<string, string> = priority === undefined ? {} : { [annotation]: priority };
  return { metadata: { name, namespace: 'edge', uid: name, resourceVersion: '1', annotations } };
}

test('works are grouped by priority, and what is no number from 0 to 100 counts as 0 or 100', () => {
  const works = [work('a', '100'), work('b', '10'), work('c'), work('d', 'soon'), work('e', '999')];
  assert.deepEqual(
    byPriority(works).map((level) => level.map(({ metadata }) => metadata.name)),
    [['c', 'd'], ['b'], ['a', 'e']],
  );
});

test('one level of works is deleted at a time, and a hub without works has nothing to wait for', async () => {
  const hub = new FakeClient(types);
  for (const each of [work('late', '10'), work('early')]) hub.put(collection, each);
  const writer = makeObjectWriter(hub);
  assert.deepEqual(await deleteNextWorks(hub, writer, 'edge'), ['manifestworks early', 'manifestworks late']);
  assert.deepEqual(hub.names(collection), ['late']);
  assert.deepEqual(await deleteNextWorks(hub, writer, 'other'), []);
  assert.deepEqual(hub.names(collection), ['late']);
  assert.deepEqual(await deleteNextWorks(new FakeClient([]), writer, 'edge'), []);
});

test('works of a cluster that is given up lose their finalizers, those of others do not', async () => {
  const hub = new FakeClient(types);
  const held = { finalizers: ['example.com/held'] };
  hub.put(collection, { metadata: { ...work('a').metadata, ...held } });
  hub.put(collection, { metadata: { ...work('b').metadata, namespace: 'other', ...held } });
  await dropWorks(hub, makeObjectWriter(hub), 'edge');
  assert.deepEqual(hub.names(collection), ['b']);
});
