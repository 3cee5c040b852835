import assert from 'node:assert/strict';
import { test } from 'node:test';

import { allOf } from '../../../query/list-query.ts';
import { chunkBytes } from './bodies.ts';
import { typeInfo } from '../../conformance/model.fixture.ts';
import { openSqliteStore } from '../store.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

const pods = typeInfo('', 'pods');
const incarnation = { id: 'record-a/system-a', cluster: 'a' };
const scope = { digest: 'all', grants: new Map([[incarnation.id, new Map([['pods.', 'all' as const]])]]) };

/** What a name may hold that JSON, UTF-8 or a separator could spoil. */
const oddNames = ['"', '\\', '\\"', ',', '],[', '\u0001', '\n', 'ö', '\u2028', '😀', '\ufffd', "'", '%', ' '];

test('a list of many sizes comes in chunks that hold no more than a megabyte before their last row, each row with its own body', async () => {
  const directory = tempDir('bodies');
  const store = await openSqliteStore({ directory });
  try {
    const sizes = [10, 300_000, 40, 1_500_000, 20_000];
    const rows = Array.from({ length: 90 }, (_, i) => {
      const name = `${String(i).padStart(2, '0')}${oddNames[i % oddNames.length]!}`;
      const raw = Buffer.from(JSON.stringify({ name, padding: 'x'.repeat(sizes[(i * i) % sizes.length]!) }));
      return { name, namespace: `n${i % 3}`, uid: `${name}/${i}`, raw };
    });
    const upserts = rows.map((row) => ({
      ...row,
      ownerUid: '',
      createdAtMs: 0,
      resourceVersion: '1',
      labels: [],
      terms: [],
    }));
    await store.apply({ incarnation, type: pods, upserts, deletes: [] });
    const page = await store.list(allOf(pods), scope, {});
    const found: (typeof rows)[number][] = [];
    for await (const chunk of page.chunks) {
      const before = chunk.slice(0, -1).reduce((sum, { raw }) => sum + raw.byteLength, 0);
      assert.ok(before < chunkBytes, `${before} bytes before the last row`);
      for (const { name, namespace, uid, raw } of chunk) found.push({ name, namespace, uid, raw: Buffer.from(raw) });
    }
    const inOrder = rows.toSorted(
      (one, other) =>
        Number(one.namespace > other.namespace) - Number(one.namespace < other.namespace) ||
        Number(one.name > other.name) - Number(one.name < other.name),
    );
    assert.deepEqual(
      found.map(({ namespace, name, uid }) => [namespace, name, uid]),
      inOrder.map(({ namespace, name, uid }) => [namespace, name, uid]),
    );
    for (const [at, { raw, name }] of inOrder.entries()) assert.ok(raw.equals(found[at]!.raw), `the body of ${name}`);
  } finally {
    await store.close();
  }
});
