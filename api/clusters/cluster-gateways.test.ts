import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterSpec, gatewayView, makeLocalSite, secrets } from '../local.fixture.ts';

const api = '/apis/cluster.core.oam.dev/v1alpha1';
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

interface List {
  readonly kind: string;
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}
interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}
const names = (list: unknown): string[] => (list as List).items.map(({ metadata }) => metadata.name);

test('a Secret of cluster-gateway is read with address and types, and without what is secret (CG-75, CG-18)', async () => {
  const { ask, store } = makeLocalSite([clusterSpec('m1')]);
  const { status, json } = await ask(`GET ${api}/clustergateways/m1`);
  assert.equal(status, 200);
  assert.deepEqual(json(), {
    apiVersion: 'cluster.core.oam.dev/v1alpha1',
    kind: 'ClusterGateway',
    metadata: {
      name: 'm1',
      uid: 'secret-uid-m1',
      resourceVersion: store.get('m1')!.resourceVersion,
      creationTimestamp: '2026-01-02T03:04:05Z',
      labels: gatewayView('m1').metadata.labels,
    },
    spec: {
      provider: '',
      access: {
        endpoint: {
          type: 'Const',
          const: { address: 'https://m1.example.com:6443/k8s', 'proxy-url': 'https://proxy.example.com:8080' },
        },
        credential: { type: 'ServiceAccountToken' },
      },
    },
    status: {},
  });
});

test('types and the insecure flag are told, an endpoint behind a tunnel has only its type (CG-19, CG-20, CG-21, CG-23)', async () => {
  const { ask } = makeLocalSite([
    clusterSpec('x509', { clusterGateway: { ...gatewayView('x509'), credentialType: 'X509Certificate' } }),
    clusterSpec('tunnel', { clusterGateway: { ...gatewayView('tunnel'), endpointType: 'ClusterProxy' } }),
    clusterSpec('open', {
      tls: { ca: undefined, serverName: undefined, insecure: true },
      proxy: undefined,
      clusterGateway: { ...gatewayView('open'), credentialType: 'Dynamic' },
    }),
  ]);
  const access = async (name: string): Promise<unknown> =>
    ((await ask(`GET ${api}/clustergateways/${name}`)).json() as { spec: { access: unknown } }).spec.access;
  assert.deepEqual(((await access('x509')) as { credential: unknown }).credential, { type: 'X509Certificate' });
  assert.deepEqual(((await access('tunnel')) as { endpoint: unknown }).endpoint, { type: 'ClusterProxy' });
  assert.deepEqual(await access('open'), {
    endpoint: { type: 'Const', const: { address: 'https://open.example.com:6443/k8s', insecure: true } },
    credential: { type: 'Dynamic' },
  });
});

test('health is what the two annotations say, read as Go reads a boolean, never what the probe found (CG-22)', async () => {
  const withHealth = (name: string, healthy: string): ReturnType<typeof clusterSpec> =>
    clusterSpec(name, {
      clusterGateway: gatewayView(name, {
        annotations: {
          'status.cluster.core.oam.dev/healthy': healthy,
          'status.cluster.core.oam.dev/healthy-reason': 'MyReason',
        },
      }),
    });
  const { ask, store } = makeLocalSite([withHealth('yes', 'True'), withHealth('no', '0'), withHealth('odd', 'maybe')]);
  const conditions = [
    { type: 'Available', status: 'True', reason: 'Answering', message: '', lastTransitionTime: '' },
  ] as const;
  store.setStatus('uid-no', { conditions, version: 'v1.36.1', latencyMs: 3 });
  const status = async (name: string): Promise<unknown> =>
    ((await ask(`GET ${api}/clustergateways/${name}/health`)).json() as { status: unknown }).status;
  assert.deepEqual(await status('yes'), { healthy: true, healthyReason: 'MyReason' });
  assert.deepEqual(await status('no'), { healthyReason: 'MyReason' });
  assert.deepEqual(await status('odd'), { healthyReason: 'MyReason' });
});

