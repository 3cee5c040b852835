import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Store, type StoreEvent } from './store.ts';

const object = (name: string, namespace = 'n', data = 'x') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});
const make = (historyLimit?: number) => new Store(() => new Date(0), historyLimit);

test('each change gets the next revision, and the object carries it', () => {
  const store = make();
  const first = store.insert('/configmaps', object('a'));
  const second = store.replace('/configmaps', { ...first, data: 'y' });
  assert.equal(Number(second.metadata.resourceVersion), Number(first.metadata.resourceVersion) + 1);
  assert.equal(store.revision, Number(second.metadata.resourceVersion));
  assert.equal(second.metadata.uid, first.metadata.uid);
});

test('a replacement that changes nothing is no change', () => {
  const store = make();
  const first = store.insert('/configmaps', object('a'));
  const { revision } = store;
  assert.equal(
    store.replace('/configmaps', { ...first, metadata: { ...first.metadata, resourceVersion: '0' } }),
    first,
  );
  assert.equal(store.revision, revision);
});

test('a list is ordered by namespace and name, whatever the order of writing', () => {
  const store = make();
  for (const [name, namespace] of [
    ['b', 'n'],
    ['a', 'z'],
    ['a', 'n'],
    ['c', 'm'],
  ] as const)
    store.insert('/configmaps', object(name, namespace));
  assert.deepEqual(
    store.list('/configmaps').map((o) => `${o.metadata.namespace}/${o.metadata.name}`),
    ['m/c', 'n/a', 'n/b', 'z/a'],
  );
  assert.deepEqual(
    store.list('/configmaps', 'n').map((o) => o.metadata.name),
    ['a', 'b'],
  );
});

test('subscribers see every change in order, with the object before', () => {
  const store = make();
  const events: StoreEvent[] = [];
  const stop = store.subscribe('/configmaps', (event) => events.push(event));
  const first = store.insert('/configmaps', object('a'));
  store.insert('/secrets', object('other'));
  store.replace('/configmaps', { ...first, data: 'y' });
  store.remove('/configmaps', 'n', 'a');
  stop();
  store.insert('/configmaps', object('b'));
  assert.deepEqual(
    events.map((event) => [event.type, event.previous?.['data']]),
    [
      ['ADDED', undefined],
      ['MODIFIED', 'x'],
      ['DELETED', 'y'],
    ],
  );
  assert.equal(events[2]?.object.metadata.resourceVersion, String(events[2]?.revision));
});

test('history gives the changes after a revision, of one resource', () => {
  const store = make();
  const start = store.revision;
  store.insert('/configmaps', object('a'));
  const middle = store.revision;
  store.insert('/secrets', object('s'));
  store.insert('/configmaps', object('b'));
  assert.deepEqual(
    store.since('/configmaps', middle)?.map((event) => event.object.metadata.name),
    ['b'],
  );
  assert.equal(store.since('/configmaps', start)?.length, 2);
  assert.deepEqual(store.since('/configmaps', store.revision), []);
});

test('history that was compacted or overrun is gone, not empty', () => {
  const store = make(5);
  const start = store.revision;
  for (let i = 0; i < 20; i++) store.insert('/configmaps', object(`o${i}`));
  assert.equal(store.since('/configmaps', start), undefined);
  assert.ok(store.oldest > start);
  assert.ok((store.since('/configmaps', store.oldest)?.length ?? 0) >= 5);
  const before = store.revision;
  store.insert('/configmaps', object('last'));
  store.compact();
  assert.equal(store.since('/configmaps', before), undefined);
  assert.deepEqual(store.since('/configmaps', store.revision), []);
});
