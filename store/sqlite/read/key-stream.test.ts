import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { allOf } from '../../../query/list-query.ts';
import type { Grant } from '../../../query/scope/scope.ts';
import { typeInfo } from '../../conformance/model.fixture.ts';
import { openSqliteStore } from '../store.ts';
import { rowsOfChunk } from './bodies.ts';
import type { Grants } from '../session/extents.ts';
import { openReader } from './reader.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

const pods = typeInfo('', 'pods');

test('a search for parts of names that takes long gives each row once to a user with rights to single objects', async (t) => {
  const directory = tempDir('stream');
  const store = await openSqliteStore({ directory });
  const row = (name: string) => ({
    ...{ namespace: 'default', name, uid: name, ownerUid: '', createdAtMs: 0, resourceVersion: '1' },
    ...{ labels: [], terms: [], raw: Buffer.from('{}') },
  });
  for (const cluster of ['one', 'two']) {
    const incarnation = { id: `record-${cluster}/system`, cluster };
    await store.apply({ incarnation, type: pods, upserts: ['web', 'api', 'api-1'].map(row), deletes: [] });
  }
  await store.close();
  const reader = openReader(join(directory, 'index.db'), 8 << 20);
  try {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => (nowMs += 100));
    const names = (...some: readonly string[]) => some.map((name) => ({ namespace: undefined, name }));
    for (const granted of [names('web'), names('web', 'api')]) {
      const grants: Grants = new Map([
        ['record-one/system', new Map<string, Grant>([['pods.', 'all']])],
        ['record-two/system', new Map<string, Grant>([['pods.', { namespaces: [], names: granted }]])],
      ]);
      const scope = { number: granted.length, grants, dropped: [] };
      for (const by of ['cluster', 'namespace', 'name', 'created_at'] as const) {
        const query = { ...allOf(pods), nameContains: ['ap'], order: [{ by, descending: false }] };
        const { first } = await reader.operations.list({ query, scope, page: { limit: 10 } });
        const keys = rowsOfChunk(first).map(({ cluster, name }) => `${cluster}/${name}`);
        const expected = ['one/api', 'one/api-1', ...(granted.length > 1 ? ['two/api'] : [])];
        assert.deepEqual(keys.toSorted(), expected, by);
      }
    }
  } finally {
    reader.close();
  }
});

test('a question that finds nothing for long lets other questions be answered', async (t) => {
  const directory = tempDir('stream');
  const store = await openSqliteStore({ directory });
  const incarnation = { id: 'record/system', cluster: 'one' };
  const upserts = Array.from({ length: 200 }, (_, i) => ({
    ...{ namespace: `ns-${i}`, name: 'web', uid: `${i}`, ownerUid: '', createdAtMs: 0, resourceVersion: '1' },
    ...{ labels: [], terms: [], raw: Buffer.from('{}') },
  }));
  await store.apply({ incarnation, type: pods, upserts, deletes: [] });
  await store.close();
  const reader = openReader(join(directory, 'index.db'), 8 << 20);
  try {
    // Each look at the clock takes 5 ms, so that 200 namespaces take longer than a question may keep the thread.
    let nowMs = 0;
    t.mock.method(performance, 'now', () => (nowMs += 5));
    const scope = {
      number: 1,
      grants: new Map([['record/system', new Map<string, Grant>([['pods.', 'all']])]]),
      dropped: [],
    };
    const answered: string[] = [];
    const ask = async (name: string) => {
      const query = { ...allOf(pods), names: [name], order: [{ by: 'cluster', descending: false }] } as const;
      const { first } = await reader.operations.list({ query, scope, page: { limit: 1 } });
      answered.push(`${name}: ${rowsOfChunk(first).length}`);
    };
    await Promise.all([ask('none'), ask('web')]);
    assert.deepEqual(answered, ['web: 1', 'none: 0']);
  } finally {
    reader.close();
  }
});
