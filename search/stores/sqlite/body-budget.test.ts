import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { allOf, type ListQuery } from '../../query/list-query.ts';
import { parsePath } from '../../query/path.ts';
import { BodyBudget, mostBodies, mostBodyBytes } from './body-budget.ts';
import { rowWrite, typeInfo, type ModelRow } from './model.fixture.ts';
import { openReader } from './reader.ts';
import { openSqliteStore } from './store.ts';

const pods = typeInfo('', 'pods');
const incarnation = { id: 'record/system', cluster: 'east' };
const tooMany = { code: 'BAD_REQUEST', message: /^"spec\.a" is not indexed.*narrow the query.*status\.phase/ };

function row(i: number): ModelRow {
  const namespace = i < 5 ? 'few' : 'many';
  const key = { cluster: 'east', incarnation: incarnation.id, type: pods, namespace, name: `pod-${i}`, ownerUid: '' };
  const rest = { spec: i % 2 === 0 ? { a: `v${i % 3}` } : { b: 'a' } };
  return { ...key, uid: `${i}`, createdAtMs: 0, resourceVersion: '7', labels: {}, rest };
}

test('E9: what would read more than so many bodies is refused with what to do, and answered whole once it is narrowed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-budget-'));
  const store = await openSqliteStore({ directory });
  const upserts = Array.from({ length: mostBodies + 1 }, (_, i) => rowWrite(row(i)));
  await store.apply({ incarnation, type: pods, upserts, deletes: [] });
  await store.close();
  const reader = openReader(join(directory, 'index.db'), 8 << 20);
  try {
    const scope = { number: 1, grants: new Map([[incarnation.id, new Map([['pods.', 'all' as const]])]]), dropped: [] };
    const byPath: ListQuery['order'] = [{ by: parsePath('spec.a'), descending: false }];
    const ask = (query: ListQuery) => {
      const asked = { query, scope, by: { path: 'spec.a' }, limit: 10 };
      return {
        facets: () => reader.operations.facets(asked),
        values: () => reader.operations.values({ ...asked, prefix: 'v' }),
        list: () => reader.operations.list({ query: { ...query, order: byPath }, scope, page: { limit: 3 } }),
      };
    };
    const all = ask(allOf(pods));
    for (const question of [all.facets, all.values, all.list]) await assert.rejects(question, tooMany);
    const few = ask({ ...allOf(pods), namespaces: ['few'] });
    assert.deepEqual(await few.facets(), [
      { value: 'v0', count: 1 },
      { value: 'v1', count: 1 },
      { value: 'v2', count: 1 },
    ]);
    assert.deepEqual(await few.values(), ['v0', 'v1', 'v2']);
    const { first } = await few.list();
    assert.deepEqual(
      first.rows.map(([, , name]) => name),
      ['pod-0', 'pod-4', 'pod-2'],
    );
  } finally {
    reader.close();
    rmSync(directory, { recursive: true, force: true });
  }
});

test('E9: a few large bodies are as many as may be read', () => {
  const budget = new BodyBudget('spec.a', [pods]);
  budget.read(mostBodyBytes);
  assert.throws(() => budget.read(1), tooMany);
});
