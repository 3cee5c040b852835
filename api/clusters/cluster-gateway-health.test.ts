import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { ApiAnswer, ApiCall, ApiClient } from '../../kube/types.ts';
import { createClusterStore } from '../../model/store.ts';
import type { ClusterStore } from '../../model/store.ts';
import { clusterSpec, gatewayView, makeLocalSite } from '../local.fixture.ts';
import type { LocalSite } from '../local.fixture.ts';

const path = '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/m1/health';
const json = { 'content-type': 'application/json' };

interface Gateway {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion?: string };
  readonly spec: object;
  readonly status: { readonly healthy?: boolean; readonly healthyReason?: string };
}
interface Patch {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion?: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
}
interface Hub {
  readonly site: LocalSite;
  readonly calls: ApiCall[];
  get(): Promise<Gateway>;
}

/** A hub that answers a write with `status`. When it takes the write, the cache sees the changed Secret. */
function hubSite(status = 200, seen = true, hasSecret = true): Hub {
  const secret = hasSecret ? gatewayView('m1').secret : undefined;
  const store: ClusterStore = createClusterStore();
  const calls: ApiCall[] = [];
  const hub = {
    url: 'https://hub',
    request(call: ApiCall): Promise<ApiAnswer> {
      calls.push(call);
      const resourceVersion = String(100 + calls.length);
      const { annotations } = (call.body as Patch).metadata;
      if (status === 200 && seen) {
        setImmediate(() => {
          const view = gatewayView('m1', { resourceVersion: hasSecret ? resourceVersion : '', annotations });
          store.apply('test', [clusterSpec('m1', { clusterGateway: { ...view, secret } })]);
        });
      }
      const secretObject = { metadata: { name: 'm1', resourceVersion }, data: { token: 'c2VjcmV0LXRva2Vu' } };
      return Promise.resolve({ status, body: Buffer.from(JSON.stringify(status === 200 ? secretObject : {})) });
    },
  } as unknown as ApiClient;
  const view = gatewayView('m1', hasSecret ? {} : { resourceVersion: '' });
  const site = makeLocalSite([clusterSpec('m1', { clusterGateway: { ...view, secret } })], { hub, store });
  return { site, calls, get: async () => (await site.ask(`GET ${path}`)).json() as Gateway };
}

test('health starts false; what is put is echoed, and only the two annotations of the Secret are written (CG-77)', async () => {
  const { site, calls, get } = hubSite();
  const read = await get();
  assert.deepEqual(read.status, {});
  const body = { ...read, status: { healthy: true, healthyReason: 'ConnectionTimeout' } };
  const answer = await site.ask(`PUT ${path}`, json, body);
  assert.equal(answer.status, 200, answer.text);
  const updated = answer.json() as Gateway;
  assert.deepEqual(updated.status, { healthy: true, healthyReason: 'ConnectionTimeout' });
  assert.equal(updated.metadata.resourceVersion, site.store.get('m1')!.resourceVersion);
  assert.deepEqual(await get(), updated);
  assert.equal(calls.length, 1);
  const { method, path: hubPath, contentType, body: sent } = calls[0]!;
  assert.equal(`${method} ${hubPath}`, 'PATCH /api/v1/namespaces/credentials/secrets/m1?fieldManager=portcullis');
  assert.equal(contentType, 'application/merge-patch+json');
  assert.deepEqual(sent, {
    metadata: {
      uid: 'secret-uid-m1',
      resourceVersion: '100',
      annotations: {
        'status.cluster.core.oam.dev/healthy': 'true',
        'status.cluster.core.oam.dev/healthy-reason': 'ConnectionTimeout',
      },
    },
  });
  assert.ok(!answer.text.includes('c2VjcmV0LXRva2Vu') && !answer.text.includes('"data"'));
  // The version in the answer is good for the next update, even when the probe found something in between.
  site.store.setStatus('uid-m1', { conditions: [], version: 'v1.36.1', latencyMs: 2 });
  assert.equal((await site.ask(`PUT ${path}`, json, { ...updated, status: {} })).status, 200);
  assert.deepEqual((await get()).status, {});
});

test('an update that was read before the Secret changed is 409; one without a version is for whatever there is', async () => {
  const { site, calls, get } = hubSite();
  const old = await get();
  const view = gatewayView('m1', { resourceVersion: '150' });
  site.store.apply('test', [clusterSpec('m1', { clusterGateway: view })]);
  const conflict = await site.ask(`PUT ${path}`, json, old);
  assert.equal(conflict.status, 409);
  assert.match(conflict.text, /the object has been modified; please apply your changes to the latest version/);
  assert.equal((await site.ask(`PUT ${path}`, json, { metadata: { uid: 'another' } })).status, 409);
  assert.equal(calls.length, 0);
  assert.equal((await site.ask(`PUT ${path}`, json, { status: { healthy: false } })).status, 200);
  assert.equal((calls[0]!.body as Patch).metadata.resourceVersion, undefined);
});

