import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';

import { allOf, type FieldRequirement, type ListQuery, type OrderKey } from '../../../query/list-query.ts';
import { parsePath } from '../../../query/path.ts';
import type { Grant } from '../../../query/scope/scope.ts';
import type { Cursor } from '../../../query/continue.ts';
import type { PageRequest } from '../../store.ts';
import { rowsOfChunk } from './bodies.ts';
import { BodyBudget, defaultBodyLimits, type BodyLimits } from '../../body-budget.ts';
import { listModel, rowWrite, typeInfo, type ModelRow } from '../../conformance/model.fixture.ts';
import { openReader, type Reader } from './reader.ts';
import { openSqliteStore, type SqliteStore } from '../store.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

const pods = typeInfo('', 'pods');
const deployments = typeInfo('apps', 'deployments');
const types = [pods, deployments];
const incarnations = ['east', 'west'].map((cluster) => ({ id: `record-${cluster}/system`, cluster }));
const limits: BodyLimits = { bodies: 7, bytes: 8 << 20, cpuMs: 60_000 };
const tooMany = {
  code: 'BAD_REQUEST',
  message: /^"spec\.a" is not indexed.*more than 7 of them.*narrow.*status\.phase/,
};

/** Every fourth has the wanted value, of 30 in each cluster. */
function rowAt(i: number, type = pods): ModelRow {
  const incarnation = incarnations[i % 2]!;
  const namespace = i < 6 ? 'few' : `many-${i % 3}`;
  const key = { cluster: incarnation.cluster, incarnation: incarnation.id, type, namespace, ownerUid: '' };
  const rest = {
    spec: i % 8 < 6 ? { a: `v${i % 4}` } : { b: 'a' },
    status: { phase: i % 5 === 0 ? 'Failed' : 'Running' },
  };
  const name = `${['x', 'b', 'm'][i % 3]}-${i}`;
  const labels = { app: `app-${i % 2}` };
  return {
    ...key,
    name,
    uid: `${i}`,
    createdAtMs: ((i * 37) % 20) * 1000,
    resourceVersion: String((i * 7) % 12),
    labels,
    rest,
  };
}
const rows = [
  ...Array.from({ length: 60 }, (_, i) => rowAt(i)),
  ...Array.from({ length: 12 }, (_, i) => rowAt(i + 6, deployments)),
];

const onA = (operator: FieldRequirement['operator'], ...values: readonly string[]): FieldRequirement => {
  return { path: parsePath('spec.a'), operator, values };
};
const wanted: ListQuery = { ...allOf(pods), fields: [onA('Equals', 'v2')] };
const by = (key: OrderKey['by'], descending = false): OrderKey => ({ by: key, descending });
const orders: readonly ListQuery['order'][] = [
  [],
  [by('cluster', true), by('namespace', true)],
  [by('namespace'), by('cluster'), by('name', true)],
  [by('namespace'), by('cluster'), by('created_at')],
  [by('name', true)],
  [by('created_at', true)],
  [by('resource_version')],
  [by('cluster'), by('created_at')],
];
const grantOf = (grant: Grant): ReadonlyMap<string, Grant> =>
  new Map(['pods.', 'deployments.apps'].map((key) => [key, grant]));
const named = rows.filter((_, i) => i % 3 !== 1).map(({ namespace, name }) => ({ namespace, name }));
const grants: readonly ReadonlyMap<string, ReadonlyMap<string, Grant>>[] = [
  new Map(incarnations.map(({ id }) => [id, grantOf('all')])),
  new Map(incarnations.map(({ id }) => [id, grantOf({ namespaces: ['few', 'many-1'], names: [] })])),
  new Map(incarnations.map(({ id }) => [id, grantOf({ namespaces: [], names: named })])),
  new Map(incarnations.map(({ id }) => [id, grantOf({ namespaces: ['many-0'], names: named })])),
];

/** Counts the bodies that are read to check a condition. */
function onBodies(db: DatabaseSync, onBody: () => void): void {
  const prepare = db.prepare.bind(db);
  db.prepare = (text, ...rest) => {
    const statement = prepare(text, ...rest);
    if (!text.startsWith('SELECT raw FROM body')) return statement;
    const get = statement.get.bind(statement);
    statement.get = ((...values: Parameters<typeof get>) => {
      onBody();
      return get(...values);
    }) as typeof statement.get;
    return statement;
  };
}

