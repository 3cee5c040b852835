import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';

import { GatewayError } from '../../../cache/model/errors.ts';
import { allOf } from '../../query/list-query.ts';
import { parsePath } from '../../query/path.ts';
import type { RowScope } from '../../rights/scope.ts';
import { isIndexFull } from '../index-full.ts';
import { indexVersionsOf } from '../index-version.ts';
import type { Commit, LogEntry, WriteBatch } from '../store.ts';
import { defaultLogLimits } from './write/change-log.ts';
import { openIndexFile } from './file.ts';
import { packBatch } from './threads/messages.ts';
import { rowWrite, typeInfo, type ModelRow } from './model.fixture.ts';
import { openReader } from './read/reader.ts';
import { openSqliteStore, type SqliteStore } from './store.ts';
import { Writer, type WriterOptions } from './write/writer.ts';

const pods = typeInfo('', 'pods');
const configMaps = typeInfo('', 'configmaps');
/** Of one test. */
let incarnation = { id: '', cluster: 'one' };
let scope: RowScope;
let lives = 0;

function newIncarnation(): void {
  incarnation = { id: `record/${++lives}`, cluster: 'one' };
  const types = new Map([['pods.', 'all'] as const, ['configmaps.', 'all'] as const]);
  scope = { digest: incarnation.id, grants: new Map([[incarnation.id, types]]) };
}

function row(name: string, version: number, more: Partial<ModelRow> = {}): ModelRow {
  const { id, cluster } = incarnation;
  const names = { cluster, incarnation: id, type: pods, namespace: 'default', name, uid: `uid-${name}`, ownerUid: '' };
  return { ...names, createdAtMs: 0, resourceVersion: String(version), labels: {}, rest: { version }, ...more };
}

function batch(upserts: readonly ModelRow[], more: Partial<WriteBatch> = {}): WriteBatch {
  return { incarnation, type: pods, upserts: upserts.map(rowWrite), deletes: [], ...more };
}

function said({ name, uid, before, after }: LogEntry): readonly unknown[] {
  const version = (body: Uint8Array | undefined): unknown =>
    body && (JSON.parse(Buffer.from(body).toString()) as { version: number }).version;
  return [name, uid, version(before), version(after)];
}

