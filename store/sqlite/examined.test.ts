import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';

import { allOf, type ListQuery } from '../../query/list-query.ts';
import type { Grant } from '../../query/scope/scope.ts';
import type { PageRequest } from '../store.ts';
import { rowsOfChunk } from './read/bodies.ts';
import type { Grants } from './session/extents.ts';
import { listModel, rowWrite, typeInfo, type ModelRow } from '../conformance/model.fixture.ts';
import { openReader, type Reader } from './read/reader.ts';
import { openSqliteStore } from './store.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

const pods = typeInfo('', 'pods');
const incarnations = Array.from({ length: 30 }, (_, i) => {
  const cluster = `cluster-${String(i).padStart(2, '0')}`;
  return { id: `record-${i}/system-${i}`, cluster };
});
const namespaces = Array.from({ length: 100 }, (_, i) => `team-${String(i).padStart(2, '0')}`);
const apps = Array.from({ length: 10 }, (_, i) => `app-${i}`);
/** Few of the last namespaces, many of the first. */
const perCluster = 200;

function rowsOf(at: number): readonly ModelRow[] {
  const { id, cluster } = incarnations[at]!;
  return Array.from({ length: perCluster }, (_, i): ModelRow => {
    const namespace = namespaces[Math.floor(((i * i) / perCluster / perCluster) * namespaces.length)]!;
    const app = apps[i % apps.length]!;
    const labels = { app, env: i % 3 === 0 ? 'prod' : 'test' };
    const key = {
      cluster,
      incarnation: id,
      type: pods,
      namespace,
      name: `${app}-${i}`,
      uid: `${id}/${i}`,
      ownerUid: '',
    };
    return {
      ...key,
      createdAtMs: ((i * 7919 + at * 104_729) % 100_000) * 1000,
      resourceVersion: '7',
      labels,
      rest: {},
    };
  });
}

/** Counts every row that a statement steps on, in any table. */
function countRows(db: DatabaseSync, onRow: () => void): void {
  const prepare = db.prepare.bind(db);
  db.function('stepped', (_of) => {
    onRow();
    return 1;
  });
  db.prepare = (text, ...rest) => prepare(counting(text), ...rest);
}

function counting(text: string): string {
  const at = text.indexOf(' FROM ');
  if (at < 0) return text;
  // Postings that a row's own are looked up among (`q`), and bodies, are one for each row.
  const aliases = [...text.slice(at).matchAll(/\b(?:FROM|JOIN) (?:obj (o)|posting (x)|counter (c))\b/g)];
  const condition = aliases.map(([, ...names]) => `stepped(${columnOf(names.find(Boolean)!)})`).join(' AND ');
  if (condition === '') return text;
  return text.includes(' WHERE ') ? text.replace(' WHERE ', ` WHERE ${condition} AND `) : `${text} WHERE ${condition}`;
}

/** Of the index that is scanned, so that counting looks nothing up. */
function columnOf(alias: string): string {
  return alias === 'c' ? 'c.place' : `${alias}.id`;
}

const everyPair: Grant = { namespaces, names: [] };
const single = rowsOf(3)[17]!;
const named = (count: number): readonly { readonly namespace: undefined; readonly name: string }[] =>
  [...new Set(incarnations.flatMap((_, at) => rowsOf(at).map(({ name }) => name)))]
    .slice(0, count)
    .map((name) => ({ namespace: undefined, name }));
const thirtyFive = named(35);
/** Users who ask. */
const users: readonly {
  readonly who: string;
  readonly grantOf: (at: number) => Grant | undefined;
}[] = [
  { who: 'a user without rows', grantOf: () => undefined },
  {
    who: 'a user with one row',
    grantOf: (at) =>
      at === 3 ? { namespaces: [], names: [{ namespace: single.namespace, name: single.name }] } : undefined,
  },
  {
    who: 'a user with one namespace',
    grantOf: (at) => (at === 5 ? { namespaces: ['team-00'], names: [] } : undefined),
  },
  { who: 'a user with 3,000 namespaces', grantOf: () => everyPair },
  {
    who: 'a user with 35 names in each cluster',
    grantOf: () => ({ namespaces: [], names: thirtyFive }),
  },
  { who: 'an administrator', grantOf: () => 'all' },
];

function grantsOf(grantOf: (at: number) => Grant | undefined): Grants {
  return new Map(
    incarnations.flatMap(({ id }, at) => {
      const grant = grantOf(at);
      return grant === undefined ? [] : ([[id, new Map([['pods.', grant]])]] as const);
    }),
  );
}

