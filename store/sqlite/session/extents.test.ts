import assert from 'node:assert/strict';
import { test } from 'node:test';

import { allOf } from '../../../query/list-query.ts';
import { rowWrite, typeInfo, type ModelRow } from '../../conformance/model.fixture.ts';
import { openSqliteStore } from '../store.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

const pods = typeInfo('', 'pods');
const secrets = typeInfo('', 'secrets');
const [mine, theirs] = ['mine', 'theirs'].map((cluster) => ({ id: `record-${cluster}/system-${cluster}`, cluster }));

function row(of: { readonly id: string; readonly cluster: string }, type: ModelRow['type'], name: string): ModelRow {
  const key = { cluster: of.cluster, incarnation: of.id, type, namespace: 'default', name, uid: name, ownerUid: '' };
  return { ...key, createdAtMs: 0, resourceVersion: '7', labels: { app: 'web' }, rest: {} };
}

test('who sees everything of a type does not see a cluster whose objects of it come later', async () => {
  const directory = tempDir('extents');
  const store = await openSqliteStore({ directory });
  try {
    const write = (of: NonNullable<typeof mine>, type: ModelRow['type'], name: string) =>
      store.apply({ incarnation: of, type, upserts: [rowWrite(row(of, type, name))], deletes: [] });
    await write(mine!, pods, 'my-pod');
    // Of the other cluster, name and namespace are known already: nothing but the new type is new.
    await write(theirs!, secrets, 'their-secret');
    const scope = { digest: 'mine', grants: new Map([[mine!.id, new Map([['pods.', 'all' as const]])]]) };
    const query = allOf(pods);
    const seen = async () => {
      const page = await store.list(query, scope, {});
      const { counts: facets } = await store.facets(query, scope, { label: 'app' }, 10);
      const { counts: byCluster } = await store.facets(query, scope, 'cluster', 10);
      const names = (await Array.fromAsync(page.chunks)).flat().map(({ name }) => name);
      const { count } = await store.count(query, scope);
      return { names, count, facets, byCluster };
    };
    const expected = {
      names: ['my-pod'],
      count: 1,
      facets: [{ value: 'web', count: 1 }],
      byCluster: [{ value: 'mine', count: 1 }],
    };
    assert.deepEqual(await seen(), expected);
    await write(theirs!, pods, 'their-pod');
    assert.deepEqual(await seen(), expected);
    await write(mine!, pods, 'my-other-pod');
    assert.equal((await seen()).count, 2);
  } finally {
    await store.close();
  }
});
