import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { allOf, type ListQuery } from '../../../query/list-query.ts';
import type { Grant } from '../../../query/scope/scope.ts';
import type { FacetBy, FacetCount, PageRequest } from '../../store.ts';
import { rowsOfChunk } from '../read/bodies.ts';
import type { Grants } from './extents.ts';
import { isGranted, listModel, rowWrite, typeInfo, type ModelRow } from '../../conformance/model.fixture.ts';
import { openReader } from '../read/reader.ts';
import { openSqliteStore } from '../store.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

const pods = typeInfo('', 'pods');
const incarnations = ['east', 'west'].map((cluster) => ({ id: `record-${cluster}/system-${cluster}`, cluster }));
const namespaces = Array.from({ length: 60 }, (_, i) => `team-${i}`);
const perCluster = 640;

/** @param round what of the object changes */
function row(at: number, i: number, round: number): ModelRow {
  const { id, cluster } = incarnations[at]!;
  const namespace = namespaces[(i * 7) % namespaces.length]!;
  const name = i % 40 === 0 ? `pöd-${i}` : `pod-${i}`;
  const key = { cluster, incarnation: id, type: pods, namespace, name, ownerUid: '' };
  // Many of one moment.
  const createdAtMs = Math.floor(((i * 7919) % 1000) / 3) * 1000;
  const labels = { app: `app-${(i + round) % 9}`, ...(round > 0 && i % 5 === 0 ? { round: `${round}-${i % 2}` } : {}) };
  const uid = `${id}/${i}/${round > 1 && i % 11 === 0 ? round : 0}`;
  return { ...key, uid, createdAtMs, resourceVersion: String(7 + round), labels, rest: {} };
}

const some: Grant = { namespaces: namespaces.filter((_, i) => i % 7 !== 0), names: [] };
const names = Array.from({ length: 500 }, (_, i) => `pod-${i}`);
const users: readonly (readonly [who: string, Grants])[] = [
  ['everything', grantsOf(() => 'all')],
  ['most namespaces', grantsOf(() => some)],
  ['one cluster and some namespaces', grantsOf((at) => (at === 0 ? 'all' : { ...some, names: [] }))],
  [
    'names alone',
    grantsOf((at) => ({
      namespaces: [],
      names: names.map((name) => ({ namespace: at === 0 ? undefined : 'team-7', name })),
    })),
  ],
  ['names and namespaces', grantsOf(() => ({ ...some, names: names.map((name) => ({ namespace: undefined, name })) }))],
];

function grantsOf(grant: (at: number) => Grant): Grants {
  return new Map(incarnations.map(({ id }, at) => [id, new Map([['pods.', grant(at)]])] as const));
}

const list = allOf(pods);
/** The last ones span two names, and no name holds them. */
const parts = [['1'], ['ö'], ['od-3'], ['pod-63'], ['7', 'pod-2'], ['od-11', '1'], ['9pod'], ['pod-12pod']];
const newest: ListQuery = { ...list, order: [{ by: 'created_at', descending: true }] };
const pages: readonly (readonly [ListQuery, PageRequest])[] = [
  [newest, { limit: 7, offset: 1001 }],
  [
    { ...list, order: [{ by: 'created_at', descending: false }] },
    { limit: 7, offset: 1100 },
  ],
  [newest, { limit: 7, offset: 5000 }],
  [list, { limit: 40 }],
  [{ ...list, namespaces: ['team-7', 'team-3'] }, { limit: 40 }],
  [
    { ...list, labels: [{ key: 'app', operator: 'In', values: ['app-3', 'app-4'] }] },
    { limit: 40, offset: 3 },
  ],
];
const facets: readonly FacetBy[] = ['cluster', 'namespace', { label: 'app' }, { label: 'round' }];