const list = allOf(pods);
const newest: ListQuery = { ...list, order: [{ by: 'created_at', descending: true }] };
const questions: readonly (readonly [string, ListQuery, PageRequest])[] = [
  ['the first ten', list, { limit: 10 }],
  ['a namespace', { ...list, namespaces: ['team-07'] }, { limit: 50 }],
  ['a label', { ...list, labels: [{ key: 'app', operator: 'In', values: ['app-3'] }] }, { limit: 50 }],
  [
    'two labels',
    { ...list, labels: ['app', 'env'].map((key, i) => ({ key, operator: 'In', values: [['app-3'], ['prod']][i]! })) },
    { limit: 50 },
  ],
  ['by name', { ...list, order: [{ by: 'name', descending: false }] }, { limit: 50 }],
  ['the newest', newest, { limit: 50 }],
  ['the newest, by cluster', { ...list, order: [{ by: 'cluster', descending: true }, ...newest.order] }, { limit: 50 }],
  ['the newest after 2,000', newest, { limit: 50, offset: 2000 }],
];

describe('rows that are looked at for a page', () => {
  const directory = tempDir('examined');
  let reader: Reader;
  let stepped = 0;
  before(async () => {
    const store = await openSqliteStore({ directory });
    for (const [at, incarnation] of incarnations.entries()) {
      await store.apply({ incarnation, type: pods, upserts: rowsOf(at).map(rowWrite), deletes: [] });
    }
    await store.close();
    const file = join(directory, 'index.db');
    const db = new DatabaseSync(file, { readOnly: true });
    countRows(db, () => stepped++);
    reader = openReader(file, 8 << 20, db);
  });
  after(() => {
    reader.close();
  });

  for (const [number, { who, grantOf }] of users.entries()) {
    const grants = grantsOf(grantOf);
    for (const [what, query, page] of questions) {
      test(`${who} asks for ${what}: at most 20 for each row that comes`, async () => {
        const scope = { number, grants, dropped: [] };
        // What is remembered of a user is worked out once.
        await reader.operations.list({ query, scope, page });
        stepped = 0;
        const { first, left } = await reader.operations.list({ query, scope, page });
        const rows = first.done + (left?.length ?? 0);
        assert.ok(stepped <= 20 * rows + 20, `${stepped} rows for ${rows}`);
      });
    }
  }

  for (const by of ['cluster', 'namespace', { label: 'app' }] as const) {
    const what = typeof by === 'string' ? by : `label ${by.label}`;
    test(`counts by ${what} for 3,000 namespaces and for 1,050 names look at no row, once they are remembered`, async () => {
      for (const number of [3, 4]) {
        const grants = grantsOf(users[number]!.grantOf);
        const asked = { query: list, scope: { number, grants, dropped: [] }, by, limit: 1000 };
        const { found: counts } = await reader.operations.facets(asked);
        stepped = 0;
        assert.deepEqual((await reader.operations.facets(asked)).found, counts);
        assert.ok(counts.length > 1);
        assert.equal(stepped, 0, users[number]!.who);
      }
    });
  }

  test('pages of all and by a label, cluster after cluster, are together what a look at every row finds, in its order', async () => {
    const rows = incarnations.flatMap((_, at) => rowsOf(at));
    const byCreation: ListQuery['order'] = [
      { by: 'cluster', descending: false },
      { by: 'created_at', descending: true },
    ];
    const labels: ListQuery['labels'] = [{ key: 'app', operator: 'In', values: ['app-3', 'app-8'] }];
    const asked: readonly (readonly [ListQuery, number])[] = [
      [{ ...list, labels }, 40],
      [{ ...list, labels, order: [{ by: 'cluster', descending: true }] }, 40],
      [{ ...list, labels, order: byCreation }, 40],
      [{ ...list, clusters: incarnations.slice(0, 6).map(({ cluster }) => cluster), order: byCreation }, 110],
    ];
    const grant: Grant = { namespaces: namespaces.slice(3), names: [{ namespace: undefined, name: 'app-3-3' }] };
    for (const [number, granted] of (['all', grant] as const).entries())
      for (const [query, limit] of asked) {
        const grants = new Map(incarnations.map(({ id }) => [id, new Map([['pods.', granted]])] as const));
        const scope = { number: 100 + number, grants, dropped: [] };
        const found: string[] = [];
        for (let after: PageRequest['after']; ;) {
          const page = { limit, ...(after === undefined ? {} : { after }) };
          const { first, next } = await reader.operations.list({ query, scope, page });
          found.push(...rowsOfChunk(first).map(({ uid }) => uid));
          if (next === undefined) break;
          after = next;
        }
        const expected = listModel(rows, query, { digest: '', grants }).map(({ uid }) => uid);
        assert.ok(expected.length > 400);
        assert.deepEqual(found, expected);
      }
  });
});
