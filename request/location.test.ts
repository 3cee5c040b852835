import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from '../model/records.ts';
import { locationRewriter } from './location.ts';
import { parseTarget } from './path.ts';
import { route } from './routes.ts';

const endpoint: Endpoint = { scheme: 'https', host: 'member.example', port: 6443, basePath: '' };

function rewrite(target: string, location: string, at: Endpoint = endpoint): string | undefined {
  const surface = route(parseTarget(target), undefined);
  assert.ok(surface.kind === 'member');
  return locationRewriter(surface, at)(location);
}

const application = '/clusters/m1/proxy/api/v1/namespaces/n/services/web/proxy/login';

const moved: readonly (readonly [location: string, expected: string])[] = [
  ['/api/v1/namespaces/n/services/web/proxy/home', '/clusters/m1/proxy/api/v1/namespaces/n/services/web/proxy/home'],
  ['https://member.example:6443/api/v1/x?q=1#f', '/clusters/m1/proxy/api/v1/x?q=1#f'],
  ['HTTPS://MEMBER.example:6443/x', '/clusters/m1/proxy/x'],
  ['https://member.example:6443', '/clusters/m1/proxy/'],
  ['home?next=/x', 'home?next=/x'],
  ['?page=2', '?page=2'],
];
for (const [location, expected] of moved) {
  test(`below services/proxy, ${location} stays below the gateway's prefix (ATT-11)`, () => {
    assert.equal(rewrite(application, location), expected);
  });
}

const elsewhere = [
  'https://evil.example/x',
  'http://member.example:6443/x',
  'https://member.example/x',
  'https://member.example:6443@evil.example/x',
  'https://user@member.example:6443/x',
  '//evil.example/x',
  'javascript:alert(1)',
  'https:/\\evil.example',
  '/\\evil.example',
  '/../../clusters/m2/proxy/api',
  '/a/%2e%2e/%2E./b',
  '../../../x',
  '/x\r\nSet-Cookie: a=b',
  '/with space',
];
for (const location of elsewhere) {
  test(`below services/proxy, ${JSON.stringify(location)} is refused (ATT-11)`, () => {
    assert.equal(rewrite(application, location), undefined);
  });
}

test('a redirect anywhere else is refused, however harmless (ATT-11)', () => {
  for (const target of [
    '/clusters/m1/proxy/api/v1/pods',
    '/clusters/m1/proxy/',
    '/clusters/m1/proxy/api/v1/namespaces/n/pods/p/log',
  ]) {
    assert.equal(rewrite(target, '/api/v1/other'), undefined);
  }
});

test('on a host of the cluster’s own, a path that begins with two slashes is another host and refused (ATT-11)', () => {
  const surface = route(parseTarget('/api/v1/namespaces/n/services/web/proxy/login'), 'm1');
  assert.ok(surface.kind === 'member');
  const behind: Endpoint = { ...endpoint, basePath: '/k8s' };
  for (const [at, location, expected] of [
    [endpoint, 'https://member.example:6443//evil.example/x', undefined],
    [behind, '/k8s//evil.example/x', undefined],
    [behind, 'https://member.example:6443/k8s//evil.example/x', undefined],
    [endpoint, 'https://member.example:6443/api/v1//x', '/api/v1//x'],
    [behind, '/k8s/api/v1/x', '/api/v1/x'],
  ] as const) {
    assert.equal(locationRewriter(surface, at)(location), expected, location);
  }
});

test('the base path of a member behind another gateway is taken off', () => {
  const behind: Endpoint = { ...endpoint, basePath: '/k8s/clusters/c-1' };
  assert.equal(rewrite(application, '/k8s/clusters/c-1/api/v1/x', behind), '/clusters/m1/proxy/api/v1/x');
});
