import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { makeTestAuthority } from '../../../test/pretend/certificates.ts';
import { makeHubClient } from '../../../kube/client/hub-client.ts';
import type { ApiObjects, WatchedResource } from '../../../kube/types.ts';
import type { HubSource } from '../hub-source.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import { createClusterStore } from '../../../model/store.ts';
import { answerStatus, makeTestCollection, type TestCollection } from '../../../kube/reflector/collection.fixture.ts';
import { startTestHub, until } from '../../../kube/client/hub.fixture.ts';
import { startHubSources, type HubSourcesOptions } from './hub.ts';

const authority = await makeTestAuthority('hub');
const certificate = { ca: authority.ca, ...(await authority.issue(['ip:127.0.0.1'])) };
const timing = { firstBackoffMs: 5, maxBackoffMs: 10, maxUnreachableBackoffMs: 10, missingPollMs: 20, closePollMs: 10 };

function watched(resource: string): WatchedResource {
  return { group: 'example.io', version: 'v1', resource };
}

/** One cluster for each object, with the object's name, registered in the year `since` of the object. */
function sourceOf(name: string, ...resources: readonly string[]): HubSource & { readonly compiled: number[] } {
  const compiled: number[] = [];
  return {
    name,
    watches: resources.map(watched),
    compiled,
    compile(maps: readonly ApiObjects[]): readonly ClusterSpec[] {
      const objects = maps.flatMap((map) => [...map.values()]);
      compiled.push(objects.length);
      if (objects.some((object) => object['spec'] === 'bomb')) throw new TypeError('hunter2 of a Secret');
      return objects.map(({ metadata, since }) => ({
        name: metadata.name,
        originalName: metadata.name,
        uid: `${name}-${metadata.uid}`,
        source: name,
        sourceDetail: `${name} ${metadata.name}`,
        labels: { version: metadata.resourceVersion },
        ...(typeof since === 'string' && { registeredAt: `${since}-01-01T00:00:00Z` }),
        endpoint: { scheme: 'https', host: name, port: 443, basePath: '' },
        tls: { ca: undefined, serverName: undefined, insecure: false },
        proxy: undefined,
        credential: undefined,
        transportKey: metadata.uid,
        problem: undefined,
      }));
    },
  };
}

/**
 * A hub with the collections `as` and `bs` and the definitions of kinds; `gates` holds back requests for a collection.
 */
async function scene(t: TestContext) {
  const collections: Record<string, TestCollection> = {
    as: makeTestCollection(),
    bs: makeTestCollection(),
    customresourcedefinitions: makeTestCollection(),
  };
  const gates = new Map<string, (response: ServerResponse) => void>();
  const hub = await startTestHub(t, certificate, (request, response) => {
    const name = /\/([a-z]+)\?/.exec(request.url ?? '')?.[1] ?? '';
    const gate = gates.get(name);
    if (gate === undefined) collections[name]?.handle(request, response);
    else gate(response);
  });
  const store = createClusterStore();
  const reported: string[] = [];
  const events: string[] = [];
  store.subscribe(({ type, record }) => void events.push(`${type} ${record.spec.name} of ${record.spec.source}`));
  return {
    hub,
    store,
    gates,
    reported,
    events,
    as: collections['as']!,
    bs: collections['bs']!,
    definitions: collections['customresourcedefinitions']!,
    start(sources: readonly HubSource[], options: Partial<HubSourcesOptions> = {}) {
      const client = makeHubClient(hub.connection, { version: 'test' });
      const handle = startHubSources({
        client,
        sources,
        store,
        timing,
        onProblem: ({ source, message }) => void reported.push(`${source}: ${message}`),
        onRecovered: ({ source }) => void reported.push(`${source}: good again`),
        ...options,
      });
      t.after(() => {
        handle.close();
        client.close();
      });
      return handle;
    },
    owner: (name: string): string | undefined => store.get(name)?.spec.source,
  };
}

