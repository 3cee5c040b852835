// The index on the wire: Clusterpedia's paths and our own, over two simulated clusters. What the store, the query and
// rights do is tested beside them; here it is what a client of the gateway meets.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { testEarlyPages } from './index-early-pages.ts';
import { eventSeeds, testInjectedEvents } from './index-events.ts';
import { testForwardCases } from './index-peer-forwards.ts';
import { objectCaseSeeds, objectCaseSeedsOfOne, objectCaseTypes, testObjectCases } from './index-peer-objects.ts';
import { queryCaseSeeds, testQueryCases } from './index-peer-queries.ts';
import { binding, startIndexSite } from './index-site.ts';
import { testWatches, watchSeeds } from './index-watches.ts';
import type { IndexedList, IndexedObject, IndexSite } from './index-site.ts';

const resources = '/apis/clusterpedia.io/v1beta1/resources';
const collections = '/apis/clusterpedia.io/v1beta1/collectionresources';
const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const proxy = `${index}/proxy`;
const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
const cluster = 'shadow.clusterpedia.io/cluster-name';
let site: IndexSite;

function namespace(name: string): JsonObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}
function configMap(
  place: string,
  name: string,
  labels: Record<string, string> = {},
  data: Record<string, string> = {},
): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: place, labels }, data };
}

const inBoth = ['shop', 'ops'].flatMap((place) => [
  namespace(place),
  ...['one', 'two', 'three'].map((name) => configMap(place, name, { app: name, place }, { phase: name })),
]);

before(async () => {
  const seeds = {
    alpha: [
      binding('admin', 'cluster-admin', 'admin'),
      ...inBoth,
      configMap('shop', 'only-here'),
      binding('viewer', 'view', 'viewer', 'shop'),
      ...queryCaseSeeds('alpha'),
      ...watchSeeds('alpha'),
      ...objectCaseSeeds,
      ...eventSeeds,
    ],
    beta: [
      binding('admin', 'cluster-admin', 'admin'),
      ...inBoth,
      ...queryCaseSeeds('beta'),
      ...watchSeeds('beta'),
      ...objectCaseSeeds,
      ...objectCaseSeedsOfOne,
    ],
  };
  const builtIn =
    'configmaps,deployments.apps,horizontalpodautoscalers.autoscaling,namespaces,nodes,pods,secrets,events';
  site = await startIndexSite(['admin', 'viewer', 'nobody'], seeds, {
    indexResources: `${builtIn},${objectCaseTypes}`,
    allowedProxySubresources: 'pods/log,exec',
  });
  await eventually('both are indexed', async () =>
    /2 of 2 clusters followed completely/.test((await site.ask('/readyz?verbose')).text),
  );
  const first = await site.ask(`${resources}/api/v1/namespaces`);
  assert.equal(first.status, 200, first.text);
});
after(() => site?.close());

const names = (list: { readonly items: readonly IndexedObject[] }): string[] =>
  list.items.map(({ metadata }) => `${metadata.annotations?.[cluster]}/${metadata.namespace}/${metadata.name}`);
async function list(path: string, user?: string): Promise<IndexedList> {
  const answer = await site.ask(path, user);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<IndexedList>();
}
const mine = 'labelSelector=place';

test("Clusterpedia's paths lead where they lead with it (CP-001 to CP-010)", async () => {
  for (const [path, expected] of [
    ['', 200],
    ['/', 200],
    ['/apis/', 200],
    ['/clusters/alpha/api?key1=value1&key2=value2', 200],
    ['/clusters/alpha/apis/', 200],
    ['/clusters/', 404],
    ['/clusters', 404],
    ['/clusters/alpha', 404],
    ['/clusters/alpha/', 404],
    ['/version', 200],
    ['/clusters/alpha/version', 200],
    ['/healthz', 200],
  ] as const) {
    const answer = await site.ask(resources + path);
    assert.equal(answer.status, expected, path);
    if (expected === 404)
      assert.match(answer.json<{ message: string }>().message, /could not find the requested resource/);
  }
});

testQueryCases(() => site);
testObjectCases(() => site);
testForwardCases(() => site);
testInjectedEvents(() => site);
testEarlyPages(() => site);

