// Conformance tests for leases of a shared store: a process that has lost a lease can write nothing.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { allOf } from '../../query/list-query.ts';
import { FencedError } from '../fenced-error.ts';
import { newLife, pods } from './lives.fixture.ts';
import { TestedStore, type OpenStore } from './tested-store.fixture.ts';

/** Adds the tests. They are skipped for a store of one process, which has no leases. */
export function testFences(name: string, open: OpenStore): void {
  describe(`leases of ${name}`, () => {
    let tested: TestedStore;
    before(async () => {
      tested = await TestedStore.open(open);
    });
    after(() => tested.remove());

    test('who has lost the lease of a shard writes and forgets nothing there, and who took it does', async (t) => {
      if (!tested.hasLeases) {
        t.skip('a store of one process');
        return;
      }
      const life = await newLife(tested);
      const { incarnation, scope } = life;
      const { id } = incarnation;
      const lost = (await tested.lease(id))!;
      await tested.apply(life.batch([life.row('a', 1)], { position: { resourceVersion: '1', confirmedAtMs: 1 } }));
      const taken = (await tested.lease(id))!;
      assert.equal(taken.shard, lost.shard);
      const { store } = tested;
      const before = await store.readPoint();
      const catalog = await store.catalogVersion();
      const late = life.batch([life.row('b', 1)], { position: { resourceVersion: '2', confirmedAtMs: 2 } });
      await assert.rejects(store.apply(late, lost), FencedError);
      await assert.rejects(store.apply(life.batch([]), lost), FencedError);
      await assert.rejects(store.forget(id, undefined, lost), FencedError);
      await assert.rejects(store.forget(id, pods, lost), FencedError);
      assert.deepEqual(await store.readPoint(), before);
      assert.equal(await store.catalogVersion(), catalog);
      assert.equal((await store.count(allOf(pods), scope)).count, 1);
      assert.deepEqual(
        (await store.types()).flatMap(({ incarnation: of, position }) => (of.id === id ? [position] : [])),
        [{ resourceVersion: '1', confirmedAtMs: 1 }],
      );
      assert.equal((await store.apply(late, taken)).written, 1);
      assert.equal((await store.forget(id, undefined, taken)).deleted, 2);
    });
  });
}
