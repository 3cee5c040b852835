import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';

import type { PathStep } from '../../../lib/json/path-step.ts';
import { allOf, type FieldRequirement, type ListQuery } from '../../query/list-query.ts';
import { parsePath } from '../../query/path.ts';
import type { Grant, RowScope } from '../../rights/scope.ts';
import { typeKey, type ResourceType, type TypeKey } from '../../types.ts';
import type { Cursor, FacetBy, Page, RowRead } from '../store.ts';
import { rowsOfChunk, type BodyChunk } from './read/bodies.ts';
import { documentOf, label, listModel, rowWrite, typeInfo, type ModelRow } from './model.fixture.ts';
import { openReader } from './read/reader.ts';
import { openSqliteStore, type SqliteStore } from './store.ts';

/** More find more; PORTCULLIS_STORE_RUNS asks for them. */
const runs = Number(process.env.PORTCULLIS_STORE_RUNS ?? 80);

const pods = typeInfo('', 'pods');
const replicaSets = typeInfo('apps', 'replicasets');
const nodes = typeInfo('', 'nodes', false);
const types = [pods, replicaSets, nodes];
const clusters = ['one', 'two', 'three'];
const incarnations = clusters.map((cluster) => ({ id: `record-${cluster}/system-${cluster}`, cluster }));
const namespaces = ['default', 'kube-system', 'Ünïcode', '%'];
// Unsorted by UTF-16 as well as by bytes; and what SQL, LIKE and JSON would trip over.
const names = [
  'web',
  'web-1',
  'WEB',
  "o'clock",
  '100%',
  'a_b',
  'axb',
  '"quoted"',
  '\u{1F600}',
  '\uFFFD',
  'api',
  'x;--',
];
const labelKeys = ['app', 'env', 'tier', 'n'];
const labelValues = ['web', 'api', 'prod', '1', '20', "' OR 1=1 --", '%', ''];
const phases = ['Running', 'Pending', 'Failed', ''];
const images = ['redis:7', 'nginx', 'redis', "it's"];

const rowArbitrary = fc
  .record({
    cluster: fc.nat(clusters.length - 1),
    type: fc.constantFrom(...types),
    namespace: fc.constantFrom(...namespaces),
    name: fc.constantFrom(...names),
    life: fc.nat(1),
    owner: fc.option(fc.tuple(fc.constantFrom(...types), fc.constantFrom(...names)), { freq: 2 }),
    created: fc.nat(5),
    resourceVersion: fc.constantFrom('9', '10', '99', '9007199254740993', '9007199254740992'),
    labels: fc.dictionary(fc.constantFrom(...labelKeys), fc.constantFrom(...labelValues), { noNullPrototype: true }),
    phase: fc.option(fc.constantFrom(...phases)),
    images: fc.array(fc.constantFrom(...images), { maxLength: 3 }),
    zone: fc.option(fc.constantFrom('north', 'süd', '5')),
  })
  .map(({ cluster, type, namespace, name, life, owner, created, labels, ...rest }): ModelRow => {
    const slot = type.namespaced ? namespace : '';
    return {
      cluster: clusters[cluster]!,
      incarnation: incarnations[cluster]!.id,
      type,
      namespace: slot,
      name,
      // The same in every cluster: a restored one has the uids of the other.
      uid: uidOf(type, name, life),
      ownerUid: owner === null ? '' : uidOf(owner[0], owner[1], 0),
      createdAtMs: Date.UTC(2026, 0, 1, 0, 0, created),
      resourceVersion: rest.resourceVersion,
      labels,
      rest: {
        spec: {
          containers: rest.images.map((image) => ({ image })),
          ...(rest.zone === null ? {} : { zone: rest.zone }),
        },
        status: rest.phase === null ? {} : { phase: rest.phase },
      },
    };
  });

function uidOf(type: ResourceType, name: string, life: number): string {
  return `${typeKey(type)}${name}#${life}`;
}