test('a list is of all clusters, each item named with its cluster and otherwise as the cluster has it', async () => {
  for (const base of [resources, proxy]) {
    const found = await list(`${base}/api/v1/namespaces/shop/configmaps?${mine}`);
    assert.equal(found.kind, 'ConfigMapList');
    assert.match(found.metadata.resourceVersion, /^\d{19}$/);
    assert.deepEqual(names(found), [
      'alpha/shop/one',
      'alpha/shop/three',
      'alpha/shop/two',
      'beta/shop/one',
      'beta/shop/three',
      'beta/shop/two',
    ]);
    assert.deepEqual(names(await list(`${base}/clusters/beta/api/v1/configmaps?${mine}`)).length, 6);
  }
  const copy = (await list(`${resources}/clusters/alpha/api/v1/namespaces/shop/configmaps?names=one`)).items[0]!;
  const original = (await site.ask('/clusters/alpha/proxy/api/v1/namespaces/shop/configmaps/one')).json<JsonObject>();
  const metadata = { ...(original['metadata'] as JsonObject) };
  delete metadata['managedFields'];
  assert.deepEqual(copy, { ...original, metadata: { ...metadata, annotations: { [cluster]: 'alpha' } } });
});

test('one object is answered with a cluster, or without one where only one may be got', async () => {
  const get = (path: string, user?: string) => site.ask(`${resources}${path}`, user);
  const path = '/api/v1/namespaces/shop/configmaps';
  assert.equal((await get(`/clusters/beta${path}/one`)).json<IndexedObject>().metadata.annotations?.[cluster], 'beta');
  assert.equal((await get(`${path}/only-here`)).json<IndexedObject>().metadata.annotations?.[cluster], 'alpha');
  const ambiguous = await get(`${path}/one`);
  assert.equal(ambiguous.status, 409);
  assert.match(ambiguous.text, /in more than one cluster: alpha, beta;/);
  // A caller who may get it from one cluster only learns nothing of the other.
  assert.equal((await get(`${path}/one`, 'viewer')).json<IndexedObject>().metadata.annotations?.[cluster], 'alpha');
  assert.equal((await get(`${path}/none`)).status, 404);
  assert.equal((await get(`/clusters/beta${path}/only-here`)).status, 404);
  assert.equal((await get('/api/v1/configmaps/one')).status, 404);
});

test('what cannot be answered is a Status that says why', async () => {
  for (const [target, status, message, method] of [
    [`${resources}/clusters/nope/api/v1/pods`, 404, /cluster \\"nope\\" not found/],
    [`${resources}/apis/example.org/v1/widgets`, 404, /widgets.example.org in version v1 is not indexed/],
    [`${resources}/api/v1/namespaces/shop/nodes`, 404, /could not find/],
    [`${resources}/api/v1/pods?labelSelector=a%20in%20(`, 400, /./],
    [`${resources}/api/v1/pods?fieldSelector=a%5B`, 400, /./],
    [`${resources}/api/v1/pods?timeoutSeconds=x`, 400, /timeoutSeconds is not a whole number/],
    [`${resources}/api/v1/pods?continue=-1`, 400, /continue/],
    [`${resources}/api/v1/pods?orderby=1;drop`, 400, /./],
    [`${resources}/api/v1/pods?whereSQL=1`, 400, /SQL is never taken/],
    [`${resources}/api/v1/pods?resourceVersionMatch=Exact`, 422, /resourceVersionMatch/],
    [`${resources}/api/v1/pods?resourceVersion=12`, 410, /not issued by this index/],
    [`${resources}/api/v1/pods?watch=1&resourceVersion=12`, 410, /not issued by this index/],
    [`${resources}/api/v1/pods?watch=1&resourceVersionMatch=NotOlderThan`, 422, /forbidden for a watch/],
    [`${resources}/api/v1/pods?watch=1&sendInitialEvents=true`, 422, /must be NotOlderThan/],
    [`${resources}/api/v1/namespaces/shop/pods/one/log`, 405, /without their subresources/],
    [`${resources}/api/v1/namespaces/shop/pods/one`, 405, /read only/, 'DELETE'],
    [`${resources}/api/v1/namespaces/shop/pods`, 405, /read only/, 'POST'],
    [`${collections}/any`, 400, /needs groups= or resources=/],
    [`${collections}/any?groups=apps/v1/deployments`, 400, /not GROUP or GROUP/],
    [`${collections}/mine`, 404, /not found/],
    [`${index}/facets?resource=pods.v1.`, 400, /by= is missing/],
    [`${index}/facets?by=cluster`, 400, /resource= is missing/],
    [`${index}/query`, 405, /by POST, as a JSON document/],
    [`${index}/query?clusters=alpha`, 400, /\\"clusters\\" was given in the URL/, 'POST'],
    [`${index}/counts?resource=pods.a,b`, 404, /pods.a is not indexed/],
    [`${resources}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`, 405, /each cluster’s to say/, 'POST'],
    ['/apis/search.portcullis.io/v1alpha1/indexes/other', 404, /not found/],
  ] as const) {
    const answer = await site.ask(target, 'admin', { method: method ?? 'GET' });
    assert.equal(answer.status, status, `${target}: ${answer.text}`);
    assert.match(answer.text, message);
    assert.equal(answer.json<{ kind: string }>().kind, 'Status');
  }
});