test('of two equally old clusters that of the earlier source has the name, not whose list came first; it keeps it while it lives', async (t) => {
  const { as, bs, gates, start, store, owner, events } = await scene(t);
  as.put('x');
  bs.put('x');
  bs.put('y');
  const held: ServerResponse[] = [];
  gates.set('as', (response) => void held.push(response));
  const second = sourceOf('second', 'bs');
  const handle = start([sourceOf('first', 'as'), second], { timing: { ...timing, listTimeoutMs: 100 } });
  await until(() => bs.watches.size === 1 && held.length > 0);
  assert.deepEqual(store.list(), [], 'the second waits for the first');
  gates.delete('as');
  await handle.synced;
  assert.deepEqual(events, ['ADDED x of first', 'ADDED y of second', 'ADDED x-conflict-2 of second']);
  assert.equal(store.get('x-conflict-2')?.spec.problem?.reason, 'NameConflict');
  events.length = 0;
  await until(() => as.watches.size === 1);
  bs.put('x', { spec: 'changed' });
  await until(() => events.length > 0);
  assert.deepEqual(events, ['MODIFIED x-conflict-2 of second']);
  as.remove('x');
  await until(() => owner('x') === 'second');
  as.put('x');
  await until(() => owner('x-conflict-2') === 'first');
  assert.equal(owner('x'), 'second', 'a newcomer takes no name, whatever its source');
});

test('no cluster of the hub is there before all sources were listed, and then the oldest has the name (ATT-60)', async (t) => {
  const { as, bs, gates, start, store, owner, events } = await scene(t);
  as.put('x', { since: '2002' });
  as.put('only');
  bs.put('x', { since: '2001' });
  const held: ServerResponse[] = [];
  gates.set('bs', (response) => void held.push(response));
  const handle = start([sourceOf('first', 'as'), sourceOf('second', 'bs')], {
    timing: { ...timing, listTimeoutMs: 100 },
  });
  await until(() => as.watches.size === 1 && held.length > 0);
  assert.deepEqual(store.list(), [], 'the first waits for the second');
  gates.delete('bs');
  await handle.synced;
  assert.equal(owner('x'), 'second');
  assert.ok(!events.includes('ADDED x of first'), 'not even for a moment');
});

test('a source that could not be listed for long gets the names of its older clusters when it is', async (t) => {
  const { as, bs, gates, start, store, owner } = await scene(t);
  as.put('old', { since: '2001' });
  as.put('young', { since: '2002' });
  bs.put('old', { since: '2002' });
  bs.put('young', { since: '2001' });
  gates.set('as', (response) => answerStatus(response, 500, 'InternalError'));
  const handle = start([sourceOf('first', 'as'), sourceOf('second', 'bs')], { holdUpMs: 30 });
  await handle.synced;
  assert.equal(owner('old'), 'second');
  gates.delete('as');
  await until(() => owner('old') === 'first');
  assert.equal(owner('young'), 'second');
  assert.equal(store.get('young-conflict-2')?.spec.source, 'first');
  await until(() => as.watches.size === 1);
  as.put('new', { since: '2002' });
  await until(() => owner('new') === 'first');
  bs.put('new', { since: '2001' });
  await until(() => owner('new-conflict-2') === 'second');
  assert.equal(owner('new'), 'first', 'once all were read a name stays where it is');
});

test('a source whose right is missing holds nobody up, and the rule is reported until it is granted', async (t) => {
  const { as, bs, gates, start, owner, reported } = await scene(t);
  as.put('a');
  bs.put('b');
  gates.set('as', (response) => answerStatus(response, 403, 'Forbidden'));
  const handle = start([sourceOf('first', 'as'), sourceOf('second', 'bs')]);
  await handle.synced;
  assert.equal(owner('b'), 'second');
  assert.match(
    reported[0] ?? '',
    /^first: .*apiGroups \["example\.io"\], resources \["as"\], verbs \["list", "watch"\]$/,
  );
  assert.equal(handle.problems().length, 1);
  gates.delete('as');
  await until(() => owner('a') === 'first');
  await until(() => handle.problems().length === 0);
  assert.equal(reported.at(-1), 'first: good again');
});

test('a source that cannot be listed holds the others up only for a while', async (t) => {
  const { bs, gates, start, owner, reported } = await scene(t);
  bs.put('b');
  gates.set('as', (response) => answerStatus(response, 500, 'InternalError'));
  const handle = start([sourceOf('first', 'as'), sourceOf('second', 'bs')], { holdUpMs: 30 });
  await handle.synced;
  assert.equal(owner('b'), 'second');
  assert.match(reported.join(), /answered 500/);
});

