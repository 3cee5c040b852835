import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { allOf, type ListQuery } from '../../../query/list-query.ts';
import type { Grant, RowScope } from '../../../query/scope/scope.ts';
import { typeKey } from '../../../query/types.ts';
import { label, listModel, rowWrite, typeInfo, type ModelRow } from '../../conformance/model.fixture.ts';
import { openPointReader, type PointReader } from './point-reader.ts';
import { openSqliteStore, type SqliteStore } from '../store.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

const pods = typeInfo('', 'pods');
const nodes = typeInfo('', 'nodes', false);
/** The last two are lives of one cluster. */
const incarnations = [
  { id: 'record-one/system-one', cluster: 'one' },
  { id: 'record-two/system-old', cluster: 'two' },
  { id: 'record-two/system-new', cluster: 'two' },
];
const namespaces = ['default', 'team', 'a', 'b', 'c', 'd'];

function row(at: number, namespace: string, name: string, note = ''): ModelRow {
  const { id, cluster } = incarnations[at]!;
  const type = namespace === '' ? nodes : pods;
  const uid = `${id}/${namespace}/${name}`;
  const key = { cluster, incarnation: id, type, namespace, name, uid, ownerUid: '' };
  return { ...key, createdAtMs: 0, resourceVersion: '7', labels: {}, rest: { note } };
}

const rows = [
  row(0, 'default', 'web'),
  row(0, 'team', 'web'),
  row(0, 'team', 'api'),
  row(0, '', 'node-1'),
  row(1, 'default', 'web'),
  row(1, 'default', 'old'),
  row(2, 'default', 'web'),
  row(2, 'default', 'new'),
  row(2, '', 'node-1'),
  row(0, 'default', 'large', 'x'.repeat(70_000)),
  ...namespaces.map((namespace) => row(0, namespace, 'everywhere')),
];

const grants: readonly (Grant | undefined)[] = [
  undefined,
  'all',
  { namespaces: [], names: [] },
  { namespaces: ['team'], names: [] },
  { namespaces: ['', 'default'], names: [{ namespace: 'team', name: 'api' }] },
  { namespaces: [], names: [{ namespace: undefined, name: 'web' }] },
];

function scopeOf(grant: Grant | undefined): RowScope {
  const types = new Map([pods, nodes].flatMap((type) => (grant === undefined ? [] : [[typeKey(type), grant]])));
  return { digest: JSON.stringify(grant ?? null), grants: new Map(incarnations.map(({ id }) => [id, types])) };
}

describe('an object read on the thread that asks', () => {
  const directory = tempDir('points');
  let store: SqliteStore;
  let points: PointReader;
  before(async () => {
    store = await openSqliteStore({ directory });
    for (const [incarnation, ofOne] of Map.groupBy(rows, (one) => one.incarnation)) {
      for (const [type, some] of Map.groupBy(ofOne, (one) => one.type)) {
        const { id, cluster } = incarnations.find((one) => one.id === incarnation)!;
        await store.apply({ incarnation: { id, cluster }, type, upserts: some.map(rowWrite), deletes: [] });
      }
    }
    points = openPointReader(join(directory, 'index.db'), () => 0);
  });
  after(async () => {
    points.close();
    await store.close();
  });
  const keyed = (cluster: string, namespace: string | undefined, name: string, type = pods): ListQuery => ({
    ...allOf(type),
    clusters: [cluster],
    names: [name],
    ...(namespace === undefined ? {} : { namespaces: [namespace] }),
  });

  test('is what a look at every row finds, for every key and grant, and what is more is left to the readers', async () => {
    const names = [...new Set(rows.map(({ name }) => name)), 'none'];
    let found = 0;
    for (const grant of grants)
      for (const cluster of ['one', 'two'])
        for (const namespace of [...namespaces, '', undefined])
          for (const name of names)
            for (const type of [pods, nodes]) {
              const query = keyed(cluster, namespace, name, type);
              const expected = listModel(rows, query, scopeOf(grant)).map(label);
              const read = points.find(query, scopeOf(grant), {});
              const what = JSON.stringify([grant, cluster, namespace, name, type.resource]);
              if (read !== undefined) assert.deepEqual(read.rows.map(label), expected, what);
              else assert.ok(expected.length > 1 || ['large', 'everywhere'].includes(name), what);
              found += read?.rows.length ?? 0;
              const page = await store.list(query, scopeOf(grant), {});
              assert.equal((await Array.fromAsync(page.chunks)).flat().length, expected.length, what);
            }
    assert.ok(found > 30);
  });

  test('comes byte for byte, with the version of the state it is of', async () => {
    const [one] = rows;
    const page = await store.list(keyed('one', 'default', 'web'), scopeOf('all'), { limit: 5, withRemaining: true });
    const [read] = (await Array.fromAsync(page.chunks)).flat();
    assert.deepEqual(Buffer.from(read!.raw), Buffer.from(rowWrite(one!).raw));
    assert.equal(page.resourceVersion, store.resourceVersion());
    assert.deepEqual([page.next, page.remaining], [undefined, 0]);
  });

  test('is seen as soon as its commit is answered, in a slot that is new, and not after its deletion', async () => {
    const late = row(0, 'made-later', 'web');
    const query = keyed('one', 'made-later', 'web');
    assert.deepEqual(points.find(query, scopeOf('all'), {})?.rows, []);
    const incarnation = incarnations[0]!;
    await store.apply({ incarnation, type: pods, upserts: [rowWrite(late)], deletes: [] });
    assert.deepEqual(points.find(query, scopeOf('all'), {})?.rows.map(label), [label(late)]);
    const gone = await store.apply({ incarnation, type: pods, upserts: [], deletes: [late] });
    const after = points.find(query, scopeOf('all'), {})!;
    assert.deepEqual(after.rows, []);
    assert.equal(gone.resourceVersion, store.resourceVersion());
  });

  test('is not tried for a question that says more than a key', () => {
    const query = keyed('one', 'default', 'web');
    const more: readonly Partial<ListQuery>[] = [
      { labels: [{ key: 'app', operator: 'Exists', values: [] }] },
      { uids: ['x'] },
      { notNames: ['web'] },
      { createdSinceMs: 1 },
      { owner: { uid: 'x', seniority: 0 } },
      { types: [pods, nodes] },
      { names: ['web', 'api'] },
    ];
    for (const some of more) assert.equal(points.find({ ...query, ...some }, scopeOf('all'), {}), undefined);
    for (const page of [{ offset: 1 }, { limit: 0 }, { after: ['x'] }])
      assert.equal(points.find(query, scopeOf('all'), page), undefined);
  });

  test('is left to the readers for a while where three in a row were slow', () => {
    let nowMs = 0;
    let stepMs = 0;
    const slow = openPointReader(join(directory, 'index.db'), () => (nowMs += stepMs));
    try {
      const find = () => slow.find(keyed('one', 'default', 'web'), scopeOf('all'), {});
      assert.ok(find());
      stepMs = 25;
      for (let i = 0; i < 3; i++) assert.ok(find(), String(i));
      assert.equal(find(), undefined);
      nowMs += 10_000;
      stepMs = 0;
      assert.ok(find());
    } finally {
      slow.close();
    }
  });
});