test('of several types those that are not there are named: whoever misspelt one must not take the rest for all', async () => {
  const answer = await site.ask(`${index}/counts?resource=configmaps,deploymentz`);
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers['warning']), /deploymentz is not indexed/);
  const query = { method: 'POST', body: { resource: 'configmaps,deploymentz', limit: 1 } };
  assert.match(String((await site.ask(`${index}/query?timeout=5s`, 'admin', query)).headers['warning']), /deploymentz/);
});

test('pages follow one another without a gap, by tokens and by offsets, and tokens are good for nothing else', async () => {
  const path = `${resources}/api/v1/configmaps?${mine}`;
  const whole = names(await list(path));
  assert.equal(whole.length, 12);
  const first = await list(`${path}&limit=5`);
  const gathered = names(first);
  let page = first;
  while (page.metadata.continue !== undefined) {
    page = await list(`${path}&limit=5&continue=${page.metadata.continue}`);
    assert.equal(page.metadata.resourceVersion, first.metadata.resourceVersion);
    gathered.push(...names(page));
  }
  assert.deepEqual(gathered, whole);

  const decimal = await list(`${path}&limit=5&withContinue&withRemainingCount`);
  assert.deepEqual([decimal.metadata.continue, decimal.metadata.remainingItemCount], ['5', 7]);
  const rest = await list(`${path}&limit=50&continue=5`);
  assert.deepEqual([...names(decimal), ...names(rest)], whole);
  assert.equal((await list(`${path}&limit=5&withContinue=false`)).metadata.continue, undefined);

  const token = first.metadata.continue!;
  for (const target of [
    `${path}&limit=5&continue=${token.slice(0, -2)}AA`,
    `${resources}/api/v1/configmaps?limit=5&continue=${token}`,
  ]) {
    assert.equal((await site.ask(target)).status, 400);
  }
  assert.equal((await site.ask(`${path}&limit=5&continue=${token}`, 'viewer')).status, 400);
  const clamped = await site.ask(`${path}&limit=9000`);
  assert.match(String(clamped.headers['warning']), /limit 9000 is too high/);
});

test('forms: Table with the cluster first, metadata alone, and parts of objects', async () => {
  const table = (
    await site.ask(`${proxy}/api/v1/namespaces/shop/configmaps?${mine}`, 'admin', { headers: asTable })
  ).json<{
    kind: string;
    columnDefinitions: { name: string }[];
    rows: { cells: unknown[]; object: IndexedObject }[];
  }>();
  assert.equal(table.kind, 'Table');
  assert.deepEqual(
    table.columnDefinitions.map(({ name }) => name),
    ['Cluster', 'Name', 'Data', 'Age'],
  );
  assert.deepEqual(table.rows[3]!.cells.slice(0, 3), ['beta', 'one', 1]);
  assert.equal(table.rows[3]!.object.kind, 'PartialObjectMetadata');
  const one = (
    await site.ask(`${proxy}/clusters/beta/api/v1/namespaces/shop/configmaps/one`, 'admin', { headers: asTable })
  ).json<{
    rows: { cells: unknown[] }[];
  }>();
  assert.deepEqual(one.rows[0]!.cells.slice(0, 3), ['beta', 'one', 1]);
  const partial = await list(`${resources}/api/v1/configmaps?${mine}&onlyMetadata`);
  // As Clusterpedia: whoever reads a ConfigMapList reads this, too. Another kind is for those who accept it.
  assert.deepEqual(
    [partial.kind, partial.items[0]!.kind, partial.items[0]!.apiVersion],
    ['ConfigMapList', 'ConfigMap', 'v1'],
  );
  assert.deepEqual(Object.keys(partial.items[0]!).toSorted(), ['apiVersion', 'kind', 'metadata']);
  const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
  const accepted = (
    await site.ask(`${resources}/api/v1/configmaps?${mine}`, 'admin', { headers: { accept } })
  ).json<IndexedList>();
  assert.deepEqual([accepted.kind, accepted.items[0]!.kind], ['PartialObjectMetadataList', 'PartialObjectMetadata']);
  const parts = await list(`${resources}/api/v1/configmaps?${mine}&fields=data.phase,metadata.labels.app`);
  assert.deepEqual(parts.items[0]!.data, { phase: 'one' });
  assert.deepEqual((parts.items[0]!.metadata as { labels?: object }).labels, { app: 'one' });
});

