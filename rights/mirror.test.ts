import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRightsMirror } from './mirror.ts';
import { binding, makeTestStore, role, rule, testIncarnation, testUser } from './rights.fixture.ts';

const pods = { group: '', resource: 'pods', namespaced: true };
const one = testIncarnation('one');
const two = testIncarnation('two');
const jane = testUser('jane');
const reader = role('reader', undefined, rule('list', 'pods'));
const bound = binding('b', 'team', 'ClusterRole/reader', 'User/jane');

test('what was committed before a question is known when it is answered, each incarnation by itself', async () => {
  const store = makeTestStore();
  store.confirm(one, 1);
  store.confirm(two, 1);
  store.putAll(one, [reader, bound]);
  const mirror = makeRightsMirror(store);
  await mirror.current();
  assert.deepEqual(mirror.view(one.id).grant(jane, 'list', pods), { namespaces: ['team'], names: [] });
  assert.deepEqual(mirror.view(two.id).grant(jane, 'list', pods), { namespaces: [], names: [] });
  store.putAll(two, [reader, binding('c', undefined, 'ClusterRole/reader', 'User/jane')]);
  store.remove(one, bound);
  await mirror.current();
  assert.deepEqual(mirror.view(one.id).grant(jane, 'list', pods), { namespaces: [], names: [] });
  assert.equal(mirror.view(two.id).grant(jane, 'list', pods), 'all');
  assert.equal(store.reads.lists, 1);
  mirror.close();
});

test('an incarnation that comes later is followed, and many changes at once are all seen', async () => {
  const store = makeTestStore();
  const mirror = makeRightsMirror(store);
  await mirror.current();
  store.putAll(one, [reader]);
  for (let index = 0; index < 1_200; index++) {
    store.putAll(one, [binding('b', `n${index}`, 'ClusterRole/reader', 'User/jane')]);
  }
  await mirror.current();
  const grant = mirror.view(one.id).grant(jane, 'list', pods);
  assert.ok(grant !== 'all' && grant.namespaces.length === 1_200);
  mirror.close();
});

test('a log that no longer reaches back is replaced by reading everything, and nothing old stays', async () => {
  const store = makeTestStore();
  store.confirm(one, 1);
  store.putAll(one, [reader, bound]);
  const mirror = makeRightsMirror(store);
  await mirror.current();
  const before = mirror.view(one.id).generation;
  store.remove(one, bound);
  store.trim();
  store.put(two, 'namespaces', '', 'x', {});
  await mirror.current();
  assert.deepEqual(mirror.view(one.id).grant(jane, 'list', pods), { namespaces: [], names: [] });
  assert.notEqual(mirror.view(one.id).generation, before);
  assert.equal(store.reads.lists, 2);
  mirror.close();
});

test('listeners hear of changed rights after a commit without anybody asking, and of nothing else', async () => {
  const store = makeTestStore();
  store.confirm(one, 1);
  let run: (() => void) | undefined;
  const mirror = makeRightsMirror(store, { defer: (task) => (run = task) });
  await mirror.current();
  let heard = 0;
  mirror.onChange(() => (heard += 1));
  store.put(one, 'pods', 'team', 'x', {});
  run?.();
  await mirror.current();
  assert.equal(heard, 0);
  store.putAll(one, [reader]);
  run?.();
  await mirror.current();
  assert.equal(heard, 1);
  mirror.close();
});

test('a store that fails fails the question, and the next one tries again', async () => {
  const store = makeTestStore();
  let failing = true;
  const mirror = makeRightsMirror({
    ...store,
    list: async (...given) => {
      if (failing) throw new Error('down');
      return await store.list(...given);
    },
  });
  store.confirm(one, 1);
  store.putAll(one, [reader, bound]);
  await assert.rejects(mirror.current(), /down/);
  failing = false;
  await mirror.current();
  assert.deepEqual(mirror.view(one.id).grant(jane, 'list', pods), { namespaces: ['team'], names: [] });
  mirror.close();
});

test('what an answer of the store has shown is in the views, though this process has not heard of the commit yet', async () => {
  const store = makeTestStore();
  store.confirm(one, 1);
  store.putAll(one, [reader, bound]);
  let heardOf = store.resourceVersion();
  const mirror = makeRightsMirror({ ...store, resourceVersion: () => heardOf });
  assert.equal(await mirror.current(), heardOf);
  store.remove(one, bound);
  const shown = store.resourceVersion();
  assert.equal(await mirror.current(), heardOf);
  assert.deepEqual(mirror.view(one.id).grant(jane, 'list', pods), { namespaces: ['team'], names: [] });
  assert.equal(await mirror.current(shown), shown);
  assert.deepEqual(mirror.view(one.id).grant(jane, 'list', pods), { namespaces: [], names: [] });
  heardOf = shown;
  assert.equal(await mirror.current(), shown);
  mirror.close();
});