describe('a store over its life', () => {
  let store: SqliteStore;
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-life-'));
  const followed = async () => (await store.types()).filter((one) => one.incarnation.id === incarnation.id);
  before(async () => {
    store = await openSqliteStore({ directory, onDamage: assert.fail });
  });
  beforeEach(newIncarnation);
  after(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  test('the log has additions, changes and deletions; another uid is a deletion and an addition', async () => {
    const start = store.resourceVersion();
    const heard: string[] = [];
    const end = store.onCommit((resourceVersion) => heard.push(resourceVersion));
    const first = await store.apply(batch([row('a', 1), row('b', 1)]));
    assert.deepEqual([first.written, first.deleted], [2, 0]);
    const second = await store.apply(batch([row('a', 2), row('b', 3, { uid: 'other' })]));
    const third = await store.apply(batch([], { deletes: [{ namespace: 'default', name: 'a' }] }));
    assert.deepEqual([third.written, third.deleted], [0, 1]);
    const entries = await store.changes(start, ['pods.'], 100);
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
    assert.equal(store.resourceVersion(), versions.at(-1));
    assert.deepEqual(await store.changes(start, ['configmaps.'], 100), []);
    assert.deepEqual(await store.changes(versions[3]!, ['pods.'], 1), [entries[4]]);
    end();
    await store.apply(batch([row('c', 1)]));
    assert.equal(heard.length, 3);
  });

  test('rows that are stored byte for byte are neither written nor logged; the position is kept', async () => {
    await store.apply(batch([row('a', 1), row('b', 1)], { position: { resourceVersion: '5', confirmedAtMs: 1 } }));
    const before = store.resourceVersion();
    const again = await store.apply(
      batch([row('a', 1), row('b', 1)], { position: { resourceVersion: '9', confirmedAtMs: 2 } }),
    );
    assert.deepEqual(again, { resourceVersion: before, written: 0, deleted: 0 });
    assert.deepEqual(await store.changes(before, ['pods.'], 10), []);
    await store.close();
    store = await openSqliteStore({ directory, onDamage: assert.fail });
    const kept = await store.types();
    assert.deepEqual(
      kept.find((one) => one.incarnation.id === incarnation.id),
      { incarnation, type: pods, position: { resourceVersion: '9', confirmedAtMs: 2 }, objects: 2 },
    );
    assert.equal(store.resourceVersion(), before);
    assert.deepEqual(await store.versions(incarnation.id, pods), [
      { namespace: 'default', name: 'a', uid: 'uid-a', resourceVersion: '1' },
      { namespace: 'default', name: 'b', uid: 'uid-b', resourceVersion: '1' },
    ]);
  });

  test('an incarnation that is forgotten goes row by row in the log', async () => {
    await store.apply(batch(Array.from({ length: 2500 }, (_, i) => row(`pod-${i}`, 1))));
    await store.apply(batch([row('settings', 1, { type: configMaps })], { type: configMaps }));
    const before = store.resourceVersion();
    assert.equal((await store.forget(incarnation.id, pods)).deleted, 2500);
    assert.deepEqual(
      (await followed()).map(({ type }) => type.resource),
      ['configmaps'],
    );
    const gone = await store.changes(before, ['pods.'], 5000);
    assert.equal(new Set(gone.map(({ name }) => name)).size, 2500);
    assert.ok(gone.every(({ after }) => after === undefined));
    assert.equal((await store.forget(incarnation.id)).deleted, 1);
    assert.deepEqual(await followed(), []);
    assert.equal((await store.count(allOf(pods, configMaps), scope)).count, 0);
  });

  test('a cluster is forgotten with what was sent before, though it was not committed yet, and not with what was sent after', async () => {
    // Keeps the store busy, so that what follows waits.
    const first = store.apply(batch(Array.from({ length: 2500 }, (_, i) => row(`pod-${i}`, 1))));
    const late = store.apply(batch([row('late', 1)]));
    const [{ deleted }] = await Promise.all([store.forget(incarnation.id), first, late]);
    assert.equal(deleted, 2501);
    assert.deepEqual(await followed(), []);
    const forgotten = store.forget(incarnation.id);
    await Promise.all([forgotten, store.apply(batch([row('anew', 1)]))]);
    assert.equal((await store.count(allOf(pods), scope)).count, 1);
  });

  test('every answer says what it saw: the newest change, and the newest of a role or binding', async () => {
    const roles = typeInfo('rbac.authorization.k8s.io', 'roles');
    const saw = async () => {
      const some = await Promise.all([
        store.readPoint(),
        store.list(allOf(pods), scope, {}),
        // A look-up of one object goes another way.
        store.list({ ...allOf(pods), clusters: ['one'], namespaces: ['default'], names: ['a'] }, scope, {}),
        store.count(allOf(pods), scope),
        store.facets(allOf(pods), scope, 'namespace', 9),
        store.values(allOf(pods), scope, { label: 'app' }, '', 9),
      ]);
      const points = some.map(({ resourceVersion, rightsVersion }) => ({ resourceVersion, rightsVersion }));
      for (const point of points) assert.deepEqual(point, points[0]);
      assert.equal(points[0]!.resourceVersion, store.resourceVersion());
      return points[0]!;
    };
    await store.apply(batch([row('a', 1)]));
    const before = await saw();
    const granted = await store.apply(batch([row('r', 1, { type: roles })], { type: roles }));
    assert.deepEqual(await saw(), {
      resourceVersion: granted.resourceVersion,
      rightsVersion: granted.resourceVersion,
    });
    assert.ok(before.rightsVersion < granted.resourceVersion);
    const unrelated = await store.apply(batch([row('a', 2)]));
    await store.apply(batch([row('r', 1, { type: roles })], { type: roles }));
    assert.deepEqual(await saw(), {
      resourceVersion: unrelated.resourceVersion,
      rightsVersion: granted.resourceVersion,
    });
    await store.close();
    store = await openSqliteStore({ directory, onDamage: assert.fail });
    assert.equal((await saw()).rightsVersion, granted.resourceVersion);
    const revoked = await store.forget(incarnation.id, roles);
    assert.deepEqual(await saw(), {
      resourceVersion: revoked.resourceVersion,
      rightsVersion: revoked.resourceVersion,
    });
  });

  test('the version of the catalog changes with types, what is known of them and their wholeness, not with rows', async () => {
    const versions = [await store.catalogVersion()];
    const isOther = async (): Promise<boolean> => {
      versions.push(await store.catalogVersion());
      return versions.at(-1) !== versions.at(-2);
    };
    const at = (resourceVersion: string) => ({ position: { resourceVersion, confirmedAtMs: 1 } });
    await store.apply(batch([row('a', 1)]));
    assert.ok(await isOther(), 'a type');
    await store.apply(batch([row('a', 2), row('elsewhere', 1, { namespace: 'new' })], at('')));
    assert.ok(!(await isOther()), 'rows');
    await store.apply(batch([], at('7')));
    assert.ok(await isOther(), 'whole');
    await store.apply(batch([row('b', 1)], at('8')));
    assert.ok(!(await isOther()), 'rows and their position');
    await store.apply(batch([], { type: { ...pods, shortNames: ['po'] } }));
    assert.ok(await isOther(), 'another name of a type');
    await store.apply(batch([], at('')));
    assert.ok(await isOther(), 'not whole any more');
    await store.forget(incarnation.id);
    assert.ok(await isOther(), 'forgotten');
    assert.equal(new Set(versions).size, 6);
    await store.forget(incarnation.id);
    assert.ok(!(await isOther()), 'nothing was there');
  });

  test('a page that is read slowly is what it was when it was asked, whatever is written meanwhile', async () => {
    const rows = Array.from({ length: 3000 }, (_, i) => row(`pod-${String(i).padStart(4, '0')}`, 1));
    await store.apply(batch(rows));
    const page = await store.list(allOf(pods), scope, {});
    const versions = new Map<string, number>();
    let isFirst = true;
    for await (const chunk of page.chunks) {
      for (const { name, raw } of chunk) {
        versions.set(name, (JSON.parse(Buffer.from(raw).toString()) as { version: number }).version);
      }
      if (!isFirst) continue;
      isFirst = false;
      await store.apply(batch(rows.map(({ name }) => row(name, 2))));
      await store.apply(batch([row('pod-zzzz', 1)], { deletes: [{ namespace: 'default', name: 'pod-2999' }] }));
      await store.apply(batch([row('pod-2998', 9, { uid: 'another' })]));
    }
    assert.equal(versions.size, 3000);
    assert.ok([...versions.values()].every((version) => version === 1));
    const since = await store.changes(page.resourceVersion, ['pods.'], 10_000);
    assert.equal(since.length, 3000 + 2 + 2);
  });

  test('a reader that stops early leaves nothing behind', async () => {
    await store.apply(batch(Array.from({ length: 3000 }, (_, i) => row(`pod-${i}`, 1))));
    const page = await store.list(allOf(pods), scope, {});
    for await (const chunk of page.chunks) {
      assert.ok(chunk.length < 3000);
      break;
    }
    assert.equal((await store.count(allOf(pods), scope)).count, 3000);
  });

  test('an offset beyond what the store walks is refused with the way on', async () => {
    const limit = store.limits.maxOffset;
    await assert.rejects(
      store.list(allOf(pods), scope, { offset: limit + 1 }),
      (error) => error instanceof GatewayError && error.status === 400 && /continue/.test(error.message),
    );
    assert.equal((await store.list(allOf(pods), scope, { offset: limit, limit: 1 })).next, undefined);
    await assert.rejects(store.list(allOf(pods), scope, { after: ['x', 1] }), { code: 'BAD_REQUEST' });
  });

  test('an object with several of the values that are asked for is one row', async () => {
    const withImages = (name: string, ...images: readonly string[]): ModelRow =>
      row(name, 1, { rest: { version: 1, spec: { containers: images.map((image) => ({ image })) } } });
    const others = Array.from({ length: 200 }, (_, i) => withImages(`pod-${i}`, 'nginx'));
    await store.apply(batch([...others, withImages('both', 'redis:6', 'redis:7'), withImages('one', 'redis:7')]));
    const path = parsePath('spec.containers[].image');
    const query = { ...allOf(pods), fields: [{ path, operator: 'Contains' as const, values: ['redis'] }] };
    assert.equal((await store.count(query, scope)).count, 2);
    const names: string[] = [];
    for await (const chunk of (await store.list(query, scope, {})).chunks) names.push(...chunk.map(({ name }) => name));
    assert.deepEqual(names, ['both', 'one']);
    assert.deepEqual((await store.facets(query, scope, 'namespace', 9)).counts, [{ value: 'default', count: 2 }]);
    assert.deepEqual((await store.facets(query, scope, { path: 'spec.containers[].image' }, 9)).counts, [
      { value: 'redis:7', count: 2 },
      { value: 'redis:6', count: 1 },
    ]);
  });

  test('a batch that cannot be written does not take others with it', async () => {
    const bad = { ...batch([row('bad', 1)]), upserts: [{ ...rowWrite(row('bad', 1)), createdAtMs: Number.NaN }] };
    const results = await Promise.allSettled([
      store.apply(batch([row('a', 1)])),
      store.apply(bad),
      store.apply(batch([row('b', 1)])),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal((await store.count(allOf(pods), scope)).count, 2);
  });

  test('a resourceVersion of elsewhere is expired', async () => {
    const issued = store.resourceVersion();
    const own = indexVersionsOf(store.id);
    const atUs = own.read(issued)!;
    const theirs = indexVersionsOf(store.id.startsWith('0') ? `f${store.id.slice(1)}` : `0${store.id.slice(1)}`);
    const foreign = Array.from({ length: 100 }, (_, i) => theirs.make(atUs - i)).filter((one) => !store.canBeOwn(one));
    assert.ok(foreign.length > 90, 'digits tell stores apart');
    for (const other of ['12345', '', ...foreign]) {
      assert.ok(!store.canBeOwn(other) && !(await store.isInLog(other)), other);
      await assert.rejects(store.changes(other, ['pods.'], 10), { name: 'GatewayError', code: 'EXPIRED' });
    }
    // Check digits that fit by chance are not enough: nothing was committed at that time.
    await store.apply(batch([row('later', 1)]));
    const laterUs = own.read(store.resourceVersion())!;
    for (const guessed of [atUs + 1, laterUs + 1].filter((us) => us !== laterUs).map(own.make)) {
      assert.ok(store.canBeOwn(guessed) && !(await store.isInLog(guessed)));
      await assert.rejects(store.changes(guessed, ['pods.'], 10), { name: 'GatewayError', code: 'EXPIRED' });
    }
    assert.ok(await store.isInLog(issued));
    assert.equal((await store.changes(issued, ['pods.'], 10)).length, 1);
  });

  test('a store keeps its name; one that is built anew has another, and what was issued before is expired', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-anew-'));
    const open = (): Promise<SqliteStore> => openSqliteStore({ directory: folder, onDamage: assert.fail });
    let other = await open();
    const { id } = other;
    const start = other.resourceVersion();
    assert.ok(await other.isInLog(start), 'an empty index has a version to go on from');
    const { resourceVersion } = await other.apply(batch([row('a', 1)]));
    await other.close();
    other = await open();
    assert.equal(other.id, id);
    assert.equal((await other.changes(start, ['pods.'], 10)).length, 1);
    assert.ok(await other.isInLog(resourceVersion));
    await other.close();
    rmSync(folder, { recursive: true });
    other = await open();
    assert.notEqual(other.id, id);
    for (const version of [start, resourceVersion]) {
      assert.ok(!(await other.isInLog(version)));
      await assert.rejects(other.changes(version, ['pods.'], 10), { code: 'EXPIRED' });
    }
    await other.close();
    rmSync(folder, { recursive: true });
  });
});

describe('a store with small limits', () => {
  const root = mkdtempSync(join(tmpdir(), 'portcullis-limits-'));
  const closers: (() => void)[] = [];
  beforeEach(newIncarnation);
  after(() => {
    for (const close of closers) close();
    rmSync(root, { recursive: true });
  });

  /** Without threads. */
  function openDirectly(options: Partial<WriterOptions>) {
    const nowUs = (): number => Date.now() * 1000;
    const directory = join(root, incarnation.id);
    const index = openIndexFile({ directory, pathsDigest: '', cacheBytes: 1 << 20, nowUs, onSetAside: assert.fail });
    const onStopped = (): void => undefined;
    const writer = new Writer(index.db, index.file, {
      log: defaultLogLimits,
      maxBytes: undefined,
      nowUs,
      onStopped,
      onTrouble: assert.fail,
      ...options,
    });
    const reader = openReader(index.file, 1 << 20);
    closers.push(reader.close, index.close);
    const apply = (change: WriteBatch): Commit => {
      const [result] = writer.apply([packBatch(change)]);
      if ('error' in result!) throw result.error;
      return result!.commit;
    };
    return { writer, reader, apply };
  }

  test('a log that was trimmed says from where it still goes on, and older questions are expired', () => {
    const { writer, reader, apply } = openDirectly({ log: { ...defaultLogLimits, entries: 100 } });
    const start = writer.sequence;
    assert.equal(reader.operations.oldest(), start);
    for (let version = 1; version <= 12; version++) {
      apply(batch(Array.from({ length: 100 }, (_, i) => row(`pod-${i}`, version))));
    }
    const oldest = reader.operations.oldest();
    assert.ok(oldest > start);
    const { entries } = reader.operations.changes({ sinceUs: oldest, types: ['pods.'], limit: 5000 });
    assert.ok(entries.length >= 100 && entries.length <= 700);
    assert.deepEqual(said(entries.at(-1)!).slice(2), [11, 12]);
    assert.throws(() => reader.operations.changes({ sinceUs: start, types: ['pods.'], limit: 1 }), { code: 'EXPIRED' });
  });

  test('bodies kept for the log are bounded, whatever their number', () => {
    const { reader, apply } = openDirectly({ log: { ...defaultLogLimits, bytes: 100_000 } });
    const large = { data: 'x'.repeat(10_000) };
    for (let version = 1; version <= 30; version++)
      apply(batch([row('pod', version, { rest: { version, ...large } })]));
    const sinceUs = reader.operations.oldest();
    const { entries } = reader.operations.changes({ sinceUs, types: ['pods.'], limit: 100 });
    assert.ok(entries.length >= 8 && entries.length <= 11, `${entries.length}`);
  });

  test('a full index refuses its largest type by a reason of its own, and takes deletions', () => {
    const stopped: (readonly string[])[] = [];
    // Bodies of deleted objects go to the log, which takes room too.
    const { apply } = openDirectly({
      log: { ...defaultLogLimits, bytes: 10_000 },
      maxBytes: 2 << 20,
      onStopped: (types) => stopped.push(types),
    });
    const large = { rest: { version: 1, data: 'x'.repeat(10_000) } };
    let stored = 0;
    assert.throws(() => {
      for (; ; stored++) apply(batch([row(`pod-${stored}`, 1, large)]));
    }, isIndexFull);
    assert.ok(stored > 50);
    assert.deepEqual(stopped, [['pods.']]);
    apply(batch([row('settings', 1, { type: configMaps })], { type: configMaps }));
    const deletes = Array.from({ length: stored }, (_, i) => ({ namespace: 'default', name: `pod-${i}` }));
    assert.equal(apply(batch([], { deletes })).deleted, stored);
    assert.deepEqual(stopped.at(-1), []);
    assert.equal(apply(batch([row('pod', 1)])).written, 1);
  });
});
