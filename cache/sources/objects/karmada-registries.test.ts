import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../../kube/types.ts';
import { makeKarmadaSource } from './karmada.ts';
import { indexingBy, readRegistry } from './karmada-registries.ts';

function registry(name: string, spec: object): ApiObject {
  return { metadata: { name, uid: name, resourceVersion: '1' }, spec };
}

function cluster(name: string, spec: object = {}, labels: Readonly<Record<string, string>> = {}): ApiObject {
  return { metadata: { name, uid: name, resourceVersion: '1', labels }, spec };
}

const pods = { apiVersion: 'v1', kind: 'Pod' };

test('a cluster is selected by names, labels and fields together, and never when it is excluded', () => {
  const here = cluster('m1', { provider: 'aws', region: '5', zones: ['a', 'b'] }, { tier: 'gold' });
  const expression = (key: string, operator: string, ...values: string[]): object => ({ key, operator, values });
  const labels = (...matchExpressions: object[]): object => ({ labelSelector: { matchExpressions } });
  const fields = (...matchExpressions: object[]): object => ({ fieldSelector: { matchExpressions } });
  const table: readonly (readonly [affinity: object | undefined, matches: boolean])[] = [
    [undefined, true],
    [{}, true],
    [{ clusterNames: ['m1', 'm2'] }, true],
    [{ clusterNames: ['m2'] }, false],
    [{ exclude: ['m1'] }, false],
    [{ clusterNames: ['m1'], exclude: ['m1'] }, false],
    [{ labelSelector: { matchLabels: { tier: 'gold' } } }, true],
    [{ labelSelector: { matchLabels: { tier: 'gold' } }, clusterNames: ['m2'] }, false],
    [{ labelSelector: { matchLabels: { other: 'gold' } } }, false],
    [labels(expression('tier', 'NotIn', 'gold')), false],
    [labels(expression('other', 'NotIn', 'gold')), true],
    [labels(expression('tier', 'Exists')), true],
    [labels(expression('tier', 'DoesNotExist')), false],
    [fields(expression('region', 'Gt', '4'), expression('region', 'Lt', '6')), true],
    [fields(expression('provider', 'Gt', '4')), false],
    [fields(expression('provider', 'In', 'aws'), expression('region', 'In', '5')), true],
    [fields(expression('provider', 'In', 'gcp')), false],
    [fields(expression('zone', 'In', 'b', 'c')), true],
    [fields(expression('zone', 'NotIn', 'b')), false],
    [fields(expression('zone', 'DoesNotExist')), false],
  ];
  for (const [targetCluster, matches] of table) {
    const read = readRegistry(registry('r', { targetCluster, resourceSelectors: [pods] }));
    assert.equal(read.matches(here), matches, JSON.stringify(targetCluster));
  }
});

test('what several registries select of a cluster is joined by kind; an entry without a namespace wins over others', () => {
  const [one, two, elsewhere] = [
    registry('one', {
      targetCluster: {},
      resourceSelectors: [
        { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'b' },
        { ...pods, namespace: 'a' },
      ],
    }),
    registry('two', {
      resourceSelectors: [{ apiVersion: 'apps/v1beta1', kind: 'Deployment', namespace: 'a' }, pods],
    }),
    registry('elsewhere', { targetCluster: { clusterNames: ['m2'] }, resourceSelectors: [pods] }),
  ].map(readRegistry);
  assert.deepEqual(indexingBy([one!, two!, elsewhere!], cluster('m1')), {
    resources: [
      { group: 'apps', resource: 'deployment', versions: ['v1', 'v1beta1'], namespaces: ['a', 'b'] },
      { group: '', resource: 'pod', versions: ['v1'] },
    ],
    allCustomResources: false,
    registries: ['one', 'two'],
  });
  assert.deepEqual(indexingBy([elsewhere!], cluster('m1')).resources, []);
});

test('a registry that cannot be put into effect selects nothing and says why', () => {
  const openSearch = { addresses: ['https://x'], secretRef: { namespace: 'a', name: 'b' } };
  const selector = (expression: object): object => ({ labelSelector: { matchExpressions: [expression] } });
  const field = (expression: object): object => ({ fieldSelector: { matchExpressions: [expression] } });
  const table: readonly (readonly [spec: object, reason: string, message: RegExp])[] = [
    [
      { resourceSelectors: [pods], backendStore: { openSearch } },
      'BackendStoreNotSupported',
      /remove spec.backendStore/,
    ],
    [{ resourceSelectors: [pods, { kind: 'Pod' }] }, 'InvalidSpec', /resourceSelectors\[1\] needs apiVersion and kind/],
    [{ resourceSelectors: [{ ...pods, namespace: 7 }] }, 'InvalidSpec', /resourceSelectors\[0\]/],
    [
      { targetCluster: selector({ key: 'a', operator: 'Near' }) },
      'InvalidSpec',
      /labelSelector: .*operator is none of/,
    ],
    [{ targetCluster: selector({ key: 'a', operator: 'Gt', values: ['1'] }) }, 'InvalidSpec', /operator is none of/],
    [{ targetCluster: selector({ key: 'a', operator: 'NotIn' }) }, 'InvalidSpec', /In and NotIn need values/],
    [{ targetCluster: { labelSelector: 'a=b' } }, 'InvalidSpec', /labelSelector: it is no object/],
    [{ targetCluster: field({ key: 'zone', operator: 'Near' }) }, 'InvalidSpec', /"Near" is no operator.*"zone"/],
    [{ targetCluster: field({ operator: 'In' }) }, 'InvalidSpec', /needs key and operator/],
    [{ targetCluster: field({ key: 'zone', operator: 'NotIn' }) }, 'InvalidSpec', /NotIn needs values.*"zone"/],
    [
      { targetCluster: field({ key: 'name', operator: 'Exists' }) },
      'InvalidSpec',
      /"name" is none of provider, region/,
    ],
  ];
  for (const [spec, reason, message] of table) {
    const read = readRegistry(registry('r', spec));
    assert.equal(read.refusal?.reason, reason);
    assert.match(read.refusal.message, message);
    assert.equal(read.matches(cluster('m1')), false);
    assert.deepEqual(indexingBy([read], cluster('m1')).resources, []);
  }
});

test('a Cluster follows the registries while they are read, and keeps its record otherwise', () => {
  const source = makeKarmadaSource({ secretNamespace: 'karmada-cluster', registryVersion: 'stored' });
  const resource = { group: 'search.karmada.io', version: 'stored', resource: 'resourceregistries' };
  assert.deepEqual(source.watches[2], resource);
  const clusters = new Map([['m1', cluster('m1')]]);
  const made = (...registries: ApiObject[]) =>
    source.compile([clusters, new Map(), new Map(registries.map((each) => [each.metadata.name, each]))])[0]!;
  const first = made();
  assert.deepEqual(first.indexing, { resources: [], allCustomResources: false, registries: [] });
  const selected = made(registry('r', { resourceSelectors: [pods] }));
  assert.deepEqual(selected.indexing?.registries, ['r']);
  assert.equal(made(registry('r', { resourceSelectors: [pods] })), selected, 'the same record while nothing changes');
  assert.equal(selected.uid, first.uid);
  const plain = makeKarmadaSource({ secretNamespace: 'karmada-cluster' });
  assert.equal(plain.watches.length, 2);
  assert.equal(plain.compile([clusters, new Map()])[0]!.indexing, undefined, 'the configuration says it');
});