test('a source that fails keeps what it gave last, the others go on, and its words stay in the log', async (t) => {
  const { as, bs, start, owner, reported, store } = await scene(t);
  as.put('a');
  const errors: unknown[] = [];
  const handle = start([sourceOf('first', 'as'), sourceOf('second', 'bs')], {
    onError: (error) => void errors.push(error),
  });
  await handle.synced;
  await until(() => as.watches.size === 1 && bs.watches.size === 1);
  as.put('bomb', { spec: 'bomb' });
  await until(() => reported.length === 1);
  assert.match(reported[0] ?? '', /keeps the clusters that it read before; its log has the error \(TypeError\)/);
  assert.match(String(errors[0]), /hunter2/);
  bs.put('b');
  await until(() => owner('b') === 'second');
  assert.equal(owner('a'), 'first');
  as.remove('bomb');
  as.put('c');
  await until(() => owner('c') === 'first');
  assert.equal(reported.at(-1), 'first: good again');
  assert.deepEqual(
    store.list().map(({ spec }) => spec.name),
    ['a', 'b', 'c'],
  );
});

test('sources that watch the same share one watch, and many events at once are compiled once', async (t) => {
  const { as, start, hub, store } = await scene(t);
  const first = sourceOf('first', 'as');
  const second = sourceOf('second', 'as', 'bs');
  await start([first, second]).synced;
  await until(() => as.watches.size > 0);
  assert.equal(as.watches.size, 1);
  const before = first.compiled.length;
  const [watch] = as.watches;
  watch?.cork();
  for (let index = 0; index < 200; index += 1) as.put(`a${index}`);
  watch?.uncork();
  await until(() => first.compiled.at(-1) === 200);
  assert.ok(first.compiled.length - before <= 20, `${first.compiled.length - before} rounds`);
  await until(() => store.list().length === 400);
  assert.equal(hub.requests.filter((line) => /\/as\?(?!.*watch)/.test(line)).length, 1);
});

test('a kind that is defined later is found by its definition, and its clusters go with it', async (t) => {
  const { as, definitions, gates, start, owner, store, hub, reported } = await scene(t);
  as.put('a');
  gates.set('as', (response) => response.writeHead(404).end('404 page not found\n'));
  const handle = start([sourceOf('first', 'as')], { timing: { ...timing, missingPollMs: 3_600_000 } });
  await handle.synced;
  await until(() => definitions.watches.size === 1);
  assert.match(
    hub.requests.find((line) => line.includes('customresourcedefinitions')) ?? '',
    /^GET \/apis\/apiextensions\.k8s\.io\/v1\//,
  );
  gates.delete('as');
  definitions.put('as.example.io');
  await until(() => owner('a') === 'first');
  gates.set('as', (response) => answerStatus(response, 404, 'NotFound'));
  for (const watch of as.watches) watch.end();
  await until(() => store.list().length === 0);
  assert.deepEqual(
    reported.filter((line) => !/no longer has|ends every|good again/.test(line)),
    [],
  );
});

test('a hub that is not there at start is one problem, and its clusters come when it comes', async (t) => {
  const { as, bs, gates, start, owner, reported } = await scene(t);
  as.put('a');
  bs.put('b');
  for (const name of ['as', 'bs', 'customresourcedefinitions']) gates.set(name, (response) => void response.destroy());
  const handle = start([sourceOf('first', 'as'), sourceOf('second', 'bs')]);
  await until(() => reported.length > 0 && handle.followed().every(({ phase }) => phase === 'failing'));
  assert.equal(handle.problems().length, 1);
  assert.match(reported[0] ?? '', /a request to the hub https:\/\/127\.0\.0\.1:\d+ failed: /);
  gates.clear();
  await handle.synced;
  assert.deepEqual([owner('a'), owner('b')], ['first', 'second']);
  await until(() => handle.problems().length === 0);
  assert.deepEqual(
    handle.followed().map(({ label, objects }) => [label, objects]),
    [
      ['as.example.io', 1],
      ['bs.example.io', 1],
    ],
  );
});

test('definitions are looked at only while a kind is missing, and where that is not allowed the kind is asked for', async (t) => {
  const { as, bs, gates, start, owner, hub, reported } = await scene(t);
  const asked = (): number => hub.requests.filter((line) => line.includes('customresourcedefinitions')).length;
  bs.put('b');
  await start([sourceOf('second', 'bs')]).synced;
  await until(() => bs.watches.size === 1);
  assert.equal(asked(), 0);
  as.put('a');
  gates.set('as', (response) => answerStatus(response, 404, 'NotFound'));
  gates.set('customresourcedefinitions', (response) => answerStatus(response, 403, 'Forbidden'));
  await start([sourceOf('first', 'as')]).synced;
  await until(() => hub.requests.filter((line) => line.includes('/as?')).length > 3);
  assert.equal(asked(), 1);
  gates.delete('as');
  await until(() => owner('a') === 'first');
  assert.deepEqual(reported, []);
});
