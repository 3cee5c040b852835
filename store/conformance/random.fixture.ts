// Random rows, questions and rights. There are few different values, so that conditions often match. The same seed
// always gives the same data.
import * as fc from 'fast-check';

import type { PathStep } from '../../lib/json/raw-json.ts';
import type { FieldRequirement, ListQuery } from '../../query/list-query.ts';
import { parsePath } from '../../query/path.ts';
import type { Grant, RowScope } from '../../query/scope/scope.ts';
import { typeKey, type Incarnation, type ResourceType, type TypeKey } from '../../query/types.ts';
import type { FacetBy, WriteBatch } from '../store.ts';
import { rowWrite, typeInfo, type ModelRow } from './model.fixture.ts';

export const pods = typeInfo('', 'pods');
export const replicaSets = typeInfo('apps', 'replicasets');
const nodes = typeInfo('', 'nodes', false);
export const types = [pods, replicaSets, nodes];
export const clusters = ['one', 'two', 'three'];
export const incarnations = clusters.map((cluster) => ({ id: `record-${cluster}/system-${cluster}`, cluster }));
const namespaces = ['default', 'kube-system', 'Ünïcode', '%'];
// Names in no order, neither by UTF-16 units nor by bytes, with characters that are special in SQL, LIKE and JSON.
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

/** Of what rows are made. */
export interface RowValues {
  readonly incarnation: fc.Arbitrary<Incarnation>;
  readonly namespaces: readonly string[];
  readonly names: readonly string[];
  readonly resourceVersions: readonly string[];
  readonly labelKeys: readonly string[];
  readonly labelValues: readonly string[];
  readonly phases: readonly string[];
  readonly images: readonly string[];
  readonly zones: readonly string[];
}

/** Rows of these values. */
export function rowArbitraryOf(values: RowValues): fc.Arbitrary<ModelRow> {
  const keys = fc.constantFrom(...values.labelKeys);
  return fc
    .record({
      incarnation: values.incarnation,
      type: fc.constantFrom(...types),
      namespace: fc.constantFrom(...values.namespaces),
      name: fc.constantFrom(...values.names),
      life: fc.nat(1),
      owner: fc.option(fc.tuple(fc.constantFrom(...types), fc.constantFrom(...values.names)), { freq: 2 }),
      created: fc.nat(5),
      resourceVersion: fc.constantFrom(...values.resourceVersions),
      labels: fc.dictionary(keys, fc.constantFrom(...values.labelValues), { noNullPrototype: true }),
      phase: fc.option(fc.constantFrom(...values.phases)),
      images: fc.array(fc.constantFrom(...values.images), { maxLength: 3 }),
      zone: fc.option(fc.constantFrom(...values.zones)),
    })
    .map(({ incarnation, type, namespace, name, life, owner, created, labels, ...rest }): ModelRow => ({
      cluster: incarnation.cluster,
      incarnation: incarnation.id,
      type,
      namespace: type.namespaced ? namespace : '',
      name,
      // The same uid in every cluster, because a cluster restored from a backup has the uids of the original.
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
    }));
}

const rowArbitrary = rowArbitraryOf({
  incarnation: fc.nat(clusters.length - 1).map((index) => incarnations[index]!),
  ...{ namespaces, names, labelKeys, labelValues, phases, images },
  resourceVersions: ['9', '10', '99', '9007199254740993', '9007199254740992'],
  zones: ['north', 'süd', '5'],
});

