// Conformance tests for writing, reopening, the change log and deleting a cluster.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { GatewayError } from '../../model/errors.ts';
import { allOf } from '../../query/list-query.ts';
import { parsePath } from '../../query/path.ts';
import type { LogEntry } from '../store.ts';
import { newLife, pods, configMaps, type Life } from './lives.fixture.ts';
import type { ModelRow } from './model.fixture.ts';
import { TestedStore, type OpenStore } from './tested-store.fixture.ts';

function said({ name, uid, before, after }: LogEntry): readonly unknown[] {
  const version = (body: Uint8Array | undefined): unknown =>
    body && (JSON.parse(Buffer.from(body).toString()) as { version: number }).version;
  return [name, uid, version(before), version(after)];
}

export function testLife(name: string, open: OpenStore): void {
  describe(`${name} over its life`, () => {
    let tested: TestedStore;
    let life: Life;
    const followed = async () =>
      (await tested.store.types()).filter(({ incarnation }) => incarnation.id === life.incarnation.id);
    before(async () => {
      tested = await TestedStore.open(open);
    });
    beforeEach(async () => {
      life = await newLife(tested);
    });
    after(() => tested.remove());

    test('the log has additions, changes and deletions; another uid is a deletion and an addition', async () => {
      const start = tested.store.resourceVersion();
      const heard: string[] = [];
      const end = tested.store.onCommit((resourceVersion) => heard.push(resourceVersion));
      const first = await tested.apply(life.batch([life.row('a', 1), life.row('b', 1)]));
      assert.deepEqual([first.written, first.deleted], [2, 0]);
      const second = await tested.apply(life.batch([life.row('a', 2), life.row('b', 3, { uid: 'other' })]));
      const third = await tested.apply(life.batch([], { deletes: [{ namespace: 'default', name: 'a' }] }));
      assert.deepEqual([third.written, third.deleted], [0, 1]);
      const entries = await tested.store.changes(start, ['pods.'], 100);
      assert.deepEqual(entries.map(said), [
        ['a', 'uid-a', undefined, 1],
        ['b', 'uid-b', undefined, 1],
        ['a', 'uid-a', 1, 2],
        ['b', 'uid-b', 1, undefined],
        ['b', 'other', undefined, 3],
        ['a', 'uid-a', 2, undefined],
      ]);
      const versions = entries.map(({ resourceVersion }) => resourceVersion);
      assert.deepEqual(versions.toSorted(), versions);
      assert.equal(new Set(versions).size, versions.length);
      assert.deepEqual(
        heard,
        [first, second, third].map(({ resourceVersion }) => resourceVersion),
      );
      assert.equal(tested.store.resourceVersion(), versions.at(-1));
      assert.deepEqual(await tested.store.changes(start, ['configmaps.'], 100), []);
      assert.deepEqual(await tested.store.changes(versions[3]!, ['pods.'], 1), [entries[4]]);
      end();
      await tested.apply(life.batch([life.row('c', 1)]));
      assert.equal(heard.length, 3);
    });

    test('rows that are stored byte for byte are neither written nor logged; the position is kept', async () => {
      await tested.apply(
        life.batch([life.row('a', 1), life.row('b', 1)], { position: { resourceVersion: '5', confirmedAtMs: 1 } }),
      );
      const before = tested.store.resourceVersion();
      const again = await tested.apply(
        life.batch([life.row('a', 1), life.row('b', 1)], { position: { resourceVersion: '9', confirmedAtMs: 2 } }),
      );
      assert.deepEqual(again, { resourceVersion: before, written: 0, deleted: 0 });
      assert.deepEqual(await tested.store.changes(before, ['pods.'], 10), []);
      await tested.reopen();
      const kept = await tested.store.types();
      assert.deepEqual(
        await tested.store.types(life.incarnation.id),
        kept.filter(({ incarnation }) => incarnation.id === life.incarnation.id),
      );
      assert.deepEqual(await tested.store.types('none/such'), []);
      assert.deepEqual(
        kept.find((one) => one.incarnation.id === life.incarnation.id),
        { incarnation: life.incarnation, type: pods, position: { resourceVersion: '9', confirmedAtMs: 2 }, objects: 2 },
      );
      assert.equal(tested.store.resourceVersion(), before);
      assert.deepEqual(await tested.store.versions(life.incarnation.id, pods), [
        { namespace: 'default', name: 'a', uid: 'uid-a', resourceVersion: '1' },
        { namespace: 'default', name: 'b', uid: 'uid-b', resourceVersion: '1' },
      ]);
    });

    test('what a follower notes with a position is kept until the next position', async () => {
      const resumes = async () => (await followed()).map(({ position }) => position.resume);
      const position = { resourceVersion: '5', confirmedAtMs: 1 };
      await tested.apply(life.batch([], { position: { ...position, resume: '{"a":"\\u0000 ä"}' } }));
      assert.deepEqual(await resumes(), ['{"a":"\\u0000 ä"}']);
      await tested.apply(life.batch([life.row('a', 1)]));
      await tested.reopen();
      assert.deepEqual(await resumes(), ['{"a":"\\u0000 ä"}']);
      await tested.apply(life.batch([], { position }));
      assert.deepEqual(await resumes(), [undefined]);
    });

    test('an incarnation that is forgotten goes row by row in the log', async () => {
      await tested.apply(life.batch(Array.from({ length: 2500 }, (_, i) => life.row(`pod-${i}`, 1))));
      await tested.apply(life.batch([life.row('settings', 1, { type: configMaps })], { type: configMaps }));
      const before = tested.store.resourceVersion();
      assert.equal((await tested.forget(life.incarnation.id, pods)).deleted, 2500);
      assert.deepEqual(
        (await followed()).map(({ type }) => type.resource),
        ['configmaps'],
      );
      const gone = await tested.store.changes(before, ['pods.'], 5000);
      assert.equal(new Set(gone.map(({ name }) => name)).size, 2500);
      assert.ok(gone.every(({ after }) => after === undefined));
      assert.equal((await tested.forget(life.incarnation.id)).deleted, 1);
      assert.deepEqual(await followed(), []);
      assert.equal((await tested.store.count(allOf(pods, configMaps), life.scope)).count, 0);
    });

    test('a cluster is forgotten with what was sent before, though it was not committed yet, and not with what was sent after', async () => {
      // Keeps the store busy, so that the following writes have to wait.
      const first = tested.apply(life.batch(Array.from({ length: 2500 }, (_, i) => life.row(`pod-${i}`, 1))));
      const late = tested.apply(life.batch([life.row('late', 1)]));
      const [{ deleted }] = await Promise.all([tested.forget(life.incarnation.id), first, late]);
      assert.equal(deleted, 2501);
      assert.deepEqual(await followed(), []);
      const forgotten = tested.forget(life.incarnation.id);
      await Promise.all([forgotten, tested.apply(life.batch([life.row('anew', 1)]))]);
      assert.equal((await tested.store.count(allOf(pods), life.scope)).count, 1);
    });

    test('a page that is read slowly is what it was when it was asked, whatever is written meanwhile', async () => {
      const rows = Array.from({ length: 3000 }, (_, i) => life.row(`pod-${String(i).padStart(4, '0')}`, 1));
      await tested.apply(life.batch(rows));
      const page = await tested.store.list(allOf(pods), life.scope, {});
      const versions = new Map<string, number>();
      let isFirst = true;
      for await (const chunk of page.chunks) {
        for (const { name, raw } of chunk) {
          versions.set(name, (JSON.parse(Buffer.from(raw).toString()) as { version: number }).version);
        }
        if (!isFirst) continue;
        isFirst = false;
        await tested.apply(life.batch(rows.map(({ name }) => life.row(name, 2))));
        await tested.apply(
          life.batch([life.row('pod-zzzz', 1)], { deletes: [{ namespace: 'default', name: 'pod-2999' }] }),
        );
        await tested.apply(life.batch([life.row('pod-2998', 9, { uid: 'another' })]));
      }
      assert.equal(versions.size, 3000);
      assert.ok([...versions.values()].every((version) => version === 1));
      const since = await tested.store.changes(page.resourceVersion, ['pods.'], 10_000);
      assert.equal(since.length, 3000 + 2 + 2);
    });

    test('a reader that stops early leaves nothing behind', async () => {
      await tested.apply(life.batch(Array.from({ length: 3000 }, (_, i) => life.row(`pod-${i}`, 1))));
      const page = await tested.store.list(allOf(pods), life.scope, {});
      for await (const chunk of page.chunks) {
        assert.ok(chunk.length < 3000);
        break;
      }
      assert.equal((await tested.store.count(allOf(pods), life.scope)).count, 3000);
    });

    test('an offset beyond what the store scans is refused with the way on', async () => {
      const limit = tested.store.limits.maxOffset;
      await assert.rejects(
        tested.store.list(allOf(pods), life.scope, { offset: limit + 1 }),
        (error) => error instanceof GatewayError && error.status === 400 && /continue/.test(error.message),
      );
      assert.equal((await tested.store.list(allOf(pods), life.scope, { offset: limit, limit: 1 })).next, undefined);
      await assert.rejects(tested.store.list(allOf(pods), life.scope, { after: ['x', 1] }), { code: 'BAD_REQUEST' });
    });

    test('an object with several of the values that are asked for is one row', async () => {
      const withImages = (name: string, ...images: readonly string[]): ModelRow =>
        life.row(name, 1, { rest: { version: 1, spec: { containers: images.map((image) => ({ image })) } } });
      const others = Array.from({ length: 200 }, (_, i) => withImages(`pod-${i}`, 'nginx'));
      await tested.apply(
        life.batch([...others, withImages('both', 'redis:6', 'redis:7'), withImages('one', 'redis:7')]),
      );
      const path = parsePath('spec.containers[].image');
      const query = { ...allOf(pods), fields: [{ path, operator: 'Contains' as const, values: ['redis'] }] };
      assert.equal((await tested.store.count(query, life.scope)).count, 2);
      const names: string[] = [];
      for await (const chunk of (await tested.store.list(query, life.scope, {})).chunks)
        names.push(...chunk.map(({ name }) => name));
      assert.deepEqual(names, ['both', 'one']);
      assert.deepEqual((await tested.store.facets(query, life.scope, 'namespace', 9)).counts, [
        { value: 'default', count: 2 },
      ]);
      assert.deepEqual((await tested.store.facets(query, life.scope, { path: 'spec.containers[].image' }, 9)).counts, [
        { value: 'redis:7', count: 2 },
        { value: 'redis:6', count: 1 },
      ]);
    });

    test('a batch that cannot be written does not take others with it', async () => {
      const bad = life.batch([], { position: { resourceVersion: '1', confirmedAtMs: Number.NaN } });
      const results = await Promise.allSettled([
        tested.apply(life.batch([life.row('a', 1)])),
        tested.apply(bad),
        tested.apply(life.batch([life.row('b', 1)])),
      ]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      assert.equal((await tested.store.count(allOf(pods), life.scope)).count, 2);
    });
  });
}
