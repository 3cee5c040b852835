import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aggregatedResources, groupsIn, listedResources } from './documents.ts';

const pods = { resource: 'pods', responseKind: { kind: 'Pod' }, scope: 'Namespaced', verbs: ['get', 'list'] };
const aggregated = (group: string, version: string, ...resources: readonly object[]) => ({
  kind: 'APIGroupDiscoveryList',
  items: [{ metadata: { name: group }, versions: [{ version, resources }] }],
});
const namesOf = (document: object): readonly string[] =>
  aggregatedResources(document as Record<string, unknown>).map(({ resource }) => resource);

test('a resource is followed by its subresources, also those without a kind of their own', () => {
  const log = { subresource: 'log', responseKind: { kind: 'Pod' }, verbs: ['get'] };
  const proxy = { subresource: 'proxy', verbs: ['get', 'create'] };
  const found = aggregatedResources(aggregated('', 'v1', { ...pods, subresources: [log, proxy] }));
  assert.deepEqual(
    found.map(({ resource, kind, namespaced, verbs }) => [resource, kind, namespaced, verbs]),
    [
      ['pods', 'Pod', true, ['get', 'list']],
      ['pods/log', 'Pod', true, ['get']],
      ['pods/proxy', '', true, ['get', 'create']],
    ],
  );
});

test('what cannot be a name in a path is left out, and so is an entry of another form', () => {
  const odd = ['', '..', 'pods/../secrets', 'a?b', 'Pods', 1, null].map((resource) => ({ ...pods, resource }));
  const noKind = { ...pods, responseKind: { kind: 'P d' } };
  assert.deepEqual(namesOf(aggregated('', 'v1', ...odd, noKind, null as unknown as object, pods)), ['pods']);
  assert.deepEqual(namesOf(aggregated('../api', 'v1', pods)), []);
  assert.deepEqual(namesOf(aggregated('', 'v1/namespaces/x', pods)), []);
  assert.deepEqual(namesOf({ kind: 'APIGroupDiscoveryList', items: [{ versions: 'v1' }, 'x', [[]]] }), []);
});

test('the two kinds of documents say the same of a resource', () => {
  const listed = {
    ...{ name: 'pods', singularName: 'pod', kind: 'Pod', namespaced: true, verbs: ['get', 'list'] },
    ...{ shortNames: ['po'], categories: ['all'] },
  };
  const inGroup = { ...pods, singularResource: 'pod', shortNames: ['po'], categories: ['all'] };
  assert.deepEqual(
    listedResources({ kind: 'APIResourceList', resources: [listed] }, 'example.com', 'v1'),
    aggregatedResources(aggregated('example.com', 'v1', inGroup)),
  );
});

test('groups have their preferred version first, and only versions that can be in a path', () => {
  const versions = ['v1', 'v1/x', 'v2', ''].map((version) => ({ version }));
  const group = { kind: 'APIGroup', name: 'example.com', versions, preferredVersion: { version: 'v2' } };
  const expected = [{ group: 'example.com', versions: ['v2', 'v1'] }];
  assert.deepEqual(groupsIn(group), expected);
  assert.deepEqual(groupsIn({ kind: 'APIGroupList', groups: [group, null, 'x'] }), expected);
  assert.deepEqual(groupsIn({ kind: 'APIVersions', versions: ['v1', '../x', 2] }), [{ group: '', versions: ['v1'] }]);
});