/** The uid of an object and of those that are made in its place, which have other lives. */
export function uidOf(type: ResourceType, name: string, life: number): string {
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
/** Some of the values, and usually no condition. */
export const some = <T>(...values: readonly T[]): fc.Arbitrary<readonly T[] | undefined> =>
  fc.oneof(
    { weight: 7, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.array(fc.constantFrom(...values), { maxLength: 3 }) },
  );
/** The value of the arbitrary, and usually no condition. */
export const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
/** An arbitrary that is usually empty: with many conditions, most questions would match nothing. */
export const rarely = <T>(arbitrary: fc.Arbitrary<T>, emptyWeight = 5): fc.Arbitrary<readonly T[]> =>
  fc.oneof(
    { weight: emptyWeight, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(arbitrary, { minLength: 1, maxLength: 2 }) },
  );

/** A condition of labels. */
export const labelArbitraryOf = (keys: readonly string[], values: readonly string[]) =>
  fc.record({
    key: fc.constantFrom(...keys, "x' OR 1"),
    operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'),
    values: fc.array(fc.constantFrom(...values, ...'abcdefgh'), { minLength: 1, maxLength: 10 }),
  });
/** A condition of the owner. */
export const ownerArbitraryOf = (owners: readonly string[], places: readonly string[]) =>
  fc.record({
    uid: fc.option(fc.constantFrom(...owners.map((name) => uidOf(replicaSets, name, 0))), { nil: undefined }),
    name: fc.constantFrom(...owners),
    type: fc.option(fc.constantFrom(...types), { nil: undefined }),
    namespaces: some(...places),
    seniority: fc.nat(2),
  });

export const queryArbitrary: fc.Arbitrary<ListQuery> = fc
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
    labels: rarely(labelArbitraryOf(labelKeys, labelValues)),
    fields: rarely(fieldArbitrary),
    anyOf: rarely(fc.array(fieldArbitrary, { minLength: 1, maxLength: 2 })),
    owner: maybe(ownerArbitraryOf(names, namespaces)),
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

/** Without the fields that are undefined. */
export function withoutUndefined<T extends object>(value: T): T {
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
/** What somebody may read of each incarnation. @param freq one of so many grants is missing */
export function scopeArbitraryOf(
  grant: fc.Arbitrary<Grant>,
  lives: readonly Incarnation[],
  freq: number,
): fc.Arbitrary<RowScope> {
  const perType = fc.array(fc.option(grant, { freq }), { minLength: types.length, maxLength: types.length });
  return fc.array(perType, { minLength: lives.length, maxLength: lives.length }).map((perLife) => {
    const grants = new Map<string, ReadonlyMap<TypeKey, Grant>>(
      perLife.map((given, i) => [
        lives[i]!.id,
        new Map(given.flatMap((each, j) => (each === null ? [] : [[typeKey(types[j]!), each] as const]))),
      ]),
    );
    return { grants, digest: JSON.stringify(perLife) };
  });
}
export const scopeArbitrary = scopeArbitraryOf(grantArbitrary, incarnations, 6);
export const everything: RowScope = {
  digest: 'everything',
  grants: new Map(incarnations.map(({ id }) => [id, new Map(types.map((type) => [typeKey(type), 'all'] as const))])),
};

/** What rows can be counted by. */
const byArbitrary = fc.constantFrom<FacetBy>(
  'cluster',
  'namespace',
  'cluster/namespace',
  'type',
  { label: 'app' },
  { path: 'spec.containers[].image' },
  { path: 'status.phase' },
  { path: 'spec.zone' },
  { path: "metadata.labels['n']" },
);

/** A query, the scope of the user, and the page to read. */
export interface RandomQuestion {
  readonly query: ListQuery;
  readonly scope: RowScope;
  /** Rows on a page. */
  readonly limit: number;
  readonly offset: number;
  readonly by: FacetBy;
}

export const questionArbitrary: fc.Arbitrary<RandomQuestion> = fc.record({
  query: queryArbitrary,
  scope: scopeArbitrary,
  limit: fc.integer({ min: 1, max: 6 }),
  offset: fc.oneof(fc.nat(3), fc.nat(80)),
  by: byArbitrary,
});

/** Random questions; the same for the same seed. */
export function randomQuestions(seed: number, count: number): readonly RandomQuestion[] {
  return fc.sample(questionArbitrary, { seed, numRuns: count });
}

/** Batches, and the rows that exist after all of them were written in order. */
export interface RandomRows {
  readonly rows: readonly ModelRow[];
  readonly batches: readonly WriteBatch[];
}

/**
 * Random rows; the same for the same seed. Three rounds of writes give updates, deletions and objects with a new uid.
 */
export function randomRows(seed: number, perRound = 130): RandomRows {
  const rows = new Map<string, ModelRow>();
  const batches: WriteBatch[] = [];
  for (const round of [1, 2, 3]) {
    const found = fc.sample(rowArbitrary, { numRuns: perRound, seed: seed * 10 + round });
    const gone = fc.sample(fc.constantFrom(...rows.values(), ...found), { numRuns: 20, seed: seed * 10 + round });
    for (const incarnation of incarnations) {
      for (const type of types) {
        const isOfBatch = (row: ModelRow): boolean => row.incarnation === incarnation.id && row.type === type;
        const deletes = gone.filter(isOfBatch);
        for (const row of deletes) rows.delete(rowKey(row));
        const upserts = new Map(found.filter(isOfBatch).map((row) => [rowKey(row), row]));
        for (const [key, row] of upserts) rows.set(key, row);
        batches.push({ incarnation, type, deletes, upserts: [...upserts.values()].map(rowWrite) });
      }
    }
  }
  return { rows: [...rows.values()], batches };
}

/** The key of a row as one text. */
export function rowKey({ incarnation, type, namespace, name }: ModelRow): string {
  return JSON.stringify([incarnation, typeKey(type), namespace, name]);
}

/** The values for which a row is counted, taken from its object. */
export function facetValues(row: ModelRow, by: FacetBy): readonly string[] {
  if (by === 'cluster') return [row.cluster];
  if (by === 'namespace') return [row.namespace];
  if (by === 'cluster/namespace') return [`${row.cluster}/${row.namespace}`];
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
