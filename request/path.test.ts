import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../model/errors.ts';
import { applicationOffset, parseTarget } from './path.ts';
import { route } from './routes.ts';

const refused = [
  'http://evil/apis',
  '*',
  '',
  'clusters/a',
  '//evil/api',
  '/clusters//a/proxy/api',
  '/clusters/a/proxy//api/v1/secrets',
  '/clusters/a/proxy/../../b/proxy/api',
  '/clusters/a/proxy/..%2f..%2fb/proxy/api',
  '/clusters/a/proxy/%2e%2e/%2e%2e/b/proxy/api',
  '/clusters/a/proxy/.%2e/x',
  '/clusters/a/proxy/%252e%252e/x',
  '/clusters/a/proxy/%25252e%25252e/x',
  '/clusters/a/proxy/api/..',
  '/clusters/a/proxy/api/.',
  '/clusters/a/proxy/..;/b',
  '/clusters/a/proxy/;../b',
  '/clusters/a%2Fb/proxy/api',
  '/clusters/a%5Cb/proxy/api',
  '/clusters/a%00/proxy/api',
  '/clusters/a%0d%0a/proxy/api',
  '/clusters/a/proxy/api%zz',
  '/clusters/a/proxy/api%',
  '/clusters/a/proxy/\\..\\b',
  '/clusters/a/proxy/a b',
  '/clusters/a/proxy/é',
  '/clusters/a/proxy/%ff%fe',
  '/clusters/a/proxy/api#fragment',
  '/clusters/a/proxy/api?a=\u0001',
  '/clusters/a/proxy/api/v1/namespaces/n/pods/a%2Fb',
  '/clusters/a/proxy/api/v1/namespaces/n/services/x/proxy/..%2f..%2fsecrets',
  '/clusters/a/proxy/api/v1/namespaces/n/services/x/proxy/%252e%252e/x',
];

for (const target of refused) {
  test(`${JSON.stringify(target)} is refused (ATT-12, ATT-13, ATT-14)`, () => {
    assert.throws(
      () => parseTarget(target),
      (error) => error instanceof GatewayError && error.status === 400,
    );
  });
}

test('the bytes behind /proxy go out exactly as they came in', () => {
  const target = "/clusters/m1/proxy/api/v1/namespaces/n/services/http:web:80/proxy/a%2Fb//c;d/'(x)'/?q=%2e%2e&x=//y";
  const parsed = parseTarget(target);
  const surface = route(parsed, undefined);
  assert.ok(surface.kind === 'member');
  assert.equal(surface.cluster, 'm1');
  assert.equal(surface.path + parsed.query, target.slice('/clusters/m1/proxy'.length));
  assert.equal(surface.prefix, '/clusters/m1/proxy');
  assert.equal(applicationOffset(surface.segments), 6);
});

const aggregatedForms = [
  [
    '/apis/gateway.portcullis.io/v1alpha1/clusters',
    { group: 'gateway.portcullis.io', version: 'v1alpha1', resource: 'clusters' },
  ],
  [
    '/apis/cluster.core.oam.dev/v1alpha1/clustergateways',
    { group: 'cluster.core.oam.dev', version: 'v1alpha1', resource: 'clustergateways' },
  ],
  [
    '/apis/cluster.karmada.io/v1alpha1/clusters',
    { group: 'cluster.karmada.io', version: 'v1alpha1', resource: 'clusters' },
  ],
] as const;

test('the aggregated form names the same cluster and path', () => {
  const surface = route(parseTarget('/apis/gateway.portcullis.io/v1alpha1/clusters/m1/proxy/api/v1/pods/'), undefined);
  assert.deepEqual(surface, {
    kind: 'member',
    cluster: 'm1',
    outer: { group: 'gateway.portcullis.io', version: 'v1alpha1', resource: 'clusters' },
    path: '/api/v1/pods/',
    segments: ['api', 'v1', 'pods'],
    prefix: '/apis/gateway.portcullis.io/v1alpha1/clusters/m1/proxy',
    hasOwnOrigin: false,
  });
});

test('every aggregated form names the cluster, the member path and the API that was called', () => {
  for (const [prefix, outer] of aggregatedForms) {
    for (const cluster of ['m1', 'a.dotted.name', `${'a'.repeat(63)}.${'b.'.repeat(94)}c`]) {
      const target = `${prefix}/${cluster}/proxy/api/v1/pods?a=b`;
      const parsed = parseTarget(target);
      const surface = route(parsed, undefined);
      assert.ok(surface.kind === 'member');
      assert.deepEqual(surface.outer, outer);
      assert.equal(surface.cluster, cluster);
      assert.equal(surface.path + parsed.query, '/api/v1/pods?a=b');
      assert.equal(surface.prefix, `${prefix}/${cluster}/proxy`);
    }
  }
});

