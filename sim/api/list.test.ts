import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, pod, simulate } from '../simulator.fixture.ts';
import type { JsonObject } from '../model/types.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const names = (list: JsonObject): string[] => list['items'].map((item: JsonObject) => item['metadata'].name);

test('chunks show the state at the first one, whatever happens between', async (t) => {
  const { sim, ask } = await simulate(t);
  for (const name of ['a', 'b', 'c', 'd', 'e']) sim.store.apply(configMap(name));
  const first = (await ask(`${maps}?limit=2`)).json;
  assert.deepEqual(names(first), ['a', 'b']);
  assert.equal(first.metadata.remainingItemCount, 3);
  sim.store.remove('configmaps', 'default', 'c');
  sim.store.apply(configMap('d', { a: 'changed' }));
  sim.store.apply(configMap('bb'));
  const second = (await ask(`${maps}?limit=2&continue=${first.metadata.continue}`)).json;
  assert.deepEqual(names(second), ['c', 'd']);
  assert.deepEqual(second.items[1].data, { a: 'b' });
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
  const third = (await ask(`${maps}?limit=2&continue=${second.metadata.continue}`)).json;
  assert.deepEqual(names(third), ['e']);
  assert.equal(third.metadata.continue, undefined);
});

test('an expired token is 410 with another that goes on inconsistently', async (t) => {
  const { sim, ask } = await simulate(t);
  for (const name of ['a', 'b', 'c']) sim.store.apply(configMap(name));
  const first = (await ask(`${maps}?limit=1`)).json;
  sim.store.apply(configMap('bb'));
  sim.store.compact();
  const gone = await ask(`${maps}?limit=1&continue=${first.metadata.continue}`);
  assert.deepEqual([gone.status, gone.json.reason], [410, 'Expired']);
  const rest = (await ask(`${maps}?continue=${gone.json.metadata.continue}`)).json;
  assert.deepEqual(names(rest), ['b', 'bb', 'c']);
  assert.equal((await ask(`${maps}?continue=nonsense`)).status, 400);
});

test('selectors filter, and hide how many are left', async (t) => {
  const { sim, ask } = await simulate(t);
  for (const [name, app] of [
    ['a', 'x'],
    ['b', 'y'],
    ['c', 'x'],
    ['d', 'x'],
  ] as const)
    sim.store.apply(configMap(name, {}, { app }));
  const list = (await ask(`${maps}?labelSelector=app%3Dx&limit=2`)).json;
  assert.deepEqual(names(list), ['a', 'c']);
  assert.equal(list.metadata.remainingItemCount, undefined);
  sim.store.apply(pod('p', { nodeName: 'n1' }));
  sim.store.apply(pod('q', { nodeName: 'n2' }));
  assert.deepEqual(names((await ask('/api/v1/pods?fieldSelector=spec.nodeName%3Dn2')).json), ['q']);
  const refused = await ask('/api/v1/pods?fieldSelector=spec.image%3Dx');
  assert.deepEqual([refused.status, refused.json.message], [400, 'field label not supported: spec.image']);
});

test('resourceVersion and its match', async (t) => {
  const { sim, ask } = await simulate(t);
  sim.store.apply(configMap('a'));
  const then = sim.store.revision;
  sim.store.apply(configMap('b'));
  assert.deepEqual(names((await ask(`${maps}?resourceVersion=0`)).json), ['a', 'b']);
  assert.deepEqual(names((await ask(`${maps}?resourceVersion=${then}&resourceVersionMatch=NotOlderThan`)).json), [
    'a',
    'b',
  ]);
  const exact = (await ask(`${maps}?resourceVersion=${then}&resourceVersionMatch=Exact`)).json;
  assert.deepEqual([names(exact), exact.metadata.resourceVersion], [['a'], String(then)]);
  assert.equal((await ask(`${maps}?resourceVersionMatch=Exact`)).status, 422);
  assert.equal((await ask(`${maps}?resourceVersion=0&resourceVersionMatch=Exact`)).status, 422);
  assert.equal((await ask(`${maps}?resourceVersion=x`)).status, 400);
  assert.equal((await ask(`${maps}?resourceVersion=99999999`)).status, 504);
});

