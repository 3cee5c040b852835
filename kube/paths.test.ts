import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectionPath, groupVersionPath, objectPath, pathOf, UnusableName } from './paths.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespace: 'ns' };

test('paths of real types and objects are as Kubernetes writes them', () => {
  assert.equal(collectionPath(configMaps, { limit: '1' }), '/api/v1/namespaces/ns/configmaps?limit=1');
  assert.equal(groupVersionPath('policy.example.io', 'v1alpha1'), '/apis/policy.example.io/v1alpha1');
  const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' };
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode';
  assert.equal(objectPath(roles, 'system:node'), path);
  assert.equal(objectPath(configMaps, 'kube-root-ca.crt'), '/api/v1/namespaces/ns/configmaps/kube-root-ca.crt');
});

const odd = ['', '.', '..', '../x', 'a/b', 'a%2Fb', 'a?b', 'a#b', 'A', 'a b', ' a', 'a\n', '\ud800', 'x'.repeat(254)];

test('no path is built of text that is no group, version, type, namespace or name', () => {
  for (const text of odd) {
    if (text !== '') assert.throws(() => collectionPath({ ...configMaps, group: text }, {}), UnusableName, text);
    for (const part of ['version', 'resource', 'namespace'])
      assert.throws(() => collectionPath({ ...configMaps, [part]: text }, {}), UnusableName, `${part} ${text}`);
  }
  for (const text of ['', '.', '..', '../x', 'a/b', 'a%2Fb', 'a%2fb', 'a\n', '\0', 'a\u007f', '\u0085', '\ud800']) {
    assert.throws(() => objectPath(configMaps, text), UnusableName, text);
    assert.throws(() => pathOf({ ...configMaps, namespaced: true }, 'ns', text), UnusableName, text);
    assert.throws(() => pathOf({ ...configMaps, namespaced: true }, text), UnusableName, text);
  }
  const long = 'v1/namespaces/kube-system/secrets/x?';
  assert.throws(() => groupVersionPath('', long), /"v1\/namespaces.*" cannot be a version/);
  assert.throws(() => objectPath(configMaps, ''), /the name is empty/);
});

test('a kind without namespaces has the same path whatever namespace is asked for', () => {
  const { namespace: _, ...type } = configMaps;
  const nodes = { ...type, resource: 'nodes', namespaced: false };
  for (const namespace of ['', 'ns', '../x'])
    assert.deepEqual([pathOf(nodes, namespace), pathOf(nodes, namespace, 'n1')], ['/api/v1/nodes', '/api/v1/nodes/n1']);
  assert.equal(pathOf({ ...type, namespaced: true }, 'ns', 'a:b'), '/api/v1/namespaces/ns/configmaps/a%3Ab');
});