test('what a reader remembers is what a look at every row finds, while rows come, change, go and come again', async () => {
  const directory = tempDir('memory');
  const store = await openSqliteStore({ directory });
  const reader = openReader(join(directory, 'index.db'), 8 << 20);
  try {
    const rows = new Map<string, ModelRow>();
    const write = async (at: number, upserts: readonly ModelRow[], deletes: readonly ModelRow[]): Promise<void> => {
      for (const one of deletes) rows.delete(keyOf(one));
      for (const one of upserts) rows.set(keyOf(one), one);
      await store.apply({ incarnation: incarnations[at]!, type: pods, upserts: upserts.map(rowWrite), deletes });
    };
    const numbers = Array.from({ length: perCluster }, (_, i) => i);
    for (const at of [0, 1]) {
      await write(
        at,
        numbers.map((i) => row(at, i, 0)),
        [],
      );
    }
    for (let round = 1; round <= 4; round++) {
      const everything = { digest: '', grants: users[0]![1] };
      const models = pages.map(([query]) => listModel([...rows.values()], query, everything));
      const listed = listModel([...rows.values()], list, everything);
      for (const [number, [who, grants]] of users.entries()) {
        const scope = { number, grants, dropped: [] };
        const seen = (model: readonly ModelRow[]) => model.filter((one) => isGranted(one, { digest: '', grants }));
        for (const [i, [query, page]] of pages.entries()) {
          const all = seen(models[i]!);
          const from = page.offset ?? 0;
          const { first } = await reader.operations.list({ query, scope, page });
          const expected = all.slice(from, from + page.limit!).map(({ uid }) => uid);
          assert.deepEqual(
            rowsOfChunk(first).map(({ uid }) => uid),
            expected,
            `${who}, round ${round}, ${JSON.stringify([query, page])}`,
          );
        }
        const all = seen(listed);
        assert.equal(
          (await reader.operations.count({ query: list, scope })).found,
          all.length,
          `${who}, round ${round}`,
        );
        for (const by of facets) {
          const { found } = await reader.operations.facets({ query: list, scope, by, limit: 1000 });
          assert.deepEqual(inOrder(found), countsOf(all, by), `${who}, round ${round}, ${JSON.stringify(by)}`);
        }
        for (const nameContains of parts) {
          const query = { ...list, nameContains };
          const named = all.filter(({ name }) => nameContains.every((part) => name.includes(part)));
          const what = `${who}, round ${round}, ${nameContains.join(' and ')}`;
          assert.equal((await reader.operations.count({ query, scope })).found, named.length, what);
          const { found } = await reader.operations.facets({ query, scope, by: 'namespace', limit: 1000 });
          assert.deepEqual(inOrder(found), countsOf(named, 'namespace'), what);
        }
      }
      const at = round % 2;
      const changed = numbers.filter((i) => i % (3 + round) === 0);
      await write(
        at,
        changed.filter((i) => i % 2 === 0).map((i) => row(at, i, round)),
        changed.filter((i) => i % 2 === 1).map((i) => row(at, i, round)),
      );
      // Rows that were deleted before, and once a new namespace, which makes all scopes anew.
      const met = numbers.slice(0, 40).map((i) => row(at, i, 0));
      await write(at, round === 3 ? [...met, { ...row(at, 1, 0), namespace: 'new' }] : met, []);
    }
  } finally {
    reader.close();
    await store.close();
  }
});

function keyOf({ incarnation, namespace, name }: ModelRow): string {
  return `${incarnation} ${namespace} ${name}`;
}

function countsOf(rows: readonly ModelRow[], by: FacetBy): readonly FacetCount[] {
  const counts = new Map<string, number>();
  for (const one of rows) {
    const value = by === 'cluster' || by === 'namespace' ? one[by] : one.labels[(by as { label: string }).label];
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return inOrder([...counts].map(([value, count]) => ({ value, count })));
}

function inOrder(counts: readonly FacetCount[]): readonly FacetCount[] {
  return counts.toSorted((one, other) => (one.value < other.value ? -1 : 1));
}
