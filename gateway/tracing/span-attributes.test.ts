import assert from 'node:assert/strict';
import test from 'node:test';
import { requestInfo } from '../../request/request-info.ts';
import { resourceRoute } from './span-attributes.ts';

test('a span is named by the kind of path, never by what somebody called an object', () => {
  const routeOf = (method: string, path: string, query = ''): string =>
    resourceRoute(requestInfo(method, path.slice(1).split('/'), query, false));
  const cases: [string, string, string?][] = [
    ['/api/v1/namespaces/secret-ns/pods/secret-pod', '/api/v1/namespaces/{namespace}/pods/{name}'],
    ['/api/v1/namespaces/secret-ns/pods/secret-pod/log', '/api/v1/namespaces/{namespace}/pods/{name}/log'],
    ['/apis/apps/v1/namespaces/secret-ns/deployments', '/apis/apps/v1/namespaces/{namespace}/deployments'],
    ['/api/v1/nodes/secret', '/api/v1/nodes/{name}'],
    ['/api/v1/namespaces/secret', '/api/v1/namespaces/{name}'],
    ['/api/v1/namespaces', '/api/v1/namespaces'],
    ['/api/v1/pods', '/api/v1/pods', '?fieldSelector=metadata.name%3Dsecret'],
    ['/version', ''],
  ];
  for (const [path, route, query] of cases) assert.equal(routeOf('GET', path, query), route);
});