test('tables have rows of cells, with the object, its metadata or neither', async (t) => {
  const { sim, ask } = await simulate(t, { now: () => new Date('2026-01-01T00:00:00Z') });
  sim.store.apply({ ...configMap('a'), metadata: { name: 'a', creationTimestamp: '2025-12-31T23:50:00Z' } });
  const accept = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' } };
  const table = (await ask(maps, accept)).json;
  assert.equal(table.kind, 'Table');
  assert.deepEqual(table.rows[0].cells, ['a', 1, '10m']);
  assert.equal(table.rows[0].object.kind, 'PartialObjectMetadata');
  assert.equal((await ask(`${maps}?includeObject=None`, accept)).json.rows[0].object, undefined);
  assert.equal((await ask(`${maps}?includeObject=Object`, accept)).json.rows[0].object.kind, 'ConfigMap');
  assert.equal((await ask(`${maps}/a`, accept)).json.rows.length, 1);
});

test('metadata alone on request', async (t) => {
  const { sim, ask } = await simulate(t);
  sim.store.apply(configMap('a'));
  const accept = { headers: { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' } };
  const list = (await ask(maps, accept)).json;
  assert.deepEqual(
    [list.kind, list.items[0].kind, list.items[0].data],
    ['PartialObjectMetadataList', 'PartialObjectMetadata', undefined],
  );
});

test('an event is one object under both of its groups', async (t) => {
  const { ask } = await simulate(t);
  const note = {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'e' },
    regarding: { kind: 'Pod', name: 'p' },
    note: 'hi',
    eventTime: '2026-01-01T00:00:00.000000Z',
    type: 'Normal',
  };
  assert.equal(
    (await ask('/apis/events.k8s.io/v1/namespaces/default/events', { method: 'POST', body: note })).status,
    201,
  );
  const core = (await ask('/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp')).json.items[0];
  assert.deepEqual([core.message, core.involvedObject.name, core.note], ['hi', 'p', undefined]);
  const again = (await ask('/apis/events.k8s.io/v1/namespaces/default/events/e')).json;
  assert.deepEqual([again.note, again.regarding.name, again.message], ['hi', 'p', undefined]);
});

test('discovery lists every group, and all at once in the aggregated form', async (t) => {
  const { ask } = await simulate(t);
  assert.deepEqual((await ask('/api')).json.versions, ['v1']);
  assert.equal((await ask('/apis/apps')).json.preferredVersion.groupVersion, 'apps/v1');
  const core = (await ask('/api/v1')).json.resources.map((resource: JsonObject) => resource['name']);
  for (const name of ['pods', 'pods/log', 'pods/exec', 'serviceaccounts/token', 'nodes'])
    assert.ok(core.includes(name), name);
  const type = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const all = await ask('/apis', { headers: { accept: `${type},application/json` } });
  assert.equal(all.headers['content-type'], type);
  const apps = all.json.items.find((item: JsonObject) => item['metadata'].name === 'apps');
  assert.deepEqual(apps.versions[0].resources.find((r: JsonObject) => r['resource'] === 'deployments').responseKind, {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
  });
  const same = await ask('/apis', { headers: { accept: type, 'if-none-match': String(all.headers['etag']) } });
  assert.equal(same.status, 304);
});

test('OpenAPI documents are complete: every reference resolves', async (t) => {
  const { ask } = await simulate(t);
  const index = (await ask('/openapi/v3')).json.paths;
  assert.ok(index['api/v1'] && index['apis/apps/v1']);
  for (const { serverRelativeURL } of Object.values(index) as { serverRelativeURL: string }[]) {
    const document = await ask(serverRelativeURL);
    const { schemas } = document.json.components;
    for (const [, name = ''] of document.text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g))
      assert.ok(schemas[name], name);
  }
});