const path = (text: string): readonly PathStep[] => parsePath(text);
const fieldArbitrary: fc.Arbitrary<FieldRequirement> = fc.record({
  path: fc.constantFrom(
    path('status.phase'),
    path('spec.containers[].image'),
    path('spec.zone'),
    path('metadata.name'),
    path('metadata.namespace'),
    path("metadata.labels['app']"),
  ),
  operator: fc.constantFrom('Equals', 'NotEquals', 'In', 'NotIn', 'Exists', 'DoesNotExist', 'Contains', 'Gt', 'Lt'),
  values: fc.tuple(fc.constantFrom(...phases, ...images, ...names, 'north', '5', 'e', 'default')),
});
const some = <T>(...values: readonly T[]): fc.Arbitrary<readonly T[] | undefined> =>
  fc.oneof(
    { weight: 7, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.array(fc.constantFrom(...values), { maxLength: 3 }) },
  );
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
/** Most questions have few conditions, or they would find nothing. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<readonly T[]> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(arbitrary, { minLength: 1, maxLength: 2 }) },
  );

const queryArbitrary: fc.Arbitrary<ListQuery> = fc
  .record({
    types: fc.subarray(types, { minLength: 1 }),
    clusters: some(...clusters, 'none'),
    namespaces: some(...namespaces, ''),
    names: some(...names),
    notClusters: some(...clusters),
    notNamespaces: some(...namespaces),
    notNames: some(...names),
    uids: some(...names.map((name) => uidOf(pods, name, 0))),
    nameContains: rarely(fc.constantFrom('e', '%', '_', "'", 'WEB', '\u{1F600}')),
    text: rarely(fc.constantFrom('WEB', 'app', 'ü', '%', 'nothing')),
    labels: rarely(
      fc.record({
        key: fc.constantFrom(...labelKeys, "x' OR 1"),
        operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'),
        values: fc.array(fc.constantFrom(...labelValues, ...'abcdefgh'), { minLength: 1, maxLength: 10 }),
      }),
    ),
    fields: rarely(fieldArbitrary),
    anyOf: rarely(fc.array(fieldArbitrary, { minLength: 1, maxLength: 2 })),
    owner: maybe(
      fc.record({
        uid: fc.option(fc.constantFrom(...names.map((name) => uidOf(replicaSets, name, 0))), { nil: undefined }),
        name: fc.constantFrom(...names),
        type: fc.option(fc.constantFrom(...types), { nil: undefined }),
        namespaces: some(...namespaces),
        seniority: fc.nat(2),
      }),
    ),
    createdSinceMs: maybe(fc.constant(Date.UTC(2026, 0, 1, 0, 0, 2))),
    createdBeforeMs: maybe(fc.constant(Date.UTC(2026, 0, 1, 0, 0, 4))),
    order: fc.array(
      fc.record({
        by: fc.constantFrom(
          ...(['cluster', 'namespace', 'name', 'created_at', 'resource_version'] as const),
          path('spec.zone'),
        ),
        descending: fc.boolean(),
      }),
      { maxLength: 3 },
    ),
  })
  .map(({ owner, ...query }) => withoutUndefined({ ...query, owner: owner && withoutUndefined(owner) }));

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}

const grantArbitrary: fc.Arbitrary<Grant> = fc.oneof(
  { weight: 3, arbitrary: fc.constant('all' as const) },
  fc.record({
    namespaces: fc.uniqueArray(fc.constantFrom(...namespaces, '')),
    names: fc.array(
      fc.record({
        namespace: fc.option(fc.constantFrom(...namespaces), { nil: undefined }),
        name: fc.constantFrom(...names),
      }),
      { maxLength: 3 },
    ),
  }),
);
const scopeArbitrary: fc.Arbitrary<RowScope> = fc
  .array(fc.array(fc.option(grantArbitrary, { freq: 6 }), { minLength: 3, maxLength: 3 }), {
    minLength: 3,
    maxLength: 3,
  })
  .map((perCluster) => {
    const grants = new Map<string, ReadonlyMap<TypeKey, Grant>>(
      perCluster.map((perType, i) => [
        incarnations[i]!.id,
        new Map(perType.flatMap((grant, j) => (grant === null ? [] : [[typeKey(types[j]!), grant] as const]))),
      ]),
    );
    return { grants, digest: JSON.stringify(perCluster) };
  });
const offsetArbitrary = fc.oneof(fc.nat(3), fc.nat(80));
const everything: RowScope = {
  digest: 'everything',
  grants: new Map(incarnations.map(({ id }) => [id, new Map(types.map((type) => [typeKey(type), 'all'] as const))])),
};

async function rowsOf(page: Page): Promise<RowRead[]> {
  const rows: RowRead[] = [];
  for await (const chunk of page.chunks) rows.push(...chunk);
  return rows;
}

describe('a store of random rows', () => {
  let store: SqliteStore;
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-store-'));
  const rows = new Map<string, ModelRow>();
  const model = (query: ListQuery, scope: RowScope): readonly ModelRow[] => listModel([...rows.values()], query, scope);
  const keyOf = ({ incarnation, type, namespace, name }: ModelRow): string =>
    JSON.stringify([incarnation, typeKey(type), namespace, name]);

  before(async () => {
    store = await openSqliteStore({ directory, onDamage: assert.fail });
    // In three rounds, so that there are updates, deletions and objects of another uid.
    for (const seed of [1, 2, 3]) {
      const found = fc.sample(rowArbitrary, { numRuns: 130, seed });
      const gone = fc.sample(fc.constantFrom(...rows.values(), ...found), { numRuns: 20, seed });
      for (const incarnation of incarnations) {
        for (const type of types) {
          const isOfBatch = (row: ModelRow): boolean => row.incarnation === incarnation.id && row.type === type;
          const deletes = gone.filter(isOfBatch);
          for (const row of deletes) rows.delete(keyOf(row));
          const upserts = new Map(found.filter(isOfBatch).map((row) => [keyOf(row), row]));
          for (const [key, row] of upserts) rows.set(key, row);
          await store.apply({ incarnation, type, deletes, upserts: [...upserts.values()].map(rowWrite) });
        }
      }
    }
    assert.ok(rows.size > 150);
  });
  after(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  test('lists, pages and counts what a look at every row finds, for every query, order and scope', async () => {
    await fc.assert(
      fc.asyncProperty(
        queryArbitrary,
        scopeArbitrary,
        fc.nat(5),
        offsetArbitrary,
        async (query, scope, size, offset) => {
          const expected = model(query, scope).map(label);
          const all = await store.list(query, scope, {});
          assert.deepEqual((await rowsOf(all)).map(label), expected);
          assert.equal(all.next, undefined);
          assert.equal((await store.count(query, scope)).count, expected.length);
          const limit = size + 1;
          let page = await store.list(query, scope, { limit, offset, withRemaining: true });
          const paged = await rowsOf(page);
          assert.equal(page.remaining, Math.max(0, expected.length - offset - limit));
          while (page.next !== undefined) {
            page = await store.list(query, scope, { limit, after: page.next, withRemaining: true });
            const some = await rowsOf(page);
            assert.ok(some.length > 0 && some.length <= limit);
            paged.push(...some);
            assert.equal(page.remaining, Math.max(0, expected.length - offset - paged.length));
          }
          assert.deepEqual(paged.map(label), expected.slice(offset));
        },
      ),
      { numRuns: runs },
    );
  });

  test('pages that end early are together what a look at every row finds, for every query, order and scope', async () => {
    const reader = openReader(join(directory, 'index.db'), 8 << 20, undefined, {
      bodies: 3,
      bytes: 1 << 20,
      cpuMs: 60_000,
    });
    let number = 0;
    const filterArbitrary = fc.record({
      path: fc.constantFrom(path('spec.zone'), path('status.conditions')),
      operator: fc.constantFrom('NotEquals', 'Exists', 'DoesNotExist'),
      values: fc.constant(['north']),
    });
    const property = fc.asyncProperty(queryArbitrary, filterArbitrary, scopeArbitrary, fc.nat(5), async (...asked) => {
      const [any, filter, scope, size] = asked;
      const order = any.order.filter(({ by }) => typeof by === 'string');
      const query: ListQuery = { ...any, order, fields: [...any.fields, filter] };
      const found: string[] = [];
      number++;
      for (let after: Cursor | undefined; ;) {
        const sent = { number, grants: scope.grants, dropped: [number - 1] };
        const page = { limit: size + 1, overBudget: 'end', ...(after === undefined ? {} : { after }) } as const;
        const { first, next, warnings } = await reader.operations.list({ query, scope: sent, page });
        assert.ok(rowsOfChunk(first).length <= size + 1);
        assert.equal(warnings !== undefined, next !== undefined && rowsOfChunk(first).length <= size);
        found.push(...labelsOf(first));
        if (next === undefined) break;
        assert.notDeepEqual(next, after);
        after = next;
      }
      assert.deepEqual(found, model(query, scope).map(label));
    });
    try {
      await fc.assert(property, { numRuns: Math.ceil(runs / 2) });
    } finally {
      reader.close();
    }
  });

  test('facets and values are those of the rows', async () => {
    const byArbitrary = fc.constantFrom<FacetBy>(
      'cluster',
      'namespace',
      'type',
      { label: 'app' },
      { path: 'spec.containers[].image' },
      { path: 'status.phase' },
      { path: 'spec.zone' },
      { path: "metadata.labels['n']" },
    );
    await fc.assert(
      fc.asyncProperty(queryArbitrary, scopeArbitrary, byArbitrary, async (query, scope, by) => {
        const counts = new Map<string, number>();
        for (const row of model(query, scope)) {
          for (const value of new Set(facetValues(row, by))) counts.set(value, (counts.get(value) ?? 0) + 1);
        }
        const { counts: facets } = await store.facets(query, scope, by, 100);
        assert.deepEqual(new Map(facets.map(({ value, count }) => [value, count])), counts);
        assert.deepEqual(
          facets.map(({ count }) => count),
          [...counts.values()].sort((one, other) => other - one),
        );
        const [prefix = ''] = [...counts.keys()].map((value) => [...value][0] ?? '');
        const completed = [...counts.keys()]
          .filter((value) => value.startsWith(prefix))
          .sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
        assert.deepEqual((await store.values(query, scope, by, prefix, 100)).values, completed);
      }),
      { numRuns: Math.ceil(runs / 2) },
    );
  });

  test('bodies come back byte for byte', async () => {
    for (const row of await rowsOf(await store.list(allOf(...types), everything, {}))) {
      const stored = [...rows.values()].find((one) => label(one) === label(row))!;
      assert.deepEqual(Buffer.from(row.raw), rowWrite(stored).raw);
    }
  });

  test('the log replayed over nothing gives the rows', async () => {
    const seen = new Map<string, string>();
    let at = await store.oldestResourceVersion();
    for (;;) {
      const entries = await store.changes(at, types.map(typeKey), 50);
      if (entries.length === 0) break;
      for (const entry of entries) {
        assert.ok(entry.resourceVersion > at);
        at = entry.resourceVersion;
        const key = JSON.stringify([entry.incarnation, entry.type, entry.namespace, entry.name]);
        assert.equal(seen.get(key), entry.before && Buffer.from(entry.before).toString());
        if (entry.after === undefined) seen.delete(key);
        else seen.set(key, Buffer.from(entry.after).toString());
      }
    }
    assert.equal(at, store.resourceVersion());
    const expected = [...rows.values()].map((row) => [keyOf(row), JSON.stringify(documentOf(row))] as const);
    assert.deepEqual(seen, new Map(expected));
  });
});

/** As {@link label} has it. */
function labelsOf(chunk: BodyChunk): readonly string[] {
  return rowsOfChunk(chunk).map(({ cluster, namespace, name, type, uid }) =>
    [cluster, namespace, name, type, uid].join('/'),
  );
}

function facetValues(row: ModelRow, by: FacetBy): readonly string[] {
  if (by === 'cluster') return [row.cluster];
  if (by === 'namespace') return [row.namespace];
  if (by === 'type') return [typeKey(row.type)];
  const spec = row.rest.spec as { containers: { image: string }[]; zone?: string };
  if ('label' in by || by.path.startsWith('metadata')) {
    const value = row.labels['label' in by ? by.label : 'n'];
    return value === undefined ? [] : [value];
  }
  if (by.path === 'spec.zone') return spec.zone === undefined ? [] : [spec.zone];
  if (by.path === 'status.phase') return [(row.rest.status as { phase?: string }).phase].filter((v) => v !== undefined);
  return spec.containers.map(({ image }) => image);
}
