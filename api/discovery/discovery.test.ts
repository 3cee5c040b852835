import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterSpec, makeLocalSite } from '../local.fixture.ts';
import type { LocalSite } from '../local.fixture.ts';

const v2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const v2beta1 = v2.replace('v2', 'v2beta1');
const both = makeLocalSite([clusterSpec('m1')]);
const own = makeLocalSite([clusterSpec('m1')], { clusterGatewayApi: false });

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
}
interface Discovered {
  readonly resource: string;
  readonly responseKind: { readonly kind: string };
  readonly scope: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly subresources?: readonly { readonly subresource: string; readonly verbs: readonly string[] }[];
}
interface GroupList {
  readonly kind: string;
  readonly apiVersion: string;
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly versions: readonly { readonly version: string; readonly resources: readonly Discovered[] }[];
  }[];
}

const legacy = async (site: LocalSite): Promise<string[]> =>
  ((await site.ask('GET /apis')).json() as { groups: { name: string }[] }).groups.map(({ name }) => name);

test("cluster-gateway's group is in discovery when it is on, and nothing of it is served when it is off (CG-73)", async () => {
  assert.deepEqual(await legacy(both), ['gateway.portcullis.io', 'cluster.core.oam.dev']);
  assert.deepEqual(await legacy(own), ['gateway.portcullis.io']);
  const { resources } = (await both.ask('GET /apis/cluster.core.oam.dev/v1alpha1')).json() as {
    resources: readonly Resource[];
  };
  assert.deepEqual(
    resources.map(({ name, kind, verbs }) => `${name} ${kind} ${verbs.join(',')}`),
    [
      'clustergateways ClusterGateway get,list,watch',
      'clustergateways/health ClusterGateway get,update',
      'clustergateways/proxy ClusterGatewayProxyOptions create,delete,get,patch,update',
      'virtualclusters VirtualCluster get,list,watch',
    ],
  );
  assert.ok(resources.every(({ namespaced }) => !namespaced));
  for (const path of [
    '/apis/cluster.core.oam.dev',
    '/apis/cluster.core.oam.dev/v1alpha1',
    '/apis/cluster.core.oam.dev/v1alpha1/clustergateways',
    '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/m1/health',
    '/apis/cluster.core.oam.dev/v1alpha1/virtualclusters',
    '/openapi/v3/apis/cluster.core.oam.dev/v1alpha1',
  ]) {
    assert.equal((await own.ask(`GET ${path}`)).status, 404, path);
    assert.equal((await both.ask(`GET ${path}`)).status, 200, path);
  }
  for (const document of ['/', '/apis', '/openapi/v2', '/openapi/v3']) {
    assert.ok(!(await own.ask(`GET ${document}`)).text.includes('cluster.core.oam.dev'), document);
    assert.ok((await both.ask(`GET ${document}`)).text.includes('cluster.core.oam.dev'), document);
  }
});

test('the short names are those people type (CG-44)', async () => {
  const { items } = (await both.ask('GET /apis', { accept: v2 })).json() as GroupList;
  const names = items.flatMap(({ versions }) => versions[0]!.resources.map((each) => [each.resource, each.shortNames]));
  assert.deepEqual(Object.fromEntries(names), {
    clusters: ['pcl'],
    statistics: undefined,
    clustergateways: undefined,
    virtualclusters: ['vc', 'vcluster', 'vclusters', 'virtual-cluster', 'virtual-clusters'],
  });
});