test('the list holds what cluster-gateway would show; clusters of other sources and losers of a name are not in it (CG-76, CG-29)', async () => {
  const { ask, store } = makeLocalSite([
    clusterSpec('m1'),
    clusterSpec('laptop', { clusterGateway: undefined }),
    clusterSpec('a.dotted.name'),
    clusterSpec('m1', { uid: 'another' }),
  ]);
  const { json } = await ask(`GET ${api}/clustergateways`);
  assert.equal((json() as List).kind, 'ClusterGatewayList');
  assert.deepEqual(names(json()), ['a.dotted.name', 'm1']);
  assert.equal((json() as { metadata: { resourceVersion: string } }).metadata.resourceVersion, store.resourceVersion);
  assert.equal((await ask(`GET ${api}/clustergateways/laptop`)).status, 404);
  assert.match(
    (await ask(`GET ${api}/clustergateways/nobody`)).text,
    /clustergateways.cluster.core.oam.dev \\"nobody\\" not found/,
  );
  assert.deepEqual(names((await ask(`GET ${api}/clustergateways?labelSelector=key%3Dvalue`)).json()), [
    'a.dotted.name',
    'm1',
  ]);
  assert.deepEqual(names((await ask(`GET ${api}/clustergateways?fieldSelector=metadata.name%3Dm1`)).json()), ['m1']);
  // `clusters` has them all.
  const all = await ask('GET /apis/gateway.portcullis.io/v1alpha1/clusters');
  assert.equal(names(all.json()).length, 4);
});

test('the columns are those of cluster-gateway, for one and for a list (CG-55)', async () => {
  const { ask } = makeLocalSite([clusterSpec('m1')]);
  const gateways = (await ask(`GET ${api}/clustergateways`, table)).json() as Table;
  assert.deepEqual(
    gateways.columnDefinitions.map(({ name }) => name),
    ['Name', 'Provider', 'Credential-Type', 'Endpoint-Type', 'Healthy'],
  );
  assert.deepEqual(gateways.rows[0]!.cells, ['m1', '', 'ServiceAccountToken', 'Const', 'false']);
  const one = (await ask(`GET ${api}/virtualclusters/m1`, table)).json() as Table;
  const virtual = (await ask(`GET ${api}/virtualclusters`, table)).json() as Table;
  assert.deepEqual(
    virtual.columnDefinitions.map(({ name }) => name),
    ['Name', 'Alias', 'Credential_Type', 'Endpoint', 'Accepted', 'Labels', 'Creation_Timestamp'],
  );
  assert.deepEqual(one.rows[0]!.cells, virtual.rows[1]!.cells);
  assert.deepEqual(virtual.rows[0]!.cells, [
    'local',
    '',
    'Internal',
    '-',
    true,
    'cluster.core.oam.dev/control-plane=true',
    null,
  ]);
  assert.deepEqual(virtual.rows[1]!.cells, [
    'm1',
    'alias of m1',
    'ServiceAccountToken',
    'Const',
    true,
    'cluster.core.oam.dev/control-plane=false,key=value',
    '2026-01-02T03:04:05Z',
  ]);
});

