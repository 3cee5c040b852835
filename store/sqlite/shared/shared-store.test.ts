import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';

import { rowWrite, typeInfo } from '../../conformance/model.fixture.ts';
import { openSharedStore, type SharedStore, type SharedStoreOptions } from './shared-store.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

const type = typeInfo('', 'pods');
const incarnation = { id: 'record/1', cluster: 'one' };
let directory: string;
let open: SharedStore[];

describe('an index that several processes share', () => {
  beforeEach(() => {
    directory = tempDir('shared');
    open = [];
  });
  afterEach(async () => {
    for (const store of open) await store.close();
  });

  async function opened(more: Partial<SharedStoreOptions> = {}): Promise<SharedStore> {
    const store = await openSharedStore({ directory, mayWrite: () => true, onDamage: assert.fail, ...more });
    open.push(store);
    return store;
  }

  async function close(store: SharedStore): Promise<void> {
    open = open.filter((one) => one !== store);
    await store.close();
  }

  function pod(name: string) {
    const names = { cluster: 'one', incarnation: incarnation.id, namespace: 'default', name, uid: name, ownerUid: '' };
    const row = rowWrite({ ...names, type, createdAtMs: 0, resourceVersion: '1', labels: {}, rest: {} });
    return { incarnation, type, upserts: [row], deletes: [] };
  }

  test('what one store commits is at once the version of another, which hears of it and reads it', async () => {
    const writer = await opened();
    const reader = await opened();
    await writer.writing;
    const before = reader.resourceVersion();
    const catalogBefore = await reader.catalogVersion();
    const heard = new Promise<string>((resolve) => reader.onCommit(resolve));
    const { resourceVersion } = await writer.apply(pod('a'));
    assert.equal(reader.resourceVersion(), resourceVersion);
    assert.notEqual(await reader.catalogVersion(), catalogBefore);
    assert.equal(await reader.catalogVersion(), await writer.catalogVersion());
    assert.equal(await heard, resourceVersion);
    const changes = await reader.changes(before, ['pods.'], 10);
    assert.deepEqual(
      changes.map(({ name }) => name),
      ['a'],
    );
  });

  test('a store that does not write refuses to, until the one that writes is closed; then it goes on in the same log', async () => {
    const writer = await opened();
    const next = await opened();
    await writer.writing;
    await assert.rejects(next.apply(pod('a')), /another process writes the index/);
    const { resourceVersion } = await writer.apply(pod('a'));
    await close(writer);
    await next.writing;
    const commit = await next.apply(pod('b'));
    assert.equal(next.id, writer.id);
    assert.ok(commit.resourceVersion > resourceVersion);
    const changes = await next.changes(resourceVersion, ['pods.'], 10);
    assert.deepEqual(
      changes.map(({ name }) => name),
      ['b'],
    );
  });

  test('a store that may not write leaves it to others', async () => {
    const writer = await opened();
    await writer.writing;
    const ending = await opened({ mayWrite: () => false });
    const next = await opened();
    await close(writer);
    await next.writing;
    await assert.rejects(ending.apply(pod('a')), /another process writes the index/);
  });

  test('a store says that it must be opened again when its file was replaced or marked as damaged', async () => {
    const writer = await opened({ onBroken: () => undefined, onDamage: () => undefined });
    await writer.writing;
    for (const spoil of [
      () => writeFileSync(join(directory, 'index.db-damaged'), 'a test'),
      () => renameSync(join(directory, 'index.db'), join(directory, 'index.db.aside')),
    ]) {
      const broken = Promise.withResolvers<void>();
      const reader = await opened({ onBroken: broken.resolve, onDamage: () => undefined });
      spoil();
      await broken.promise;
      await close(reader);
      rmSync(join(directory, 'index.db-damaged'), { force: true });
    }
  });
});
