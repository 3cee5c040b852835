// What users of other proxies and indexes over several clusters have reported as faults of those, tried here. The
// number behind each name is that of the public report.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../sim/model/types.ts';
import { eventually } from '../site/polling.ts';
import { binding, startIndexSite } from './index/index-site.ts';
import type { IndexedList, IndexedObject, IndexSite } from './index/index-site.ts';

const proxy = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';
const cache = '/apis/search.karmada.io/v1alpha1/search/cache';
const proxying = '/apis/search.karmada.io/v1alpha1/proxying/karmada/proxy';
const maps = '/api/v1/namespaces/team/configmaps';
const clusterName = 'shadow.clusterpedia.io/cluster-name';

let site: IndexSite;

function configMap(name: string, data: Readonly<Record<string, string>> = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team' }, data };
}

/** Names that stand for something in paths of gateways, indexes and API servers. */
const wordsOfPaths = ['proxy', 'clusters', 'watch', 'exec', 'apis', 'namespaces'];

/** In a cluster called `proxy`, a namespace of each of those names with an object of each of them. */
const seedOfWords = (): readonly JsonObject[] => [
  binding('admin', 'cluster-admin', 'admin'),
  ...wordsOfPaths.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
  ...wordsOfPaths.flatMap((namespace) =>
    wordsOfPaths.map((name) => ({
      ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { in: namespace } },
      metadata: { name, namespace, labels: { 'example.org/word': name, is: 'word' } },
    })),
  ),
];

before(async () => {
  const seed = (cluster: string): readonly JsonObject[] => [
    binding('admin', 'cluster-admin', 'admin'),
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } },
    ...['a', 'b', 'c'].map((name) => configMap(name, { from: cluster })),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'team' },
      spec: { ports: [{ port: 80 }] },
    },
  ];
  const indexResources = 'configmaps,namespaces,nodes';
  site = await startIndexSite(
    ['admin'],
    { alpha: seed('alpha'), beta: seed('beta'), proxy: seedOfWords() },
    { indexResources },
  );
  await eventually('both are indexed', async () => (await list(`${proxy}${maps}`)).items.length === 6);
});
after(() => site?.close());

async function list(path: string): Promise<IndexedList> {
  const answer = await site.ask(path);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<IndexedList>();
}

const names = ({ items }: Pick<IndexedList, 'items'>): readonly string[] =>
  items.map(({ metadata: { name, annotations } }) => `${annotations?.[clusterName] ?? ''} ${name}`.trim()).toSorted();

async function put(cluster: string, object: JsonObject): Promise<void> {
  const name = object['metadata'].name as string;
  const answer = await site.ask(`/clusters/${cluster}/proxy${maps}/${name}`, 'admin', { method: 'PUT', body: object });
  assert.equal(answer.status, 200, answer.text);
}

test('a single namespace is found by the cache of the index (karmada#2221)', async () => {
  const { items } = await list(`${cache}/api/v1/namespaces/team`);
  assert.deepEqual(
    items.map(({ metadata: { name } }) => name),
    ['team', 'team'],
  );
});

test('a list of cluster-scoped objects by metadata.name has the object, not an empty list (karmada#7880)', async () => {
  for (const base of [proxying, proxy, '/clusters/alpha/proxy', '/clusters/*/proxy']) {
    const { items } = await list(`${base}/api/v1/nodes?fieldSelector=metadata.name%3Dalpha-node-1`);
    assert.deepEqual(
      items.map(({ metadata: { name } }) => name),
      ['alpha-node-1'],
      base,
    );
  }
});

for (const [what, base] of Object.entries({
  'the index': proxy,
  'every cluster': '/clusters/*/proxy',
  Karmada: proxying,
})) {
  test(`a watch from the version of a first page misses no change of a cluster that is not on that page: ${what} (karmada#3402)`, async () => {
    const first = await list(`${base}${maps}?limit=2`);
    assert.equal(first.items.length, 2);
    assert.notEqual(first.metadata.continue ?? '', '');
    const version = encodeURIComponent(first.metadata.resourceVersion);
    const watch = site.watch(`${base}${maps}?watch=true&resourceVersion=${version}&allowWatchBookmarks=true`);
    try {
      const text = `seen ${what}`;
      await put('beta', configMap('c', { text }));
      await eventually('the change', () =>
        watch.events.some(({ object }) => object.metadata.name === 'c' && object.data?.['text'] === text),
      );
    } finally {
      watch.close();
    }
  });

  test(`the version of an event is good for the next watch, and does not grow from watch to watch: ${what} (karmada#3376)`, async () => {
    let version = (await list(`${base}${maps}`)).metadata.resourceVersion;
    const lengths: number[] = [];
    for (let turn = 0; turn < 4; turn++) {
      const asked = `${base}${maps}?watch=true&resourceVersion=${encodeURIComponent(version)}&allowWatchBookmarks=true`;
      const watch = site.watch(asked);
      try {
        const text = `${what} ${turn}`;
        await put('alpha', configMap('a', { text }));
        await eventually('the change', () => watch.events.some(({ object }) => object.data?.['text'] === text));
        assert.deepEqual(
          watch.events.filter(({ type }) => type === 'ERROR'),
          [],
        );
      } finally {
        watch.close();
      }
      version = (await list(`${base}${maps}`)).metadata.resourceVersion;
      lengths.push(version.length);
    }
    assert.ok(Math.max(...lengths) - Math.min(...lengths) <= 8, lengths.join());
  });
}