test('virtual clusters are the hub, Secrets and ManagedClusters (CG-45, CG-47, CG-48, CG-49, CG-50)', async () => {
  const ocm = { ...gatewayView('ocm', { labels: { key: 'value' }, annotations: {} }), secret: undefined };
  const refused = { type: 'HubAccepted', status: 'False', reason: 'HubDeniesClient', message: '' } as const;
  const { ask } = makeLocalSite([
    clusterSpec('m1'),
    clusterSpec('ocm', { clusterGateway: ocm }),
    clusterSpec('refused', { clusterGateway: ocm, conditions: [refused] }),
    clusterSpec('waiting', { clusterGateway: ocm, problem: { reason: 'NoAddress', message: 'no' } }),
  ]);
  const spec = async (name: string): Promise<unknown> =>
    ((await ask(`GET ${api}/virtualclusters/${name}`)).json() as { spec: unknown }).spec;
  assert.deepEqual(await spec('local'), { accepted: true, endpoint: '-', 'credential-type': 'Internal' });
  assert.deepEqual(await spec('m1'), {
    alias: 'alias of m1',
    accepted: true,
    endpoint: 'Const',
    'credential-type': 'ServiceAccountToken',
  });
  assert.deepEqual(await spec('ocm'), { accepted: true, endpoint: '-', 'credential-type': 'ManagedCluster' });
  assert.deepEqual(await spec('refused'), { endpoint: '-', 'credential-type': 'ManagedCluster' });
  for (const name of ['nobody', 'waiting']) {
    assert.equal((await ask(`GET ${api}/virtualclusters/${name}`)).status, 404);
  }
});

test('local comes first, then the newest, and selectors see the labels that are shown (CG-51, CG-52, CG-53, CG-54)', async () => {
  const made = (name: string, creationTimestamp: string, labels = {}): ReturnType<typeof clusterSpec> =>
    clusterSpec(name, { clusterGateway: gatewayView(name, { creationTimestamp, labels }) });
  const { ask } = makeLocalSite([
    made('old', '2026-01-01T00:00:00Z', { key: 'value' }),
    made('new', '2026-03-01T00:00:00Z', { key: 'value', 'cluster.core.oam.dev/hidden': 'yes' }),
    made('middle', '2026-02-01T00:00:00Z'),
  ]);
  const list = async (selector: string): Promise<string[]> =>
    names((await ask(`GET ${api}/virtualclusters?labelSelector=${encodeURIComponent(selector)}`)).json());
  assert.deepEqual(await list(''), ['local', 'new', 'middle', 'old']);
  assert.deepEqual(await list('key=value'), ['new', 'old']);
  assert.deepEqual(await list('cluster.core.oam.dev/control-plane=false'), ['new', 'middle', 'old']);
  assert.deepEqual(await list('cluster.core.oam.dev/control-plane=true'), ['local']);
  assert.deepEqual(await list('cluster.core.oam.dev/hidden'), []);
});