test('a user sees their rows and nothing that tells of others: lists, counts, facets, discovery, clusters', async () => {
  const path = `${resources}/api/v1/configmaps?${mine}`;
  assert.deepEqual(names(await list(path, 'viewer')), ['alpha/shop/one', 'alpha/shop/three', 'alpha/shop/two']);
  assert.deepEqual((await list(`${path}&withRemainingCount&limit=1`, 'viewer')).metadata.remainingItemCount, 2);
  assert.deepEqual((await list(path, 'nobody')).items, []);
  // A cluster without rows for them and one that is not there: the same list of nothing.
  for (const name of ['beta', 'nope']) assert.deepEqual((await list(`${path}&clusters=${name}`, 'viewer')).items, []);
  const counted = (await site.ask(`${index}/counts?resource=configmaps.v1.&${mine}`, 'viewer')).json<{
    count: number;
  }>();
  assert.equal(counted.count, 3);
  const facets = await site.ask(`${index}/facets?resource=configmaps.v1.&by=cluster&${mine}`, 'viewer');
  assert.deepEqual(facets.json<{ facets: unknown }>().facets, [{ value: 'alpha', count: 3 }]);
  const values = await site.ask(
    `${index}/values?resource=configmaps&by=metadata.labels.app&prefix=t&${mine}`,
    'viewer',
  );
  assert.deepEqual(values.json<{ values: unknown }>().values, ['three', 'two']);
  const types = async (user: string): Promise<string[]> =>
    (await site.ask(`${resources}/api/v1`, user))
      .json<{ resources: { name: string }[] }>()
      .resources.map(({ name }) => name);
  assert.ok((await types('admin')).includes('secrets') && (await types('viewer')).includes('configmaps'));
  assert.ok(!(await types('viewer')).includes('secrets') && !(await types('viewer')).includes('nodes'));
  assert.equal((await site.ask(`${resources}/api/v1`, 'nobody')).status, 404);
  assert.deepEqual((await site.ask(`${resources}/api`, 'nobody')).json<{ versions: unknown }>().versions, []);
});

test('discovery in both forms is of the union, and OpenAPI of one cluster', async () => {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
  const groups = (await site.ask(`${proxy}/apis`, 'admin', { headers: { accept } })).json<{
    kind: string;
    items: { metadata: { name: string } }[];
  }>();
  assert.equal(groups.kind, 'APIGroupDiscoveryList');
  assert.ok(groups.items.some(({ metadata }) => metadata.name === 'apps'));
  const root = (await site.ask(`${proxy}/openapi/v3`)).json<{ paths: Record<string, { serverRelativeURL: string }> }>();
  assert.equal(root.paths['apis/apps/v1']?.serverRelativeURL, '/openapi/v3/apis/apps/v1');
  const document = await site.ask(`${proxy}/openapi/v3/apis/apps/v1`);
  assert.match(document.json<{ openapi: string }>().openapi, /^3\./);
  assert.equal((await site.ask(`${proxy}/openapi/v3/apis/example.org/v1`)).status, 404);
  const path = `${proxy}/openapi/v3/apis/apps/v1`;
  const etag = String(document.headers['etag']);
  const again = await site.ask(path, 'admin', { headers: { 'if-none-match': etag } });
  assert.deepEqual([again.status, again.text, again.headers['etag']], [304, '', etag]);
  // As each cluster itself says it, where one is named.
  assert.equal((await site.ask(`${proxy}/clusters/alpha/openapi/v3/apis/apps/v1`)).status, 200);
  for (const group of ['clusterpedia.io', 'search.portcullis.io']) {
    const { versions } = (await site.ask(`/apis/${group}`)).json<{ versions: { groupVersion: string }[] }>();
    assert.equal(
      (await site.ask(`/apis/${versions[0]!.groupVersion}`)).json<{ kind: string }>().kind,
      'APIResourceList',
    );
  }
});

