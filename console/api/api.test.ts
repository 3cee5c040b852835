import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainPath } from './api.ts';

test('paths that a browser sends as they are written are taken', () => {
  for (const path of [
    '/clusters/*/proxy/api/v1/pods',
    '/clusters/a/proxy/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node',
    '/clusters/a/proxy/api/v1/namespaces/n/pods/p/log?container=c&x=..%2F..&y=/../z',
    '/apis/x/v1/things/..a/.b/c..',
  ])
    assert.equal(plainPath(path), path);
});

test('a path that a browser would resolve to another one, or send to another host, is refused', () => {
  for (const path of [
    '//evil.example/x',
    'https://evil.example/x',
    '/\\evil.example/x',
    '/clusters/a/../b',
    '/clusters/a/..',
    '/clusters/a/..?x=1',
    '/clusters/a/%2e%2E/b',
    '/clusters/a/./b',
    '/clusters/a\\..\\b',
    '/clusters/a/.\n./b',
    '/clusters/a#b',
  ])
    assert.throws(() => plainPath(path), /is not a path of the API/, path);
});
