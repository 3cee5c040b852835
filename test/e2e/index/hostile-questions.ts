// Random rows and questions of which two stores must think the same: few values of everything, so that rows meet
// conditions, and texts that mean something to SQL, patterns, JSON or an encoding. Half surrogate pairs and NUL are
// among them, which a look at every row reads otherwise than a database that keeps UTF-8.
import * as fc from 'fast-check';

import type { PathStep } from '../../../lib/json/raw-json.ts';
import type { FieldRequirement, ListQuery } from '../../../query/list-query.ts';
import { parsePath } from '../../../query/path.ts';
import type { Grant } from '../../../query/scope/scope.ts';
import { rowWrite, type ModelRow } from '../../../store/conformance/model.fixture.ts';
import {
  labelArbitraryOf,
  maybe,
  ownerArbitraryOf,
  pods,
  rarely,
  rowArbitraryOf,
  rowKey,
  scopeArbitraryOf,
  some,
  types,
  uidOf,
  withoutUndefined,
} from '../../../store/conformance/random.fixture.ts';
import type { FacetBy, PageRequest, WriteBatch } from '../../../store/store.ts';
import type { AskedQuestion } from './store-answers.ts';
import type { Incarnation } from '../../../query/types.ts';

/** The last two are lives of one cluster: one replaces the other. */
const incarnations: readonly Incarnation[] = [
  { id: 'record-one/system-one', cluster: 'one' },
  { id: 'record-two/system-two', cluster: 'two' },
  { id: 'record-three/system-three', cluster: 'three' },
  { id: 'record-four/system-four', cluster: 'three' },
];
const clusters = ['one', 'two', 'three', 'none'];
const namespaces = ['default', 'kube-system', 'Ünïcode', '%', 'a\u0000b'];
const names = [
  ...['web', 'web-1', 'WEB', "o'clock", '100%', 'a_b', 'axb', '"quoted"', '\u{1F600}', '\uFFFD', 'api', 'x;--'],
  ...['ÄPFEL', 'nul\u0000byte', 'half\uD800', '$1', '\\', '{a,b}', 'NULL', 'line\nfeed'],
];
const labelKeys = ['app', 'env', 'tier', 'n', 'Team'];
const labelValues = [
  'web',
  'api',
  'prod',
  '1',
  '20',
  '-3',
  "' OR 1=1 --",
  '%',
  '',
  'PROD',
  'a\u0000b',
  '9223372036854775808',
];
const phases = ['Running', 'Pending', 'Failed', '', 'Nul\u0000'];
const images = ['redis:7', 'nginx', 'redis', "it's", '\uDC00', '{"a":1}'];
const zones = ['north', 'süd', '5', '10', '1e3', 'x'];
const resourceVersions = ['9', '10', '99', '9007199254740993', '9007199254740992', '123456789012345678901234567890'];

const rowArbitrary = rowArbitraryOf({
  incarnation: fc.constantFrom(...incarnations),
  ...{ namespaces, names, resourceVersions, labelKeys, labelValues, phases, images, zones },
});

const path = (text: string): readonly PathStep[] => parsePath(text);
const fieldArbitrary: fc.Arbitrary<FieldRequirement> = fc.record({
  path: fc.constantFrom(
    ...[
      'status.phase',
      'spec.containers[].image',
      'spec.zone',
      'metadata.name',
      'metadata.uid',
      'metadata.namespace',
    ].map(path),
    path("metadata.labels['app']"),
    path("metadata.labels['n']"),
  ),
  operator: fc.constantFrom('Equals', 'NotEquals', 'In', 'NotIn', 'Exists', 'DoesNotExist', 'Contains', 'Gt', 'Lt'),
  values: fc.tuple(
    fc.constantFrom(
      ...phases,
      ...images,
      ...names,
      ...zones,
      ...labelValues,
      ...namespaces,
      'e',
      '\uD800',
      '\u0000',
      '',
    ),
  ),
});
const orderArbitrary = fc.array(
  fc.record({
    by: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom('cluster', 'namespace', 'name', 'created_at', 'resource_version') },
      { weight: 1, arbitrary: fc.constantFrom(path('spec.zone'), path('status.phase')) },
    ),
    descending: fc.boolean(),
  }),
  { maxLength: 3 },
);