test('behind every prefix the bytes of an application stay as they are', () => {
  const inner = '/api/v1/namespaces/n/services/web/proxy/a%2Fb//c';
  const prefixes = ['/clusters/m1/proxy', ...aggregatedForms.map(([prefix]) => `${prefix}/m1/proxy`)];
  for (const prefix of prefixes) {
    const surface = route(parseTarget(prefix + inner), undefined);
    assert.ok(surface.kind === 'member');
    assert.equal(surface.path, inner);
    assert.throws(() => parseTarget(`${prefix}/api/v1/pods//x`), GatewayError);
  }
});

test('a proxy path without a rest asks for the root of the member', () => {
  for (const target of ['/clusters/m1/proxy', '/clusters/m1/proxy/']) {
    const surface = route(parseTarget(target), undefined);
    assert.ok(surface.kind === 'member' && surface.path === '/');
  }
});

test('our own segments must be spelled plainly', () => {
  for (const target of [
    '/clusters/m1/pro%78y/api',
    '/clusters/%6d1/proxy/api',
    '/%63lusters/m1/proxy/api',
    '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/m%31/proxy/api',
    '/api%73/gateway.portcullis.io/v1alpha1/clusters/m1/proxy/api',
  ]) {
    assert.throws(() => route(parseTarget(target), undefined), GatewayError);
  }
});

test('a path the gateway does not serve is 404', () => {
  for (const target of [
    '/x',
    '/clusters',
    '/clusters/m1',
    '/api/v1/pods',
    '/apis/apps/v1/deployments',
    '/openapi',
    '/version/x',
    '/apis/cluster.karmada.io',
    '/apis/cluster.karmada.io/v1alpha1',
    '/apis/cluster.karmada.io/v1alpha1/clusters/m1',
    '/apis/cluster.core.oam.dev/v1alpha1/clusters/m1/proxy/api',
    '/apis/cluster.core.oam.dev/v1alpha1/virtualclusters/m1/proxy/api',
    '/apis/cluster.core.oam.dev/v1beta1/clustergateways/m1/proxy/api',
    '/apis/gateway.portcullis.io/v1alpha1/clustergateways/m1/proxy/api',
    '/apis/gateway.portcullis.io/v1alpha1/clusters/m1/health',
    '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/m1/health/x',
    '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/m1/status',
    '/openapi/v3/apis/cluster.karmada.io/v1alpha1',
    '/openapi/v3/apis/gateway.portcullis.io/v1alpha1/x',
  ]) {
    assert.throws(
      () => route(parseTarget(target), undefined),
      (error) => error instanceof GatewayError && error.status === 404,
      target,
    );
  }
});

test('an accepted path never leaves the cluster it names, however it is decoded', () => {
  const piece = fc.constantFrom(
    '.',
    '..',
    '%2e',
    '%2E',
    '%252e',
    '/',
    '%2f',
    '%5c',
    ';',
    'api',
    'b',
    'proxy',
    'clusters',
    '%25',
    'pods',
    'v1',
    'namespaces',
    'n',
    'services',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      const target = `/clusters/a/proxy/${pieces.join('')}`;
      let inner: string;
      try {
        const surface = route(parseTarget(target), undefined);
        assert.ok(surface.kind === 'member');
        assert.equal(surface.cluster, 'a');
        inner = surface.path;
      } catch (error) {
        assert.ok(error instanceof GatewayError);
        return;
      }
      for (let i = 0; i < 4; i++) {
        assert.ok(!/(?:^|[/\\;])\.\.?(?:$|[/\\;])/.test(inner), `${target} leaves through ${inner}`);
        inner = inner
          .replaceAll(/%25/gi, '%')
          .replaceAll(/%2e/gi, '.')
          .replaceAll(/%2f/gi, '/')
          .replaceAll(/%5c/gi, '\\');
      }
    }),
    { numRuns: 3000 },
  );
});

test('a query of more pairs than Go reads is refused, wherever the path leads; one of as many as it reads with ours is not (ATT-43)', () => {
  for (const path of [
    '/api',
    '/clusters/m1/proxy/api/v1/pods',
    '/clusters/m1/proxy/api/v1/namespaces/a/services/b/proxy//x',
    '/a%20b',
  ])
    for (const pair of ['', 'a', ';', 'a=%zz']) {
      const query = (pairs: number): string => `${path}?${Array<string>(pairs).fill(pair).join('&')}`;
      assert.equal(parseTarget(query(pair === 'a=%zz' ? 9_000 : 9_984)).path, path);
      assert.throws(() => parseTarget(query(9_985)), GatewayError);
    }
});

test('a path has a thousand segments at most, and one with more is refused before any of them is decoded (ATT-49)', () => {
  const below = '/clusters/a/proxy/api/v1/namespaces/b/pods/c/proxy';
  for (const piece of ['/a', '/%41', '/%25', '/', '/!']) {
    const most = parseTarget(below + piece.repeat(990));
    assert.ok(most.segments.length >= 999 && most.segments.length <= 1000);
    assert.throws(() => parseTarget(below + piece.repeat(991)), /more than 1000 segments/);
  }
  assert.throws(() => parseTarget('/%zz'.repeat(1000)), /bad percent escape/);
  assert.throws(() => parseTarget('/%zz'.repeat(1001)), /more than 1000 segments/);
});