test("the hub's answer to the write is reported: conflict, gone, not allowed, broken", async () => {
  for (const [hubStatus, status, reported] of [
    [409, 409, /modified/],
    [404, 404, /clustergateways.cluster.core.oam.dev \\"m1\\" not found/],
    [403, 403, /gateway's own account on the hub may not patch secrets in namespace credentials/],
    [500, 503, /status 500/],
  ] as const) {
    const { site, get } = hubSite(hubStatus);
    const answer = await site.ask(`PUT ${path}`, json, await get());
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.text, reported);
  }
});

test('a hub that cannot be reached is a 503 and nothing is changed', async () => {
  const hub = {
    request: () => Promise.reject(new GatewayError('HUB_UNAVAILABLE', 'the hub cannot be reached')),
  } as unknown as ApiClient;
  const site = makeLocalSite([clusterSpec('m1')], { hub });
  assert.equal((await site.ask(`PUT ${path}`, json, { status: { healthy: true } })).status, 503);
  assert.deepEqual(((await site.ask(`GET ${path}`)).json() as Gateway).status, {});
});

test('a cluster without a Secret keeps its health on the ManagedCluster', async () => {
  const { site, calls, get } = hubSite(200, true, false);
  const read = await get();
  const answer = await site.ask(`PUT ${path}`, json, { ...read, status: { healthy: true } });
  assert.equal(answer.status, 200);
  // Its version changes with every heartbeat, so it is no precondition; only its health counts.
  assert.equal((calls[0]!.body as Patch).metadata.resourceVersion, undefined);
  assert.ok((answer.json() as Gateway).metadata.resourceVersion !== undefined);
  assert.equal((await site.ask(`PUT ${path}`, json, read)).status, 409);
  assert.match(calls[0]!.path, /^\/apis\/cluster.open-cluster-management.io\/v1\/managedclusters\/m1\?/);
});

test('a dry run is one for the hub as well', async () => {
  const { site, calls, get } = hubSite(200, false);
  const answer = await site.ask(`PUT ${path}?dryRun=All`, json, { status: { healthy: true } });
  assert.deepEqual((answer.json() as Gateway).status, { healthy: true });
  assert.match(calls[0]!.path, /[?&]dryRun=All/);
  assert.deepEqual((await get()).status, {});
});

test('an update that could be meant as a dry run is one or is refused, and never written', async () => {
  const { site, calls } = hubSite();
  const update = { status: { healthy: true } };
  for (const query of ['dryRun=', 'dryRun', 'dryRun=all', 'dryRun=true', 'dryRun=&dryRun=All', 'dryRun=All&dryRun=x']) {
    const answer = await site.ask(`PUT ${path}?${query}`, json, update);
    assert.deepEqual([answer.status, calls.length], [400, 0], query);
  }
  for (const query of ['dryRun=All&dryRun=All', 'dryRu%6e=All']) {
    assert.equal((await site.ask(`PUT ${path}?${query}`, json, update)).status, 200, query);
    assert.match(calls.at(-1)!.path, /&dryRun=All$/, query);
  }
});

test('what is no ClusterGateway is refused and nothing is written', async () => {
  const { site, calls } = hubSite();
  const refused: readonly (readonly [unknown, number, Readonly<Record<string, string>>?])[] = [
    ['{', 400],
    ['', 400],
    [[], 400],
    [{ kind: 'Secret' }, 400],
    [{ apiVersion: 'v1' }, 400],
    [{ metadata: { name: 'm2' } }, 400],
    [{ metadata: 'x' }, 400],
    [{ metadata: { resourceVersion: 'abc' } }, 400],
    [{ status: { healthy: 'true' } }, 400],
    [{ status: { healthyReason: 1 } }, 400],
    ['x'.repeat(300_000), 413],
    [{}, 415, { 'content-type': 'application/vnd.kubernetes.protobuf' }],
    [{}, 415, { 'content-type': 'application/yaml' }],
    [{}, 406, { ...json, accept: 'application/vnd.kubernetes.protobuf' }],
  ];
  for (const [body, status, headers = json] of refused) {
    const answer = await site.ask(`PUT ${path}`, headers, body);
    assert.equal(answer.status, status, `${JSON.stringify(body).slice(0, 50)}: ${answer.text}`);
  }
  const nobody = path.replace('m1', 'nobody');
  assert.equal((await site.ask(`PUT ${nobody}`, json, {})).status, 404);
  assert.equal((await site.ask(`GET ${nobody}`)).status, 404);
  assert.deepEqual(calls, []);
});