/** Most questions have few conditions, or they would find nothing. */
const emptyWeight = 6;
const queryArbitrary: fc.Arbitrary<ListQuery> = fc
  .record({
    types: fc.subarray(types, { minLength: 1 }),
    clusters: some(...clusters),
    namespaces: some(...namespaces, '', '\uD800'),
    names: some(...names, '\uD800'),
    notClusters: some(...clusters),
    notNamespaces: some(...namespaces),
    notNames: some(...names),
    uids: some(...names.map((name) => uidOf(pods, name, 0))),
    nameContains: rarely(
      fc.constantFrom('e', '%', '_', "'", 'WEB', '\u{1F600}', '\u0000', '\\', '', '\uD800'),
      emptyWeight,
    ),
    text: rarely(fc.constantFrom('WEB', 'app', 'ä', '%', 'nothing', 'TEAM', 'prod', ''), emptyWeight),
    labels: rarely(labelArbitraryOf(labelKeys, labelValues), emptyWeight),
    fields: rarely(fieldArbitrary, emptyWeight),
    anyOf: rarely(fc.array(fieldArbitrary, { minLength: 1, maxLength: 2 }), emptyWeight),
    owner: maybe(ownerArbitraryOf(names, namespaces)),
    createdSinceMs: maybe(fc.constantFrom(Date.UTC(2026, 0, 1, 0, 0, 2), 0.5, -1e300)),
    createdBeforeMs: maybe(fc.constantFrom(Date.UTC(2026, 0, 1, 0, 0, 4), 1e300)),
    order: orderArbitrary,
  })
  .map(({ owner, ...query }) =>
    withoutUndefined({ ...query, owner: owner && withoutUndefined(owner) }),
  ) as fc.Arbitrary<ListQuery>;

const grantArbitrary: fc.Arbitrary<Grant> = fc.oneof(
  { weight: 3, arbitrary: fc.constant('all' as const) },
  {
    weight: 2,
    arbitrary: fc.record({
      namespaces: fc.uniqueArray(fc.constantFrom(...namespaces, '', 'not-there')),
      names: fc.array(
        fc.record({
          namespace: fc.option(fc.constantFrom(...namespaces, ''), { nil: undefined }),
          name: fc.constantFrom(...names),
        }),
        { maxLength: 3 },
      ),
    }),
  },
);

const scopeArbitrary = scopeArbitraryOf(grantArbitrary, incarnations, 8);

const pageArbitrary: fc.Arbitrary<PageRequest> = fc
  .record({
    limit: fc.option(fc.oneof(fc.nat(5), fc.nat(60)), { nil: undefined, freq: 6 }),
    offset: maybe(fc.oneof(fc.nat(3), fc.nat(80))),
    withRemaining: fc.boolean(),
    overBudget: fc.constantFrom(undefined, 'end' as const, 'refuse' as const),
  })
  .map(withoutUndefined) as fc.Arbitrary<PageRequest>;

const facetArbitrary = fc.constantFrom<FacetBy>(
  'cluster',
  'namespace',
  'type',
  { label: 'app' },
  { label: 'Team' },
  { label: "x' OR 1" },
  { path: 'spec.containers[].image' },
  { path: 'status.phase' },
  { path: 'spec.zone' },
  { path: "metadata.labels['n']" },
);

const prefixArbitrary = fc.constantFrom('', 'a', 'w', 'R', '%', "'", '\u0000', '\uD800', 'Ü', 're', 'pods');

/** A question of a user, and the ways in which it is asked. */
export const askedArbitrary: fc.Arbitrary<AskedQuestion> = fc.record({
  query: queryArbitrary,
  scope: scopeArbitrary,
  page: pageArbitrary,
  by: facetArbitrary,
  prefix: prefixArbitrary,
});

/** What to fill a store with; some rows are changed, deleted or replaced later. The same for the same seed. */
export function hostileBatches(seed: number): readonly WriteBatch[] {
  const known = new Map<string, ModelRow>();
  const batches: WriteBatch[] = [];
  for (const round of [1, 2, 3]) {
    const found = fc.sample(rowArbitrary, { numRuns: 170, seed: seed * 10 + round });
    const gone = fc.sample(fc.constantFrom(...known.values(), ...found), { numRuns: 20, seed: seed * 10 + round });
    for (const incarnation of incarnations) {
      for (const type of types) {
        const isOfBatch = (row: ModelRow): boolean => row.incarnation === incarnation.id && row.type === type;
        const upserts = new Map(found.filter(isOfBatch).map((row) => [rowKey(row), row]));
        for (const [key, row] of upserts) known.set(key, row);
        batches.push({
          incarnation,
          type,
          deletes: gone.filter(isOfBatch),
          upserts: [...upserts.values()].map(rowWrite),
        });
      }
    }
  }
  return batches;
}
