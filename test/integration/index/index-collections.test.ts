// Collections on the wire: one's own beside the built-in ones, in every form that clients ask for, watched, and asked
// by owner.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite } from './index-site.ts';
import type { IndexedList, IndexedObject, IndexSite } from './index-site.ts';

const collections = '/apis/clusterpedia.io/v1beta1/collectionresources';
const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
const asPartial = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' };
let site: IndexSite;

function object(kind: string, name: string, owner?: string): JsonObject {
  const ownerReferences =
    owner === undefined ? [] : [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: owner, controller: true }];
  return { apiVersion: 'v1', kind, metadata: { name, namespace: 'shop', labels: { made: 'here' }, ownerReferences } };
}

before(async () => {
  const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
  const seeds = {
    alpha: [
      binding('admin', 'cluster-admin', 'admin'),
      shop,
      object('ConfigMap', 'map', 'the-owner'),
      object('ServiceAccount', 'account', 'the-owner'),
      object('ServiceAccount', 'free'),
    ],
  };
  site = await startIndexSite(['admin', 'nobody'], seeds, {
    indexResources: 'configmaps,serviceaccounts,namespaces',
    indexCollections: [
      { name: 'mine', resourceTypes: [{ group: '', resource: 'serviceaccounts' }, { resource: 'configmaps' }] },
      { name: 'nothing', resourceTypes: [{ group: 'example.org', resource: 'widgets' }] },
    ],
  });
  await eventually('all is indexed', async () => (await items('mine?names=map,account,free')).length === 3);
});
after(() => site?.close());

async function items(path: string, user?: string): Promise<readonly string[]> {
  const answer = await site.ask(`${collections}/${path}`, user);
  assert.equal(answer.status, 200, answer.text);
  const { items: found } = answer.json<{ items: { kind: string; metadata: { name: string } }[] }>();
  return found.map(({ kind, metadata }) => `${kind}/${metadata.name}`).toSorted();
}
const made = 'labelSelector=made';

test('one collection holds objects of its types, and one whose types nobody has is empty', async () => {
  assert.deepEqual(await items(`mine?${made}`), ['ConfigMap/map', 'ServiceAccount/account', 'ServiceAccount/free']);
  assert.deepEqual(await items('nothing'), []);
  const listed = (await site.ask(collections)).json<{ items: (IndexedObject & { resourceTypes: object[] })[] }>();
  assert.deepEqual(
    listed.items.map(({ metadata, resourceTypes }) => [metadata.name, resourceTypes.length > 0]),
    [
      ['any', false],
      ['workloads', false],
      ['kuberesources', true],
      ['mine', true],
      ['nothing', false],
    ],
  );
  const one = (await site.ask(`${collections}?fieldSelector=metadata.name%3Dmine`)).json<IndexedList>();
  assert.deepEqual(
    one.items.map(({ metadata }) => metadata.name),
    ['mine'],
  );
  const ofNobody = (await site.ask(collections, 'nobody')).json<{ items: { resourceTypes: object[] }[] }>();
  assert.ok(ofNobody.items.every(({ resourceTypes }) => resourceTypes.length === 0));
});

test('owners are asked about in all types at once', async () => {
  const owned = ['ConfigMap/map', 'ServiceAccount/account'];
  assert.deepEqual(await items('mine?ownerUID=the-owner'), owned);
  assert.deepEqual(await items('kuberesources?ownerUID=the-owner'), owned);
  assert.deepEqual(await items('mine?ownerUID=the-owner', 'nobody'), []);
  assert.equal((await site.ask(`${collections}/mine?ownerSeniority=1`)).status, 400);
});

test('a watch tells objects in the form that is asked for', async () => {
  const query = `mine?watch=1&${made}&allowWatchBookmarks=1&timeoutSeconds=1`;
  const plain = await site.ask(`${collections}/${query}`);
  assert.match(plain.text, /"type":"ADDED","object":\{.*"kind":"ConfigMap"/);
  assert.match(
    plain.text,
    /"type":"BOOKMARK","object":\{"kind":"CollectionResource","apiVersion":"clusterpedia.io\/v1beta1"/,
  );
  const table = await site.ask(`${collections}/${query}`, 'admin', { headers: asTable });
  assert.match(
    table.text,
    /"columnDefinitions":\[\{"name":"Cluster"[^]*"cells":\["alpha","","v1","ConfigMap","shop","map"/,
  );
  const partial = await site.ask(`${collections}/${query}`, 'admin', { headers: asPartial });
  assert.match(partial.text, /"kind":"PartialObjectMetadata"/);
  const named = query.replace('mine?', '?fieldSelector=metadata.name%3Dmine&');
  assert.match((await site.ask(collections + named)).text, /"type":"ADDED".*"name":"free"/);
  const owned = await site.ask(`${collections}/${query}&ownerUID=the-owner`);
  assert.match(owned.text, /"name":"account"/);
  assert.doesNotMatch(owned.text, /"name":"free"/);
  const ofNobody = await site.ask(`${collections}/${query}`, 'nobody');
  assert.equal(ofNobody.status, 200);
  assert.doesNotMatch(ofNobody.text, /ADDED/);
});

test('what cannot be watched is refused with the reason', async () => {
  for (const [path, status, message] of [
    ['?watch=1', 405, /watch one of them/],
    ['/none?watch=1', 404, /none.*not found/],
    ['/mine?watch=1&ownerName=x', 400, /by ownerUID of the direct owner only/],
    ['/mine?watch=1&resourceVersion=5', 410, /not issued by this index/],
    ['/any?watch=1', 400, /needs groups= or resources=/],
    ['/mine?watch=1&sendInitialEvents=true', 422, /NotOlderThan/],
  ] as const) {
    const answer = await site.ask(collections + path);
    assert.equal(answer.status, status, `${path}: ${answer.text}`);
    assert.match(answer.text, message);
  }
});
