import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeStoredTypes } from '../store/stored-types.ts';
import type { StoredType } from '../store/store.ts';
import { makeTestStore, testIncarnation } from './rights.fixture.ts';
import { StoredIncarnations } from './stored-incarnations.ts';

const one = testIncarnation('one');
const two = testIncarnation('two');

/** A store with two clusters, a clock that stands, and what was read of it. */
function site() {
  const store = makeTestStore();
  store.confirm(one, 100);
  store.confirm(two, 200);
  const read: (string | undefined)[] = [];
  let isDown = false;
  const clock = { nowMs: 0 };
  const noted = {
    catalogVersion: () => store.catalogVersion(),
    types: async (incarnation?: string): Promise<readonly StoredType[]> => {
      read.push(incarnation);
      if (isDown) throw new Error('down');
      return await store.types(incarnation);
    },
  };
  const stored = new StoredIncarnations({ store: noted, types: makeStoredTypes(noted), now: () => clock.nowMs });
  return { store, stored, clock, read, setDown: (now: boolean) => (isDown = now) };
}

test('all types are read again only when the catalog has changed', async () => {
  const { store, stored, clock, read } = site();
  const first = await stored.all();
  assert.deepEqual([...first.keys()], [one.id, two.id]);
  clock.nowMs += 3_600_000;
  assert.equal(await stored.all(), first);
  assert.deepEqual(read, [undefined]);
  store.confirm(testIncarnation('three'), 300);
  assert.equal(await stored.all(), first, 'asked again within a second');
  clock.nowMs += 1_000;
  assert.equal((await stored.all()).size, 3);
});

test('when a cluster last confirmed its types is known as of ten seconds ago, without reading other clusters', async () => {
  const { store, stored, clock, read } = site();
  const confirmed = async (id: string): Promise<number | undefined> => (await stored.confirmations(id)).get('pods.');
  assert.deepEqual([await confirmed(one.id), await confirmed(two.id)], [100, 200]);
  store.confirm(one, 101);
  clock.nowMs += 9_999;
  assert.equal(await confirmed(one.id), 100);
  clock.nowMs += 1;
  assert.equal(await confirmed(one.id), 101);
  assert.deepEqual(read, [one.id, two.id, one.id]);
  assert.equal(await confirmed('gone'), undefined);
});

test('a store that fails fails the question, and the next one tries again', async () => {
  const { stored, setDown } = site();
  setDown(true);
  await assert.rejects(stored.all(), /down/);
  await assert.rejects(stored.confirmations(one.id), /down/);
  setDown(false);
  assert.equal((await stored.all()).size, 2);
  assert.equal((await stored.confirmations(one.id)).get('pods.'), 100);
});
