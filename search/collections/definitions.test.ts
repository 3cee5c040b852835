import assert from 'node:assert/strict';
import { test } from 'node:test';
import { urlParameters } from '../../query/parameters.ts';
import { collectionTypes, typesOf } from '../api/collection-types.ts';
import { readDefinition } from './definitions.ts';

const indexed = [
  { group: '', resource: 'services' },
  { group: 'networking.k8s.io', resource: 'ingresses' },
  { group: 'networking.k8s.io', resource: 'networkpolicies' },
];

test('a collection has the types it names, and those of its groups that are indexed, each once', () => {
  const network = readDefinition('network', [
    { group: 'networking.k8s.io', resource: '*' },
    { group: 'networking.k8s.io', version: 'v1', kind: 'Ingress', resource: 'ingresses' },
    { resource: 'services' },
  ]);
  const types = collectionTypes('network', urlParameters('groups=apps'), [network])!;
  assert.deepEqual(
    typesOf(types, indexed).map(({ group, resource, version }) => [group, resource, version]),
    [
      ['networking.k8s.io', 'ingresses', 'v1'],
      ['networking.k8s.io', 'networkpolicies', undefined],
      ['', 'services', undefined],
    ],
  );
  const everything = readDefinition('all', [{ group: '*', resource: '*' }]);
  assert.equal(typesOf(collectionTypes('all', urlParameters(''), [everything])!, indexed).length, 3);
  assert.equal(collectionTypes('other', urlParameters(''), [network, everything]), undefined);
  const workloads = { name: 'workloads', resourceTypes: network.resourceTypes };
  const { named } = collectionTypes('workloads', urlParameters(''), [workloads])!;
  assert.equal(named[0]!.resource, 'deployments', 'a built-in collection stays what it is');
});

test('a definition that cannot be used says what is wrong', () => {
  const pods = [{ group: '', resource: 'pods' }];
  const wrong: readonly (readonly [name: unknown, types: unknown, message: RegExp])[] = [
    ['any', pods, /built in/],
    ['A/b', pods, /DNS subdomain/],
    [undefined, pods, /DNS subdomain/],
    ['a', [], /1 to 256 types/],
    ['a', undefined, /1 to 256 types/],
    ['a', Array.from({ length: 257 }, () => pods[0]), /1 to 256 types/],
    ['a', [null], /resourceTypes\[0\]\.resource/],
    ['a', [...pods, { group: 'apps', resource: 'Deployment' }], /resourceTypes\[1\]\.resource/],
    ['a', [{ group: 'a/b', resource: 'pods' }], /\.group is no API group/],
    ['a', [{ group: '', version: '../v1', resource: 'pods' }], /\.version is no version/],
    ['a', [{ group: '*', resource: 'pods' }], /goes with the resource "\*"/],
  ];
  for (const [name, types, message] of wrong) assert.throws(() => readDefinition(name, types), message);
});
