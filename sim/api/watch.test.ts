import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, simulate, type WatchStream } from '../simulator.fixture.ts';
import type { JsonObject } from '../model/types.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const brief = (event: JsonObject | undefined): string => `${event?.['type']} ${event?.['object'].metadata.name}`;

async function take(stream: WatchStream, count: number): Promise<string[]> {
  const events: string[] = [];
  for (let i = 0; i < count; i++) events.push(brief(await stream.next()));
  return events;
}

test('a list gives the revision a watch goes on from, without loss', async (t) => {
  const { sim, ask, watch } = await simulate(t);
  sim.store.apply(configMap('a'));
  const list = (await ask(maps)).json;
  sim.store.apply(configMap('b'));
  const stream = await watch(`${maps}?watch=1&resourceVersion=${list.metadata.resourceVersion}`);
  sim.store.apply(configMap('c'));
  sim.store.apply(configMap('a', { a: 'changed' }));
  sim.store.remove('configmaps', 'default', 'b');
  assert.deepEqual(await take(stream, 4), ['ADDED b', 'ADDED c', 'MODIFIED a', 'DELETED b']);
  stream.close();
});

test('a watch without a revision begins with what there is', async (t) => {
  const { sim, watch } = await simulate(t);
  sim.store.apply(configMap('a'));
  const stream = await watch(`${maps}?watch=1`);
  assert.equal(stream.headers['content-type'], 'application/json');
  sim.store.apply(configMap('b'));
  assert.deepEqual(await take(stream, 2), ['ADDED a', 'ADDED b']);
  stream.close();
});

test('a selector turns changes into arrivals and departures', async (t) => {
  const { sim, watch } = await simulate(t);
  const stream = await watch(`${maps}?watch=1&labelSelector=on%3Dyes`);
  sim.store.apply(configMap('a', { v: '1' }, { on: 'no' }));
  sim.store.apply(configMap('a', { v: '2' }, { on: 'yes' }));
  sim.store.apply(configMap('a', { v: '3' }, { on: 'yes' }));
  const last = sim.store.apply(configMap('a', { v: '4' }, { on: 'no' }));
  sim.store.apply(configMap('z', {}, { on: 'yes' }));
  assert.deepEqual(await take(stream, 2), ['ADDED a', 'MODIFIED a']);
  const left = await stream.next();
  assert.equal(brief(left), 'DELETED a');
  assert.deepEqual(left?.['object'].data, { v: '3' });
  assert.equal(left?.['object'].metadata.resourceVersion, last.metadata.resourceVersion);
  assert.deepEqual(await take(stream, 1), ['ADDED z']);
  stream.close();
});

test('other namespaces and names stay out', async (t) => {
  const { sim, watch } = await simulate(t);
  const byNamespace = await watch('/api/v1/namespaces/kube-system/configmaps?watch=1');
  const byName = await watch(`${maps}?watch=1&fieldSelector=metadata.name%3Db`);
  sim.store.apply(configMap('a'));
  sim.store.apply(configMap('b'));
  sim.store.apply({ ...configMap('c'), metadata: { name: 'c', namespace: 'kube-system' } });
  assert.deepEqual(await take(byNamespace, 1), ['ADDED c']);
  assert.deepEqual(await take(byName, 1), ['ADDED b']);
  byNamespace.close();
  byName.close();
});

test('a revision too old ends the watch with 410 in an ERROR event', async (t) => {
  const { sim, watch } = await simulate(t);
  sim.store.apply(configMap('a'));
  sim.store.compact();
  const stream = await watch(`${maps}?watch=1&resourceVersion=2`);
  const event = await stream.next();
  assert.equal(event?.['type'], 'ERROR');
  assert.deepEqual([event?.['object'].code, event?.['object'].reason], [410, 'Expired']);
  assert.match(event?.['object'].message, /^too old resource version: 2 \(\d+\)$/);
  assert.equal(await stream.next(), undefined);
});

test('a revision of the future is 504', async (t) => {
  const { ask } = await simulate(t);
  const answer = await ask(`${maps}?watch=1&resourceVersion=999999`);
  assert.equal(answer.status, 504);
  assert.equal(answer.json.details.causes[0].reason, 'ResourceVersionTooLarge');
});

test('WatchList: initial events end with an annotated bookmark', async (t) => {
  const { sim, watch, ask } = await simulate(t);
  sim.store.apply(configMap('a'));
  const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const stream = await watch(`${maps}?${query}`);
  assert.deepEqual(await take(stream, 1), ['ADDED a']);
  const end = await stream.next();
  assert.equal(end?.['type'], 'BOOKMARK');
  assert.deepEqual(end?.['object'], {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: {
      resourceVersion: String(sim.store.revision),
      creationTimestamp: null,
      annotations: { 'k8s.io/initial-events-end': 'true' },
    },
  });
  sim.store.apply(configMap('b'));
  assert.deepEqual(await take(stream, 1), ['ADDED b']);
  stream.close();
  assert.equal((await ask(`${maps}?watch=1&sendInitialEvents=true`)).status, 422);
  assert.equal((await ask(`${maps}?watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1`)).status, 422);
});

test('a watch ends cleanly at its timeout', async (t) => {
  const { watch } = await simulate(t);
  const stream = await watch(`${maps}?watch=1&timeoutSeconds=1&allowWatchBookmarks=1`);
  const bookmark = await stream.next();
  assert.equal(bookmark?.['type'], 'BOOKMARK');
  assert.equal(await stream.next(), undefined);
});

test('a watch of tables names the columns once', async (t) => {
  const { sim, watch } = await simulate(t);
  sim.store.apply(configMap('a'));
  sim.store.apply(configMap('b'));
  const stream = await watch(`${maps}?watch=1`, {
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  });
  const [first, second] = [await stream.next(), await stream.next()];
  assert.deepEqual(
    first?.['object'].columnDefinitions.map((column: JsonObject) => column['name']),
    ['Name', 'Data', 'Age'],
  );
  assert.deepEqual(first?.['object'].rows[0].cells.slice(0, 2), ['a', 1]);
  assert.equal(second?.['object'].columnDefinitions, null);
  assert.equal(second?.['object'].rows[0].object.kind, 'PartialObjectMetadata');
  stream.close();
});
