import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { RowWrite } from '../../store/store.ts';
import { makeDocumentReader } from '../document/document.ts';
import type { Batcher } from './batch.ts';
import { relist, type RelistOptions } from './relist.ts';

const type = { group: '', version: 'v1', resource: 'pods', kind: 'Pod', namespaced: true } as RelistOptions['type'];

/** Reads a list with these names from a member, which keeps none of them before. */
async function listed(names: readonly string[], mostObjects?: number) {
  const items = names.map((name, i) => ({ metadata: { name, namespace: 'a', uid: `u${i}`, resourceVersion: '7' } }));
  async function* chunks(): AsyncGenerator<Buffer> {
    yield Buffer.from(JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '9' }, items }));
  }
  const put: string[] = [];
  const removed: string[] = [];
  const batcher = {
    put: (row: RowWrite) => void put.push(row.name),
    remove: ({ name }: { readonly name: string }) => void removed.push(name),
  } as unknown as Batcher;
  const found = await relist({
    incarnation: { id: 'i', cluster: 'm1' },
    type,
    filter: {} as RelistOptions['filter'],
    ask: async () => ({ status: 200, headers: [], chunks: chunks(), cancel: () => undefined }),
    reader: makeDocumentReader({ cluster: 'm1', type, paths: [], redacts: false }),
    store: { versions: async () => [] },
    batcher,
    timing: { headTimeoutMs: 1000, listTimeoutMs: 1000 },
    signal: new AbortController().signal,
    hasRows: false,
    rewrites: false,
    onlyDeletes: false,
    onProgress: () => undefined,
    now: () => 0,
    ...(mostObjects === undefined ? {} : { mostObjects }),
  });
  return { put, removed, objects: found.objects };
}

it('a list longer than the keys that can be kept in memory is a fault', async () => {
  assert.equal((await listed(['a', 'b'], 2)).objects, 2);
  await assert.rejects(listed(['a', 'b', 'c'], 2), /a list of more than 2 objects/);
});

it('an object whose name no store can keep is handed to the store, which names it, and is not deleted', async () => {
  const long = 'x'.repeat(2_000);
  assert.deepEqual(await listed(['a', long]), { put: ['a', long], removed: [], objects: 2 });
});
