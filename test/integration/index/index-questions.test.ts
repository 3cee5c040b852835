// Questions that name columns, ask for a number of values, or ask for one object by its name: on the wire, over two
// simulated clusters.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite } from './index-site.ts';
import type { Answer, IndexedList, IndexedObject, IndexSite } from './index-site.ts';

const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const proxy = `${index}/proxy`;
const resources = '/apis/clusterpedia.io/v1beta1/resources';
let site: IndexSite;

function configMap(name: string, app: string): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'shop', labels: { app } },
    data: { phase: 'ready', name: `data of ${name}` },
  };
}

before(async () => {
  const shop: JsonObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
  const admin = binding('admin', 'cluster-admin', 'admin');
  site = await startIndexSite(
    ['admin'],
    {
      alpha: [admin, shop, configMap('both', 'web'), configMap('one', 'web')],
      beta: [admin, shop, configMap('both', 'web'), configMap('two', 'web')],
    },
    { indexResources: 'configmaps,namespaces' },
  );
  await eventually('both are indexed', async () =>
    /2 of 2 clusters followed completely/.test((await site.ask('/readyz?verbose')).text),
  );
});
after(() => site?.close());

const ask = async <T>(path: string): Promise<T> => {
  const answer = await site.ask(path);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<T>();
};
type Facets = { readonly facets: readonly { readonly value: string; readonly count: number }[] };
const configMaps = 'resource=configmaps&namespaces=shop&labelSelector=app';
const warningOf = ({ headers }: Answer): string => String(headers['warning'] ?? '');

test('facets and values take every column by its short name, and give what its path gives', async () => {
  for (const [column, path] of [
    ['name', 'metadata.name'],
    ['namespace', 'metadata.namespace'],
    ['cluster', "metadata.annotations['shadow.clusterpedia.io/cluster-name']"],
    ['created_at', 'metadata.creationTimestamp'],
    ['resource_version', 'metadata.resourceVersion'],
  ] as const) {
    const [short, long] = await Promise.all(
      [column, path].map((by) => ask<Facets>(`${index}/facets?${configMaps}&by=${encodeURIComponent(by)}`)),
    );
    assert.ok(short!.facets.length > 0, column);
    assert.deepEqual(short!.facets, long!.facets, column);
  }
  const names = await ask<Facets>(`${index}/facets?${configMaps}&by=name`);
  assert.deepEqual(names.facets, [
    { value: 'both', count: 2 },
    { value: 'one', count: 1 },
    { value: 'two', count: 1 },
  ]);
  const values = await ask<{ readonly values: readonly string[] }>(`${index}/values?${configMaps}&by=name&prefix=t`);
  assert.deepEqual(values.values, ['two']);
});

test('fields, filter and orderby know the same columns', async () => {
  const list = (query: string): Promise<IndexedList> =>
    ask(`${proxy}/api/v1/namespaces/shop/configmaps?labelSelector=app&${query}`);
  const names = ({ items }: IndexedList): readonly string[] => items.map(({ metadata }) => metadata.name);
  for (const column of ['cluster', 'namespace', 'name', 'created_at', 'resource_version']) {
    assert.equal((await list(`orderby=${column}`)).items.length, 4, column);
    assert.equal((await list(`filter=${column}`)).items.length, 4, column);
  }
  assert.deepEqual(names(await list('filter=name%3Done')), ['one']);
  assert.deepEqual(names(await list('filter=created_at%3C2000-01-01T00:00:00Z')), []);
  assert.deepEqual(names(await list('filter=.name')), []);
  const [short, long] = await Promise.all([
    list('fields=created_at,cluster'),
    list("fields=metadata.creationTimestamp,metadata.annotations['shadow.clusterpedia.io/cluster-name']"),
  ]);
  assert.deepEqual(short.items, long.items);
  assert.ok('creationTimestamp' in short.items[0]!.metadata);
});

test('a limit of facets and values is one of values, and its Warning says so; a count has none', async () => {
  for (const part of ['facets', 'values']) {
    const answer = await site.ask(`${index}/${part}?${configMaps}&by=name&limit=99999`);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(warningOf(answer), '299 - "limit 99999 is too high; the answer has 1000 values"');
    const fitting = await site.ask(`${index}/${part}?${configMaps}&by=name&limit=1000`);
    assert.equal(warningOf(fitting), '');
  }
  assert.equal(warningOf(await site.ask(`${index}/counts?${configMaps}&limit=99999`)), '');
  const listed = await site.ask(`${proxy}/api/v1/configmaps?limit=99999`);
  assert.match(warningOf(listed), /limit 99999 is too high; a page has 5000 rows/);
});

test('one object by its name is answered whatever selectors say, as Clusterpedia and kube-apiserver do', async () => {
  const selectors = [
    'labelSelector=app%3Dother',
    'labelSelector=search.clusterpedia.io/names%3Dother',
    'labelSelector=!!',
    'fieldSelector=metadata.name%3Dother',
    'filter=data.phase%3Dgone',
    'names=other&namespaces=other&nameContains=x&text=x&uids=x&before=2000-01-01&ownerName=x',
    'limit=1&continue=5&orderby=name',
  ];
  for (const base of [resources, proxy]) {
    for (const selector of selectors) {
      for (const [path, place] of [
        ['/clusters/alpha/api/v1/namespaces/shop/configmaps/both', 'alpha'],
        ['/api/v1/namespaces/shop/configmaps/two', 'beta'],
        ['/clusters/beta/api/v1/namespaces/shop', 'beta'],
      ] as const) {
        const { metadata } = await ask<IndexedObject>(`${base}${path}?${selector}`);
        assert.equal(metadata.annotations?.['shadow.clusterpedia.io/cluster-name'], place, `${path}?${selector}`);
      }
    }
  }
});

test('which clusters an object is looked for in may be said beside its name', async () => {
  const path = `${proxy}/api/v1/namespaces/shop/configmaps/both`;
  assert.equal((await site.ask(path)).status, 409);
  const found = await ask<IndexedObject>(`${path}?clusters=beta`);
  assert.equal(found.metadata.annotations?.['shadow.clusterpedia.io/cluster-name'], 'beta');
});