test('the aggregated document says what the legacy ones say, in both of its versions', async () => {
  for (const [accept, version] of [
    [v2, 'v2'],
    [v2beta1, 'v2beta1'],
    [`${v2};profile=nopeer,${v2beta1},application/json`, 'v2'],
    [`application/json;q=0.5,${v2beta1};q=0.9`, 'v2beta1'],
  ] as const) {
    const answer = await both.ask('GET /apis', { accept });
    const list = answer.json() as GroupList;
    assert.equal(list.kind, 'APIGroupDiscoveryList');
    assert.equal(list.apiVersion, `apidiscovery.k8s.io/${version}`);
    assert.equal(answer.headers.get('content-type'), v2.replace('v=v2', `v=${version}`));
    assert.equal(answer.headers.get('vary'), 'Accept');
    for (const { metadata, versions } of list.items) {
      const path = `/apis/${metadata.name}/${versions[0]!.version}`;
      const { resources } = (await both.ask(`GET ${path}`)).json() as { resources: readonly Resource[] };
      const flat = versions[0]!.resources.flatMap((each) => [
        [each.resource, each.responseKind.kind, each.verbs],
        ...(each.subresources ?? []).map((sub) => [`${each.resource}/${sub.subresource}`, undefined, sub.verbs]),
      ]);
      assert.deepEqual(
        flat.map(([name, , verbs]) => [name, verbs]),
        resources.map(({ name, verbs }) => [name, verbs]),
      );
    }
  }
  const none = (await both.ask('GET /api', { accept: v2 })).json() as GroupList;
  assert.deepEqual(none.items, []);
  assert.equal((await both.ask('GET /apis', { accept: v2.replace('v2', 'v3') })).status, 406);
  assert.equal((await both.ask('GET /apis', { accept: 'application/vnd.kubernetes.protobuf' })).status, 406);
  assert.equal((await both.ask('GET /apis')).headers.get('vary'), 'Accept');
});

test('documents carry an ETag that spares a second copy, and a document named by its hash is kept for good', async () => {
  const index = (await both.ask('GET /openapi/v3')).json() as { paths: Record<string, { serverRelativeURL: string }> };
  const requests = [
    ['/apis', { accept: v2 }],
    ['/api', { accept: v2 }],
    ['/openapi/v2', {}],
    ['/openapi/v3', { accept: 'application/json' }],
    ...Object.values(index.paths).map(({ serverRelativeURL }) => [serverRelativeURL, {}] as const),
  ] as const;
  for (const [path, headers] of requests) {
    const first = await both.ask(`GET ${path}`, headers);
    const etag = first.headers.get('etag')!;
    assert.match(etag, /^"[0-9A-F]{128}"$/, path);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await both.ask(`GET ${path}`, { ...headers, 'if-none-match': known });
      assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag]);
    }
    const changed = await both.ask(`GET ${path}`, { ...headers, 'if-none-match': '"other"' });
    assert.equal(changed.status, 200);
    const forever = first.headers.get('cache-control')!.includes('immutable');
    assert.equal(forever, path.includes('hash='), path);
  }
  const stale = await both.ask('GET /openapi/v3/apis/gateway.portcullis.io/v1alpha1?hash=OLD');
  assert.ok(!stale.headers.get('cache-control')!.includes('immutable'));
});

test('OpenAPI v2 comes in protobuf for those who ask for it, v3 only in JSON', async () => {
  const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  const answer = await both.ask('GET /openapi/v2', { accept: protobuf });
  // Go cannot parse a media type with an @, so kube-apiserver answers with a dot.
  assert.equal(answer.headers.get('content-type'), protobuf.replace('@', '.'));
  // Field 1, `swagger`.
  assert.ok(answer.text.startsWith('\n\u00032.0'));
  assert.ok(answer.text.includes('io.portcullis.gateway.v1alpha1.Cluster'));
  assert.match((await both.ask('GET /openapi/v2', { accept: `application/json,${protobuf}` })).text, /^\{/);
  for (const path of ['/openapi/v3', '/openapi/v3/apis/gateway.portcullis.io/v1alpha1']) {
    assert.equal((await both.ask(`GET ${path}`, { accept: protobuf })).status, 406, path);
  }
});

test("Karmada's group has no documents and no objects, so that no hub takes it over from Karmada", async () => {
  for (const document of ['/', '/apis', '/openapi/v2', '/openapi/v3']) {
    assert.ok(!(await both.ask(`GET ${document}`)).text.includes('karmada'), document);
  }
});
