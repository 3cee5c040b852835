import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredType } from '../store/store.ts';
import { rowsGone } from './rows-gone.ts';

const typeOf = (cluster: string, id: string): StoredType => ({ incarnation: { cluster, id } }) as unknown as StoredType;

test('the rows of a removed cluster are waited for, and those of a new one of its name are not', async () => {
  const closed = new AbortController();
  let types = [typeOf('a', 'old/1'), typeOf('a', 'new/1'), typeOf('b', 'gone/1')];
  let looks = 0;
  const gone = rowsGone('a', {
    types: async () => {
      looks += 1;
      if (looks === 2) types = types.filter(({ incarnation }) => incarnation.id !== 'old/1');
      return types;
    },
    isRegistered: ({ id }) => id === 'new/1',
    closed: closed.signal,
  });
  await gone;
  assert.equal(looks, 2);
});

test('the wait ends with the index', async () => {
  const closed = new AbortController();
  const options = { types: async () => [typeOf('a', 'old/1')], isRegistered: () => false };
  const gone = rowsGone('a', { ...options, closed: closed.signal });
  closed.abort();
  await assert.rejects(gone, { name: 'AbortError' });
});
