import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTarget } from './path.ts';
import { requestInfo } from './request-info.ts';
import { clustersThroughIndex, route } from './routes.ts';
import { indexVerb } from './index-groups.ts';
import type { IndexSurface, ProxyingSurface } from './index-groups.ts';

function surface(target: string): IndexSurface {
  const found = route(parseTarget(target), undefined);
  assert.equal(found.kind, 'index', target);
  return found as IndexSurface;
}
const clusterpedia = '/apis/clusterpedia.io/v1beta1';
const search = '/apis/search.portcullis.io/v1alpha1';

test('what is behind `resources` is handed on segment by segment (CP-001 to CP-006)', () => {
  const inner = (target: string): readonly string[] => (surface(target) as { segments: readonly string[] }).segments;
  assert.deepEqual(inner(`${clusterpedia}/resources`), []);
  assert.deepEqual(inner(`${clusterpedia}/resources/`), []);
  assert.deepEqual(inner(`${clusterpedia}/resources/apis/`), ['apis']);
  assert.deepEqual(inner(`${clusterpedia}/resources/clusters/cluster-1/api?key1=value1&key2=value2`), [
    'clusters',
    'cluster-1',
    'api',
  ]);
  assert.deepEqual(inner(`${search}/indexes/default/proxy/apis/apps/v1/deployments`), [
    'apis',
    'apps',
    'v1',
    'deployments',
  ]);
});

test('a subresource below a path of one cluster is a request to that cluster; nothing else is', () => {
  const of = (target: string) => route(parseTarget(target), undefined);
  const one = `${clusterpedia}/resources/clusters/c-1`;
  for (const path of [
    '/api/v1/namespaces/a/pods/p/log',
    '/api/v1/namespaces/a/pods/p/proxy/some%20path/',
    '/api/v1/nodes/n/proxy/metrics',
    '/api/v1/namespaces/a/services/https:s:443/proxy',
  ]) {
    const found = of(`${one}${path}?x=1`);
    assert.ok(found.kind === 'member', path);
    assert.deepEqual([found.cluster, found.prefix, found.path, found.segments[0]], ['c-1', one, path, 'api']);
    assert.equal(found.outer, clustersThroughIndex);
  }
  for (const path of [
    `${one}/api/v1/namespaces/a/pods/p`,
    `${one}/api/v1/namespaces/a/pods/p/status`,
    `${one}/api/v1/namespaces/a/pods/p/eviction`,
    `${one}/apis/apps/v1/namespaces/a/deployments/d/scale`,
    `${one}/apis/metrics.k8s.io/v1/namespaces/a/pods/p/log`,
    `${one}/api/v1/nodes/n/log`,
    // No such path for all clusters, and our own segments have one spelling only.
    one.replace('c-1', '*') + '/api/v1/namespaces/a/pods/p/log',
    one.replace('c-1', '%63-1') + '/api/v1/namespaces/a/pods/p/log',
    `${clusterpedia}/resources/api/v1/namespaces/a/pods/p/log`,
    `${search}/indexes/default/proxy/clusters/c-1/api/v1/namespaces/a/pods/p/log`,
  ])
    assert.equal(of(path).kind, 'index', path);
});

test('prefixes end where the native path begins', () => {
  const prefix = (target: string): string => (surface(target) as { prefix: string }).prefix;
  for (const tail of ['', '/', '/api', '/clusters/a/api/v1/pods']) {
    assert.equal(prefix(`${clusterpedia}/resources${tail}`), `${clusterpedia}/resources`);
    assert.equal(prefix(`${search}/indexes/default/proxy${tail}`), `${search}/indexes/default/proxy`);
  }
});

test('collections, questions and the index itself have paths of their own, and nothing else of these groups has one', () => {
  assert.deepEqual(surface(`${clusterpedia}/collectionresources/any`), {
    kind: 'index',
    part: 'collections',
    name: 'any',
  });
  assert.deepEqual(surface(`${search}/indexes/default/facets?resource=pods.v1.`), { kind: 'index', part: 'facets' });
  assert.deepEqual(surface(`${search}/indexes`), { kind: 'index', part: 'indexes', name: undefined });
  for (const path of [
    `${clusterpedia}/other`,
    `${clusterpedia}/collectionresources/any/more`,
    `${search}/indexes/other/proxy/api`,
    `${search}/indexes/default/facets/more`,
    `${search}/indexes/default/unknown`,
    '/apis/clusterpedia.io/v1',
  ]) {
    assert.throws(() => route(parseTarget(path), undefined), /could not find/, path);
  }
});

test('RBAC is asked about the names Clusterpedia and a hub see; a watch is one whatever its path is called', () => {
  const of = (path: string): readonly string[] => {
    const target = parseTarget(path);
    const info = requestInfo('GET', target.segments, target.query, false);
    return [
      info.verb,
      `${info.resource}/${info.name}/${info.subresource}`,
      indexVerb(surface(path), info, target.query),
    ];
  };
  assert.deepEqual(of(`${clusterpedia}/resources/apis/apps/v1/deployments`), ['get', 'resources/apis/apps', 'get']);
  assert.deepEqual(of(`${clusterpedia}/resources/clusters/c1/api/v1/pods?watch`), [
    'get',
    'resources/clusters/c1',
    'watch',
  ]);
  assert.deepEqual(of(`${search}/indexes/default/proxy/api/v1/pods`), ['get', 'indexes/default/proxy', 'get']);
  assert.deepEqual(of(`${search}/indexes/default/proxy/api/v1/watch/pods`), ['get', 'indexes/default/proxy', 'watch']);
});

test("Karmada's paths are read segment by segment; what goes to a cluster keeps the bytes of its path", () => {
  const karmada = '/apis/search.karmada.io/v1alpha1';
  const proxying = `${karmada}/proxying/karmada/proxy`;
  const of = (path: string) => surface(path) as ProxyingSurface;
  const service = of(`${proxying}/api/v1/namespaces/a/services/s/proxy/x%2Fy//z/?q=1`);
  assert.equal(service.path, '/api/v1/namespaces/a/services/s/proxy/x%2Fy//z/');
  assert.equal(service.prefix, proxying);
  assert.deepEqual(of(`${proxying}/api/v1/pods`).segments, ['api', 'v1', 'pods']);
  for (const root of [proxying, `${proxying}/`]) {
    assert.equal(of(root).path, '/');
    assert.deepEqual(of(root).segments, []);
  }
  const cached = surface(`${karmada}/search/cache/api/v1/pods`);
  assert.equal(cached.part, 'cache');
  const registries = route(parseTarget(`${karmada}/resourceregistries/r/status`), undefined);
  assert.deepEqual(registries, { kind: 'registries', name: 'r', subresource: 'status' });
  assert.throws(() => surface(`${karmada}/search/opensearch/api/v1/pods`), /no OpenSearch/);
  for (const path of [`${karmada}/proxying/karmad%61/proxy/api`, `${karmada}/proxying/karmada/prox%79/api`])
    assert.throws(() => surface(path), /must not hold percent escapes/);
  for (const path of [
    '/search',
    '/search/other/api',
    '/proxying',
    '/proxying/karmada',
    '/resourceregistries/r/x',
    '/x',
  ])
    assert.throws(() => route(parseTarget(karmada + path), undefined), /could not find/, path);
});
