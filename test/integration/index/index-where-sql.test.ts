// Clusterpedia's `whereSQL` over HTTP, with the flag that allows it: every kind of question takes it, and it shows
// nobody more than they may see. Without the flag it is refused (index-peer-queries.ts).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite, type IndexedList, type IndexSite } from './index-site.ts';

const resources = '/apis/clusterpedia.io/v1beta1/resources';
const configMaps = `${resources}/api/v1/configmaps`;
const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const annotation = 'shadow.clusterpedia.io/cluster-name';
let site: IndexSite;

function seeds(): readonly JsonObject[] {
  return ['shop', 'ops'].flatMap((place): JsonObject[] => [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: place } },
    ...['one', 'two'].map((name): JsonObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: place, creationTimestamp: '2022-03-04T00:00:00Z' },
      data: { phase: name === 'one' ? 'Failed' : 'Running' },
    })),
  ]);
}

before(async () => {
  site = await startIndexSite(
    ['admin', 'viewer'],
    {
      alpha: [binding('admin', 'cluster-admin', 'admin'), binding('viewer', 'view', 'viewer', 'shop'), ...seeds()],
      beta: [binding('admin', 'cluster-admin', 'admin'), ...seeds()],
    },
    { indexResources: 'configmaps,namespaces,pods', indexAllowWhereSql: true },
  );
  await eventually('both are indexed', async () =>
    /2 of 2 clusters followed completely/.test((await site.ask('/readyz?verbose')).text),
  );
});
after(() => site?.close());

const ours = "namespace IN ('shop','ops')";
const query = (where: string): string => `whereSQL=${encodeURIComponent(`(${where}) AND ${ours}`)}`;
const places = ({ items }: IndexedList): string[] =>
  items.map(({ metadata }) => `${metadata.annotations?.[annotation]}/${metadata.namespace}/${metadata.name}`);

async function list(parameters: string, user = 'admin'): Promise<string[]> {
  const answer = await site.ask(`${configMaps}?${parameters}`, user);
  assert.equal(answer.status, 200, answer.text);
  return places(answer.json<IndexedList>());
}

test('whereSQL selects by columns and by fields, below other conditions (CP-048, CP-078, CP-084, CP-085)', async () => {
  assert.deepEqual(await list(query("cluster = 'alpha' OR namespace = 'ops'")), [
    ...['alpha/ops/one', 'alpha/ops/two', 'alpha/shop/one', 'alpha/shop/two', 'beta/ops/one', 'beta/ops/two'],
  ]);
  const failed = "object->'data'->>'phase' = 'Failed'";
  assert.deepEqual(await list(`${query(failed)}&clusters=beta&orderby=namespace desc`), [
    'beta/shop/one',
    'beta/ops/one',
  ]);
  assert.deepEqual(await list(`${query("JSON_EXTRACT(object,'$.data.phase') = 'Failed'")}&namespaces=shop`), [
    ...['alpha/shop/one', 'beta/shop/one'],
  ]);
  assert.deepEqual(await list(`${query("created_at < '2022-03-04'")}`), []);
  assert.equal((await list('whereSQL=&namespaces=shop')).filter((place) => /one|two/.test(place)).length, 4);
});

test('whereSQL shows nobody more than their own RBAC does', async () => {
  for (const where of ['TRUE', "name = 'one' OR TRUE", 'NOT FALSE', "'a' = 'a'", "cluster <> 'x'"])
    assert.deepEqual(
      (await list(query(where), 'viewer')).filter((place) => !place.startsWith('alpha/shop/')),
      [],
      where,
    );
  const counted = await site.ask(`${index}/counts?resource=configmaps&${query('TRUE')}`, 'viewer');
  assert.match(counted.text, /"count":2\b/);
});

