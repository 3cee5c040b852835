// The gateway's own objects: what asks for a watch is answered as one, or refused, and never with an object or a list.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Authorizer } from '../auth/rules/authorize.ts';
import type { ApiClient } from '../kube/types.ts';
import { clusterSpec, makeLocalSite } from './local.fixture.ts';

const site = makeLocalSite([clusterSpec('m1')]);
const paths = [
  '/apis/gateway.portcullis.io/v1alpha1/clusters/m1',
  '/apis/gateway.portcullis.io/v1alpha1/clusters/none',
  '/apis/gateway.portcullis.io/v1alpha1/statistics/m1',
  '/apis/gateway.portcullis.io/v1alpha1/statistics',
  '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/m1',
  '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/m1/health',
  '/apis/cluster.core.oam.dev/v1alpha1/virtualclusters/m1',
];

test('a watch of one object by its name, or of what cannot be watched, is 405', async () => {
  for (const path of paths) {
    for (const flag of ['watch=true', 'watch=1', 'watch=True', 'watch', 'x=y&%77atch=2']) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await site.ask(`${method} ${path}?${flag}`);
        assert.equal(answer.status, 405, `${method} ${path}?${flag}`);
        const { kind, reason, code } = answer.json() as { kind: string; reason: string; code: number };
        assert.deepEqual([kind, reason, code], ['Status', 'MethodNotAllowed', 405]);
      }
    }
  }
});

test('watch=false, watch=0 and parameters of other names ask for no watch', async () => {
  for (const flag of ['watch=false', 'watch=0', 'watch=FALSE', 'watcher=true', 'allowWatchBookmarks=true']) {
    const answer = await site.ask(`GET ${paths[0]!}?${flag}`);
    assert.equal(answer.status, 200, flag);
  }
});

test('the old paths of watches are not served for objects of the gateway', async () => {
  for (const path of ['watch/clusters', 'watch/clusters/m1', 'watch/statistics'])
    assert.equal((await site.ask(`GET /apis/gateway.portcullis.io/v1alpha1/${path}`)).status, 404, path);
});

test('what is not served stays 404, whatever is asked of it', async () => {
  const without = makeLocalSite([clusterSpec('m1')], { clusterGatewayApi: false });
  for (const path of [
    '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/m1',
    '/apis/search.karmada.io/v1alpha1/resourceregistries/m1',
  ])
    assert.equal((await without.ask(`GET ${path}?watch=true`)).status, 404, path);
});

test('a watch of one ResourceRegistry by its name is 405, and the hub is not asked', async () => {
  const asked: string[] = [];
  const hub = new Proxy({}, { get: (_, name) => () => asked.push(String(name)) }) as ApiClient;
  const authorizer = { authorize: async () => ({ allowed: true }) } as unknown as Authorizer;
  const served = makeLocalSite([], { hub, authorizer });
  const path = '/apis/search.karmada.io/v1alpha1/resourceregistries/one';
  for (const name of [path, `${path}/status`])
    assert.equal((await served.ask(`GET ${name}?watch=1`)).status, 405, name);
  assert.deepEqual(asked, []);
});