test('another version of the same type is asked of a cluster that is named, as the caller', async () => {
  const path = '/apis/autoscaling/v1/namespaces/shop/horizontalpodautoscalers';
  const live = await site.ask(`${resources}/clusters/alpha${path}`);
  assert.equal(live.status, 200, live.text);
  assert.equal(live.json<{ apiVersion: string }>().apiVersion, 'autoscaling/v1');
  // The member's own word on the caller, not the index's.
  assert.equal((await site.ask(`${resources}/clusters/alpha${path}`, 'nobody')).status, 403);
});

test('collections hold several types, with continue and count at the top', async () => {
  const any = `${collections}/any?resources=/v1/configmaps,/namespaces&namespaces=shop&${mine}&limit=4&withRemainingCount`;
  const found = (await site.ask(any)).json<
    IndexedList & { continue?: string; remainingItemCount?: number; resourceTypes: object[] }
  >();
  assert.equal(found.kind, 'CollectionResource');
  assert.equal(found.resourceTypes.length, 2);
  assert.deepEqual([found.items.length, found.remainingItemCount], [4, 2]);
  const rest = (await site.ask(`${any}&continue=${found.continue}`)).json<IndexedList>();
  assert.equal(new Set([...names(found), ...names(rest)]).size, 6);
  const known = (await site.ask(collections)).json<IndexedList>();
  assert.deepEqual(
    known.items.map(({ metadata }) => metadata.name),
    ['any', 'workloads', 'kuberesources'],
  );
});

test('a query is POSTed as a document of the same words', async () => {
  const body = {
    resource: ['configmaps.v1.'],
    namespaces: ['shop'],
    filter: ['data.phase=one,data.phase=two'],
    orderby: ['name desc'],
  };
  const answer = await site.ask(`${index}/query`, 'admin', { method: 'POST', body });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(names(answer.json<IndexedList>()), [
    'alpha/shop/two',
    'beta/shop/two',
    'alpha/shop/one',
    'beta/shop/one',
  ]);
});

test('freshness and metrics tell how far the index is', async () => {
  const fresh = (await site.ask(`${index}/freshness?resource=configmaps`)).json<{
    clusters: { cluster: string; resources: { phase: string; whole: boolean }[] }[];
  }>();
  assert.deepEqual(
    fresh.clusters.map(({ cluster: name, resources: found }) => [name, found[0]!.whole]),
    [
      ['alpha', true],
      ['beta', true],
    ],
  );
  const none = (await site.ask(`${index}/freshness`, 'nobody')).json<{ clusters: { resources: unknown[] }[] }>();
  assert.ok(none.clusters.every(({ resources: found }) => found.length === 0));
  const metrics = await (await fetch(`${site.gateway.opsUrl}/metrics`)).text();
  assert.match(metrics, /portcullis_index_objects\{cluster="alpha"\} [1-9]/);
  assert.match((await site.ask('/readyz?verbose')).text, /index ok: \d+ objects; 2 of 2 clusters followed completely/);
});

testWatches(
  () => site,
  () => {
    test('rows of a cluster that is down stay, and every answer they are in names it', async () => {
      await site.members['beta']!.close();
      const path = `${resources}/api/v1/namespaces/shop/configmaps?${mine}`;
      const warned = await eventually('a warning', async () => {
        const answer = await site.ask(path);
        return answer.headers['warning'] === undefined ? undefined : answer;
      });
      assert.match(String(warned.headers['warning']), /^299 - "cluster beta: configmaps shown as of \d+s ago: /);
      assert.equal(names(warned.json<IndexedList>()).length, 6);
      const alone = await site.ask(path.replace('/api/v1', '/clusters/alpha/api/v1'));
      assert.equal(alone.headers['warning'], undefined);
      const counted = await site.ask(`${index}/counts?resource=configmaps`);
      assert.match(String(counted.headers['warning']), /cluster beta: /);
    });
  },
);