describe('conditions that only bodies answer', () => {
  const directory = tempDir('budget');
  let store: SqliteStore;
  let reader: Reader;
  let looked = 0;
  const apply = async (upserts: readonly ModelRow[], deletes: readonly ModelRow[] = []): Promise<void> => {
    for (const incarnation of incarnations) {
      for (const type of types) {
        const isOfBatch = (row: ModelRow): boolean => row.incarnation === incarnation.id && row.type === type;
        const batch = { upserts: upserts.filter(isOfBatch).map(rowWrite), deletes: deletes.filter(isOfBatch) };
        await store.apply({ incarnation, type, ...batch });
      }
    }
  };
  before(async () => {
    store = await openSqliteStore({ directory });
    await apply(rows);
    const file = join(directory, 'index.db');
    const db = new DatabaseSync(file, { readOnly: true });
    onBodies(db, () => looked++);
    reader = openReader(file, 8 << 20, db, limits);
  });
  after(async () => {
    reader.close();
    await store.close();
  });
  const scopeOf = (number: number) => ({ number, grants: grants[number]!, dropped: [] });
  const list = async (query: ListQuery, page: PageRequest, number = 0) => {
    const { first, ...rest } = await reader.operations.list({ query, scope: scopeOf(number), page });
    return { ...rest, uids: rowsOfChunk(first).map(({ uid }) => uid) };
  };

  for (const [number, grant] of grants.entries()) {
    for (const order of orders) {
      test(`pages ordered by ${JSON.stringify(order)} for scope ${number} end early, and are together all rows in order`, async () => {
        for (const query of [
          { ...wanted, order },
          { ...wanted, order, labels: [{ key: 'app', operator: 'In', values: ['app-0'] }] },
          { ...wanted, order, types },
          { ...wanted, order, types, fields: [onA('Equals', 'nothing')] },
        ] satisfies readonly ListQuery[]) {
          const found: string[] = [];
          let pages = 0;
          for (let cursor: Cursor | undefined; ;) {
            looked = 0;
            const page = await list(
              query,
              { limit: 3, overBudget: 'end', ...(cursor === undefined ? {} : { after: cursor }) },
              number,
            );
            assert.ok(looked <= limits.bodies, `${looked} bodies`);
            assert.equal(page.warnings?.length ?? 0, page.next !== undefined && page.uids.length < 3 ? 1 : 0);
            found.push(...page.uids);
            assert.ok(page.uids.length <= 3 && ++pages < 40);
            if (page.next === undefined) break;
            cursor = page.next;
          }
          const expected = listModel(rows, query, { digest: '', grants: grant });
          assert.deepEqual(
            found,
            expected.map(({ uid }) => uid),
          );
          const readable = listModel(rows, { ...query, fields: [] }, { digest: '', grants: grant }).length;
          assert.ok(pages >= Math.ceil(readable / limits.bodies));
        }
      });
    }
  }

  test('the warning names the paths, and is the same on every page', async () => {
    const query = {
      ...allOf(pods),
      fields: [onA('Equals', 'no')],
      anyOf: [[onA('Exists'), { ...onA('Exists'), path: parsePath('spec.b') }]],
    };
    const one = await list(query, { limit: 3, overBudget: 'end' });
    const other = await list(query, { limit: 3, overBudget: 'end', after: one.next! });
    assert.deepEqual(one.uids, []);
    assert.match(
      one.warnings![0]!,
      /ended early.*"spec\.a", "spec\.b" are not indexed.*7 of them.*pods\.: status\.phase/,
    );
    assert.deepEqual(one.warnings, other.warnings);
    const half: ListQuery = {
      ...allOf(pods),
      anyOf: [[{ path: parsePath('status.phase'), operator: 'Equals', values: ['no'] }, onA('Equals', 'no')]],
    };
    assert.match((await list(half, { limit: 3, overBudget: 'end' })).warnings![0]!, /: "spec\.a" is not indexed/);
  });

  test('a page that cannot go on by cursor is refused, where it would read more', async () => {
    const toToken = {
      code: 'BAD_REQUEST',
      message: /^"spec\.a" is not indexed.*do not use withContinue.*the continue token of each page.*narrow/,
    };
    await assert.rejects(() => list(wanted, { limit: 3, overBudget: 'refuse' }), toToken);
    await assert.rejects(() => list(wanted, { limit: 1, offset: 2, overBudget: 'end' }), toToken);
    assert.equal((await list(wanted, { limit: 1, overBudget: 'refuse' })).uids.length, 1);
    const few = { ...wanted, namespaces: ['few'] };
    assert.deepEqual((await list(few, { limit: 3, offset: 0, overBudget: 'refuse' })).uids, ['2']);
  });

  test('without a limit, or where nobody said what then, everything is read', async () => {
    const expected = listModel(rows, wanted, { digest: '', grants: grants[0]! }).map(({ uid }) => uid);
    for (const page of [{}, { overBudget: 'end' as const }, { limit: 100 }]) {
      const { uids, next, warnings } = await list(wanted, page);
      assert.deepEqual([uids, next, warnings], [expected, undefined, undefined]);
    }
    assert.equal((await reader.operations.count({ query: wanted, scope: scopeOf(0) })).found, expected.length);
  });

  test('what follows a page is counted, or left out with a warning where that would read more', async () => {
    const app: ListQuery['labels'][number] = { key: 'app', operator: 'In', values: ['app-0'] };
    const few = { ...wanted, fields: [onA('Exists')], namespaces: ['few'], labels: [app] };
    const whole = await list(few, { limit: 1, overBudget: 'end', withRemaining: true });
    assert.deepEqual([whole.remaining, whole.warnings], [2, undefined]);
    const page = await list(
      { ...few, namespaces: ['few', 'many-0'] },
      { limit: 1, overBudget: 'end', withRemaining: true },
    );
    assert.deepEqual([page.uids.length, page.remaining], [1, undefined]);
    assert.match(page.warnings![0]!, /^remainingItemCount is left out: "spec\.a" is not indexed/);
    const early = await list(wanted, { limit: 3, overBudget: 'end', withRemaining: true });
    assert.deepEqual([early.remaining, early.warnings!.length], [undefined, 2]);
  });

  test('counts, facets, values and orders that would read more are refused, and answered whole once narrowed', async () => {
    const ask = (query: ListQuery) => {
      const asked = { query, scope: scopeOf(0), limit: 10 };
      const path = { path: 'spec.a' };
      const filtered = { ...asked, query: { ...query, fields: [onA('Exists')] } };
      const page = { query: { ...query, order: [by(parsePath('spec.a'))] }, scope: scopeOf(0), page: { limit: 3 } };
      return {
        facets: () => reader.operations.facets({ ...asked, by: path }),
        values: () => reader.operations.values({ ...asked, by: path, prefix: 'v' }),
        count: () => reader.operations.count({ ...filtered, overBudget: 'refuse' }),
        byCluster: () => reader.operations.facets({ ...filtered, by: 'cluster' }),
        byPhase: () => reader.operations.facets({ ...filtered, by: { path: 'status.phase' } }),
        byLabel: () => reader.operations.values({ ...filtered, by: { label: 'app' }, prefix: '' }),
        list: () => reader.operations.list(page),
        filteredList: () =>
          reader.operations.list({ ...page, query: { ...page.query, fields: [onA('NotEquals', 'v0')] } }),
      };
    };
    const labelled: ListQuery = { ...allOf(pods), labels: [{ key: 'app', operator: 'In', values: ['app-1'] }] };
    for (const query of [allOf(pods), labelled]) {
      for (const [name, question] of Object.entries(ask(query))) {
        looked = 0;
        await assert.rejects(question, tooMany, name);
        assert.ok(looked <= limits.bodies, `${name}: ${looked} bodies`);
      }
    }
    const few = ask({ ...allOf(pods), namespaces: ['few'] });
    const valuesOf = (await few.facets()).found.map(({ value, count }) => [value, count]);
    assert.deepEqual(valuesOf, [
      ['v0', 2],
      ['v1', 2],
      ['v2', 1],
      ['v3', 1],
    ]);
    assert.deepEqual((await few.values()).found, ['v0', 'v1', 'v2', 'v3']);
    assert.equal((await few.count()).found, 6);
    assert.deepEqual((await few.byCluster()).found, [
      { value: 'east', count: 3 },
      { value: 'west', count: 3 },
    ]);
    const uidsOf = async (found: ReturnType<typeof few.list>) => rowsOfChunk((await found).first).map(({ uid }) => uid);
    assert.deepEqual(await uidsOf(few.list()), ['4', '0', '1']);
    assert.deepEqual(await uidsOf(few.filteredList()), ['1', '5', '2']);
  });

  test('a page that has taken long ends early, but not before it has looked at some hundred', async () => {
    const services = typeInfo('', 'services');
    const many = Array.from({ length: 300 }, (_, i) => ({
      ...rowAt(0, services),
      name: `s-${1000 + i}`,
      uid: `s${i}`,
    }));
    const incarnation = incarnations[0]!;
    await store.apply({ incarnation, type: services, upserts: many.map(rowWrite), deletes: [] });
    const hurried = openReader(join(directory, 'index.db'), 8 << 20, undefined, { ...limits, bodies: 1000, cpuMs: 0 });
    try {
      const all = {
        number: 1,
        grants: new Map([[incarnation.id, new Map([['services.', 'all' as const]])]]),
        dropped: [],
      };
      const query = { ...allOf(services), fields: [onA('Equals', 'v0')] };
      const pageOf = async (page: PageRequest) => {
        const { first, left, next } = await hurried.operations.list({ query, scope: all, page });
        return { count: first.done + (left?.length ?? 0), next };
      };
      const first = await pageOf({ limit: 1000, overBudget: 'end' });
      assert.ok(first.count >= 256 && first.count < 300, `${first.count} rows`);
      const rest = await pageOf({ limit: 1000, overBudget: 'end', after: first.next! });
      assert.deepEqual(rest, { count: 300 - first.count, next: undefined });
      // Questions that could only be refused are not refused by time.
      assert.deepEqual(await pageOf({ limit: 1000, overBudget: 'refuse' }), { count: 300, next: undefined });
      assert.equal((await hurried.operations.count({ query, scope: all, overBudget: 'refuse' })).found, 300);
    } finally {
      hurried.close();
    }
  });

  test('pages go on behind what was looked at while rows come and go, without losing or doubling one', async () => {
    const kept = { ...wanted, fields: [onA('In', 'v2', 'v3')] };
    for (const order of orders.filter((_, i) => i % 2 === 0)) {
      const query = { ...kept, order };
      // Some are deleted and made again in turns; each of the others must come once, in order.
      const comes = rows.slice(0, 60).filter((_, i) => i % 7 === 2);
      const stays = listModel(rows, query, { digest: '', grants: grants[0]! }).filter((row) => !comes.includes(row));
      const found: string[] = [];
      let isThere = true;
      for (let cursor: Cursor | undefined; ;) {
        const page = await list(query, {
          limit: 4,
          overBudget: 'end',
          ...(cursor === undefined ? {} : { after: cursor }),
        });
        found.push(...page.uids);
        if (page.next === undefined) break;
        cursor = page.next;
        await (isThere ? apply([], comes) : apply(comes));
        isThere = !isThere;
      }
      if (!isThere) await apply(comes);
      assert.equal(new Set(found).size, found.length);
      const uids = new Set(stays.map(({ uid }) => uid));
      assert.deepEqual(
        found.filter((uid) => uids.has(uid)),
        stays.map(({ uid }) => uid),
      );
    }
  });
});

test('a few large bodies are as many as may be read, and one is always', () => {
  const budget = new BodyBudget([pods]);
  budget.isFor(['spec.a']);
  budget.read(defaultBodyLimits.bytes);
  assert.throws(() => budget.read(1), { code: 'BAD_REQUEST', message: /1500 of them or 8 MiB/ });
});

test('where much is read in each body, as many fewer are', () => {
  const most = (...paths: readonly string[]): number => {
    const budget = new BodyBudget([pods]);
    budget.isFor(paths);
    budget.isFor(paths);
    return budget.left;
  };
  assert.equal(most('spec.a'), 1500);
  assert.equal(most('spec.containers[].image', 'spec.b'), 1500);
  assert.equal(most('spec.containers[].env[].value'), 750);
  assert.equal(most(...Array.from({ length: 250 }, () => 'spec.a')), 93);
  assert.equal(most(...Array.from({ length: 400 }, () => 'spec.a[].b[].c[]')), 2);
});