test('statements take their values from parameters (CP-049 to CP-055, CP-061 to CP-075, CP-079, CP-081, CP-083, CP-086)', async () => {
  const statement = (text: string): string => `whereSQLStatement=${encodeURIComponent(`(${text}) AND ${ours}`)}`;
  const json = (values: unknown): string =>
    `whereSQLJSONParams=${encodeURIComponent(Buffer.from(JSON.stringify(values)).toString('base64'))}`;
  assert.equal((await list(statement('TRUE'))).length, 8);
  assert.deepEqual(await list(`${statement('name = ? AND cluster = ?')}&whereSQLParam=one&whereSQLParam=beta`), [
    ...['beta/ops/one', 'beta/shop/one'],
  ]);
  assert.equal((await list(`${statement('name IN ?')}&${json([['one', 'x']])}`)).length, 4);
  assert.equal((await list(`${statement('name NOT IN ?')}&${json([['one', 'x']])}`)).length, 4);
  assert.equal((await list(`${statement('created_at < ?')}&${json(['2022-03-05T00:00:00Z'])}`)).length, 8);
  assert.equal((await list(`${statement('name = ?')}&whereSQLParam=x&${json(['one'])}&${json(['two'])}`)).length, 4);
  assert.equal((await list(`${statement('namespace <> ?')}&whereSQLParam=`)).length, 8);
  for (const text of [" OR ('1' = '1", ' OR 1=1 -- ', ' UNION SELECT NULL'])
    assert.deepEqual(await list(`${statement('name = ?')}&whereSQLParam=${encodeURIComponent(text)}`), []);
});

test('parameters that cannot be read, or have no statement, are invalid (CP-056 to CP-060, CP-087)', async () => {
  for (const [parameters, message] of [
    ['whereSQLStatement=name%3D%3F&whereSQLJSONParams=A===', /whereSQLJSONParams: is not base64/],
    ['whereSQLStatement=name%3D%3F&whereSQLJSONParams=aW52YWxpZC1qc29u', /whereSQLJSONParams: is not a JSON list/],
    ['whereSQLStatement=name%3D%3F&whereSQLJSONParams=e30%3D', /is not a JSON list/],
    ['whereSQLStatement=name%3D%3F&whereSQLJSONParams=W3t9XQ%3D%3D', /not a text, a number/],
    ['whereSQLParam=x', /whereSQLParam: needs whereSQLStatement/],
    ['whereSQLJSONParams=W10%3D', /whereSQLJSONParams: needs whereSQLStatement/],
  ] as const) {
    const answer = await site.ask(`${configMaps}?${parameters}`);
    assert.equal(answer.status, 422, `${parameters} ${answer.text}`);
    assert.match(answer.json<{ message: string }>().message, message);
  }
  for (const parameters of [
    'whereSQL=length(name)%3D3',
    'whereSQLStatement=name%3D%3F',
    'whereSQL=TRUE&whereSQLStatement=TRUE',
  ])
    assert.equal((await site.ask(`${configMaps}?${parameters}`)).status, 400, parameters);
});

test('counts, facets, POSTed queries, collections and watches take whereSQL, too', async () => {
  const one = query("name = 'one' AND object->'data'->>'phase' LIKE 'Fail%'");
  const counts = await site.ask(`${index}/counts?resource=configmaps&${one}`);
  assert.match(counts.text, /"count":4\b/);
  const facets = await site.ask(`${index}/facets?resource=configmaps&by=cluster&${one}`);
  assert.match(facets.text, /"alpha".*2/);
  const posted = await site.ask(`${index}/query`, 'admin', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: { resource: ['configmaps'], whereSQL: `name = 'two' AND ${ours}`, limit: 3 },
  });
  assert.equal(posted.json<IndexedList>().items.length, 3, posted.text);
  const any = await site.ask(
    `/apis/clusterpedia.io/v1beta1/collectionresources/any?resources=/v1/configmaps,/v1/namespaces&whereSQL=${encodeURIComponent(
      "resource = 'namespaces' AND name = 'shop' OR kind = 'ConfigMap' AND namespace = 'shop' AND name = 'one'",
    )}`,
  );
  assert.deepEqual(places(any.json<IndexedList>()).toSorted(), [
    ...['alpha/shop/one', 'alpha/undefined/shop', 'beta/shop/one', 'beta/undefined/shop'],
  ]);
  const watch = site.watch(`${configMaps}?watch=1&${one}`);
  const events = await watch.until(4);
  assert.deepEqual([...new Set(events.map(({ object }) => object.metadata.name))], ['one']);
  watch.close();
});