test('a watch of one namespace by the old path has its events (kubernetes#125133)', async () => {
  for (const base of ['/clusters/alpha/proxy', proxy])
    for (const query of ['', '?resourceVersion=0']) {
      const watch = site.watch(`${base}/api/v1/watch/namespaces/team${query}`);
      try {
        const [event] = await watch.until(1);
        assert.deepEqual([event?.type, event?.object.metadata.name], ['ADDED', 'team'], base + query);
      } finally {
        watch.close();
      }
    }
});

test('the scheme and port of a service in a path to its proxy come to the cluster as they are (vcluster#19)', async () => {
  for (const name of ['https:web:443', 'web:http', 'http:web:']) {
    const answer = await site.ask(`/clusters/alpha/proxy/api/v1/namespaces/team/services/${name}/proxy/x?a=b`);
    assert.equal(answer.status, 503);
    assert.match(answer.text, new RegExp(`service \\\\"${name}\\\\"`));
  }
});

test('clusters, namespaces and objects may be called as parts of paths are (kubermatic#12224)', async () => {
  for (const base of ['/clusters/proxy/proxy', `${proxy}/clusters/proxy`, proxy, proxying, '/clusters/*/proxy'])
    for (const namespace of wordsOfPaths) {
      const all = await list(`${base}/api/v1/namespaces/${namespace}/configmaps`);
      const found = all.items.map(({ metadata }) => metadata.name);
      assert.deepEqual(found.toSorted(), wordsOfPaths.toSorted(), base + namespace);
      for (const name of wordsOfPaths) {
        const answer = await site.ask(`${base}/api/v1/namespaces/${namespace}/configmaps/${name}`);
        assert.equal(answer.status, 200, `${base} ${namespace}/${name}: ${answer.text}`);
        assert.deepEqual(answer.json<IndexedObject>().data, { in: namespace });
      }
    }
});

test('label selectors may be written in every form that a query has (kubernetes#26460, kubetui#996)', async () => {
  const path = '/api/v1/namespaces/proxy/configmaps?labelSelector=';
  for (const base of ['/clusters/proxy/proxy', proxy, proxying, '/clusters/*/proxy'])
    for (const [selector, count] of [
      ['is=word', 6],
      ['is%3Dword', 6],
      ['is%3D%3Dword,example.org/word!=watch', 5],
      ['example.org%2Fword+in+(proxy,exec)', 2],
      ['example.org/word%20in%20%28proxy%2C%20exec%29%2Cis', 2],
      ['example.org/word%20notin%20(proxy)', 5],
      ['%21is', 0],
    ] as const)
      assert.equal((await list(`${base}${path}${selector}`)).items.length, count, `${base} ${selector}`);
});

test('objects of one name in two clusters stay two objects, each with its cluster and its uid (kube-ops-view#46)', async () => {
  const { items } = await list(`${proxy}${maps}?fieldSelector=metadata.name%3Db`);
  assert.deepEqual(names({ items }), ['alpha b', 'beta b']);
  assert.equal(new Set(items.map(({ metadata: { uid } }) => uid)).size, 2);
});

test('lists over all namespaces and of one are named by their kind, as typed clients need (clusternet#71, k9s#2238)', async () => {
  for (const base of [proxy, proxying, '/clusters/*/proxy', '/clusters/alpha/proxy'])
    for (const path of ['/api/v1/configmaps', maps, `${maps}?limit=1`, `${maps}?labelSelector=none%3Dx`]) {
      const { kind, items } = await list(base + path);
      assert.equal(kind, 'ConfigMapList', base + path);
      if (!path.includes('none')) assert.ok(items.length > 0, base + path);
    }
});

test('the cluster of an object is asked for by name where kubectl cannot say --cluster (clusterpedia#137)', async () => {
  const answer = await site.ask(`${proxy}/clusters/beta${maps}/b`);
  assert.equal(answer.json<IndexedObject>().data?.['from'], 'beta');
  const unknown = await site.ask(`${proxy}/clusters/gamma${maps}/b`);
  assert.equal(unknown.status, 404);
  assert.match(unknown.text, /cluster \\"gamma\\" not found/);
});
