import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredType } from '../../store/store.ts';
import type { TypeInfo } from '../../query/types.ts';
import { aggregatedList, compareVersions, groupLists, openapiRoot, resourceList, unionOf } from './union-discovery.ts';

function stored(cluster: string, changes: Partial<TypeInfo>): StoredType {
  const type: TypeInfo = {
    group: '',
    resource: 'pods',
    version: 'v1',
    versions: ['v1'],
    kind: 'Pod',
    singular: 'pod',
    shortNames: ['po'],
    categories: ['all'],
    namespaced: true,
    convertible: false,
    ...changes,
  };
  return {
    incarnation: { id: cluster, cluster },
    type,
    position: { resourceVersion: '1', confirmedAtMs: 1 },
    objects: 1,
  };
}

const widgets = { group: 'x.io', resource: 'widgets', kind: 'Widget', singular: 'widget', categories: [] };
const types = [
  stored('a', {}),
  stored('b', {}),
  stored('a', { ...widgets, version: 'v1', versions: ['v1', 'v1beta1'], convertible: true, shortNames: ['w'] }),
  stored('b', { ...widgets, version: 'v2alpha1', versions: ['v2alpha1', 'v2'], shortNames: ['wd'] }),
];

test('the union has each type once a version, with the short names of all clusters', () => {
  const union = unionOf(types, false);
  const { api, apis } = groupLists(union);
  assert.deepEqual((api as { versions: unknown }).versions, ['v1']);
  assert.deepEqual(
    (apis as { groups: { versions: { version: string }[] }[] }).groups[0]!.versions.map(({ version }) => version),
    ['v1', 'v1beta1', 'v2alpha1'],
  );
  assert.deepEqual(resourceList(union, '', 'v1'), {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: 'v1',
    resources: [
      {
        name: 'pods',
        singularName: 'pod',
        namespaced: true,
        kind: 'Pod',
        verbs: ['get', 'list', 'watch'],
        shortNames: ['po'],
        categories: ['all'],
      },
    ],
  });
  assert.equal(resourceList(union, 'x.io', 'v2'), undefined);
  assert.ok(resourceList(unionOf(types.slice(3), true), 'x.io', 'v2') !== undefined);
});

test('the aggregated form holds what the legacy one does', () => {
  const union = unionOf(types, false);
  const list = aggregatedList(union, 'apis', 'v2') as {
    items: { versions: { version: string; resources: { resource: string; scope: string }[] }[] }[];
  };
  assert.deepEqual(
    list.items[0]!.versions.map(({ version, resources }) => [version, resources[0]!.resource]),
    [
      ['v1', 'widgets'],
      ['v1beta1', 'widgets'],
      ['v2alpha1', 'widgets'],
    ],
  );
  assert.equal((aggregatedList(union, 'api', 'v2') as { items: unknown[] }).items.length, 1);
  assert.ok('apis/x.io/v1' in (openapiRoot(union) as { paths: object }).paths);
});

test('versions are ordered as kube-apiserver orders them', () => {
  const versions = ['v10beta3', 'foo10', 'v3beta1', 'v12alpha1', 'v2', 'v11alpha2', 'v10', 'foo1', 'v11beta2', 'v1'];
  assert.deepEqual(versions.toSorted(compareVersions), [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
  ]);
});
