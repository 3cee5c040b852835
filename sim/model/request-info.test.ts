import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestInfo } from './request-info.ts';

/** method, path and query → verb, group, version, namespace, resource, subresource, name (requestinfo_test.go). */
const cases: readonly (readonly [string, string, string, string, string, string, string, string, string])[] = [
  ['GET', '/api/v1/namespaces', 'list', '', 'v1', '', 'namespaces', '', ''],
  ['GET', '/api/v1/namespaces/other', 'get', '', 'v1', 'other', 'namespaces', '', 'other'],
  ['GET', '/api/v1/namespaces/other/pods', 'list', '', 'v1', 'other', 'pods', '', ''],
  ['GET', '/api/v1/namespaces/other/pods/foo', 'get', '', 'v1', 'other', 'pods', '', 'foo'],
  ['HEAD', '/api/v1/namespaces/other/pods/foo', 'get', '', 'v1', 'other', 'pods', '', 'foo'],
  ['GET', '/api/v1/pods', 'list', '', 'v1', '', 'pods', '', ''],
  ['HEAD', '/api/v1/pods', 'list', '', 'v1', '', 'pods', '', ''],
  ['GET', '/api/v1/watch/pods', 'watch', '', 'v1', '', 'pods', '', ''],
  ['GET', '/api/v1/pods?watch=true', 'watch', '', 'v1', '', 'pods', '', ''],
  ['GET', '/api/v1/pods?watch=false', 'list', '', 'v1', '', 'pods', '', ''],
  ['GET', '/api/v1/watch/namespaces/other/pods', 'watch', '', 'v1', 'other', 'pods', '', ''],
  ['GET', '/api/v1/namespaces/other/pods/foo/status', 'get', '', 'v1', 'other', 'pods', 'status', 'foo'],
  ['PUT', '/api/v1/namespaces/other/finalize', 'update', '', 'v1', 'other', 'namespaces', 'finalize', 'other'],
  ['PUT', '/api/v1/namespaces/other/status', 'update', '', 'v1', 'other', 'namespaces', 'status', 'other'],
  ['PATCH', '/api/v1/namespaces/other/pods/foo', 'patch', '', 'v1', 'other', 'pods', '', 'foo'],
  ['DELETE', '/api/v1/namespaces/other/pods/foo', 'delete', '', 'v1', 'other', 'pods', '', 'foo'],
  ['POST', '/api/v1/namespaces/other/pods', 'create', '', 'v1', 'other', 'pods', '', ''],
  ['DELETE', '/api/v1/nodes', 'deletecollection', '', 'v1', '', 'nodes', '', ''],
  ['DELETE', '/apis/apps/v1/namespaces/a/deployments', 'deletecollection', 'apps', 'v1', 'a', 'deployments', '', ''],
  ['GET', '/apis/apps/v1/namespaces/a/deployments/d/scale', 'get', 'apps', 'v1', 'a', 'deployments', 'scale', 'd'],
  ['OPTIONS', '/api/v1/pods', '', '', 'v1', '', 'pods', '', ''],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dfoo', 'list', '', 'v1', '', 'pods', '', 'foo'],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dfoo,x%3Dy&watch=1', 'watch', '', 'v1', '', 'pods', '', 'foo'],
  ['DELETE', '/api/v1/pods?fieldSelector=metadata.name%3Dfoo', 'deletecollection', '', 'v1', '', 'pods', '', ''],
];

for (const [method, target, ...expected] of cases)
  test(`${method} ${target} is read as kube-apiserver reads it`, () => {
    const [path = '', query = ''] = target.split('?');
    const info = requestInfo(method, path, new URLSearchParams(query));
    assert.equal(info.isResourceRequest, true);
    assert.deepEqual(
      [info.verb, info.group, info.version, info.namespace, info.resource, info.subresource, info.name],
      expected,
    );
  });

for (const path of [
  '/',
  '/api',
  '/api/v1',
  '/apis',
  '/apis/apps',
  '/apis/apps/v1',
  '/healthz',
  '/version',
  '/openapi/v3',
])
  test(`${path} names no resource`, () => {
    const info = requestInfo('GET', path, new URLSearchParams());
    assert.equal(info.isResourceRequest, false);
    assert.equal(info.verb, 'get');
  });