test('nothing secret is in any answer about any kind', async () => {
  const { ask, watch, store } = makeLocalSite([
    clusterSpec('m1'),
    clusterSpec('m1', { uid: 'loser' }),
    clusterSpec('broken', { problem: { reason: 'InvalidConfiguration', message: 'no endpoint' }, endpoint: undefined }),
  ]);
  // The test proves something only when the records hold the secrets.
  const known = JSON.stringify(store.list(), (_, value: unknown) =>
    typeof value === 'function' ? String((value as () => unknown)()) : value,
  );
  const held = known + JSON.stringify(store.get('m1')!.spec.credential!.current());
  for (const secret of secrets) assert.ok(held.includes(secret), `the fixture holds ${secret}`);

  const accepts: readonly { readonly accept?: string }[] = [
    {},
    table,
    { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' },
    { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' },
  ];
  const answers: string[] = [];
  for (const path of [
    '/apis/gateway.portcullis.io/v1alpha1/clusters',
    `${api}/clustergateways`,
    `${api}/virtualclusters`,
  ]) {
    for (const accept of accepts) {
      for (const query of ['', '?includeObject=Object', '?includeObject=None']) {
        for (const object of ['', '/m1', '/broken', '/m1/status', '/m1/health']) {
          try {
            answers.push((await ask(`GET ${path}${object}${query}`, accept)).text);
          } catch {
            // This kind has no such subresource.
          }
        }
        const watched = watch(
          `${path}?watch=true${query.replace('?', '&')}`,
          accept.accept?.includes('List') === true ? {} : accept,
        );
        answers.push(JSON.stringify(watched.events));
        watched.close();
      }
    }
  }
  assert.ok(answers.length > 100 && answers.some((text) => text.includes('m1.example.com')));
  for (const secret of secrets) {
    const encoded = Buffer.from(secret).toString('base64').replace(/=+$/, '').slice(0, -1);
    for (const text of answers) assert.ok(!text.includes(secret) && !text.includes(encoded), `${secret} is in ${text}`);
  }
});

test('a watcher of clustergateways gets changes of the Secret, not of the probe, and exactly those that enter or leave its selector', async () => {
  const site = makeLocalSite([clusterSpec('m1'), clusterSpec('m2', { clusterGateway: undefined })]);
  const watched = site.watch(`${api}/clustergateways?watch=true&labelSelector=key`);
  const from = site.store.resourceVersion;
  const reported = (): string[] => watched.events.map(({ type, object }) => `${type} ${object.metadata.name}`);
  assert.deepEqual(reported(), ['ADDED m1']);
  site.store.setStatus('uid-m1', { conditions: [], version: 'v1.36.1', latencyMs: 1 });
  assert.deepEqual(reported(), ['ADDED m1']);
  const view = gatewayView('m1', { annotations: { 'status.cluster.core.oam.dev/healthy': 'true' } });
  const m2 = clusterSpec('m2', { clusterGateway: undefined });
  site.store.apply('test', [clusterSpec('m1', { clusterGateway: view }), m2]);
  site.store.apply('test', [clusterSpec('m1', { clusterGateway: gatewayView('m1', { labels: {} }) }), m2]);
  site.store.apply('test', [clusterSpec('m1'), clusterSpec('m2')]);
  site.store.apply('test', [m2]);
  const all = ['MODIFIED m1', 'DELETED m1', 'ADDED m1', 'ADDED m2', 'DELETED m1', 'DELETED m2'];
  assert.deepEqual(reported().toSorted(), ['ADDED m1', ...all].toSorted());
  const versions = watched.events.map(({ object }) => Number(object.metadata.resourceVersion));
  assert.deepEqual(
    versions,
    versions.toSorted((a, b) => a - b),
  );
  // A watcher that begins at that version later gets the same events.
  const later = site.watch(`${api}/clustergateways?watch=true&labelSelector=key&resourceVersion=${from}`);
  assert.deepEqual(later.events, watched.events.slice(1));
  watched.close();
  later.close();
});

test('a list of watched virtual clusters begins with local, and WatchList ends it with a bookmark', () => {
  const { watch } = makeLocalSite([clusterSpec('m1')]);
  const initial = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const { events, close } = watch(`${api}/virtualclusters?${initial}`);
  assert.deepEqual(
    events.map(({ type, object }) => `${type} ${object.kind} ${object.metadata.name ?? ''}`),
    ['ADDED VirtualCluster local', 'ADDED VirtualCluster m1', 'BOOKMARK VirtualCluster '],
  );
  assert.deepEqual(events[2]!.object.metadata.annotations, { 'k8s.io/initial-events-end': 'true' });
  close();
});

test('the kinds can be read only, but for health', async () => {
  const { ask } = makeLocalSite([clusterSpec('m1')]);
  for (const request of [
    `POST ${api}/clustergateways`,
    `PUT ${api}/clustergateways/m1`,
    `PATCH ${api}/clustergateways/m1/health`,
    `DELETE ${api}/virtualclusters/m1`,
    `POST ${api}/virtualclusters`,
  ]) {
    const { status, json } = await ask(request, {}, {});
    assert.equal(status, 405, request);
    assert.equal((json() as { reason: string }).reason, 'MethodNotAllowed');
  }
});

test('a cluster called local does not take the place of the hub', async () => {
  const { ask, watch, store } = makeLocalSite([clusterSpec('local')]);
  assert.deepEqual(names((await ask(`GET ${api}/virtualclusters`)).json()), ['local']);
  assert.match((await ask(`GET ${api}/virtualclusters/local`)).text, /Internal/);
  const watched = watch(`${api}/virtualclusters?watch=true`);
  store.apply('test', []);
  assert.equal(watched.events.length, 1);
  watched.close();
});
