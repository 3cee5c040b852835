import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import { answerStatus } from './collection.fixture.ts';
import { until } from '../client/hub.fixture.ts';
import { isWatch, makeReflectorScene } from './reflector.fixture.ts';

const authority = await makeTestAuthority('hub');
const certificate = { ca: authority.ca, ...(await authority.issue(['ip:127.0.0.1'])) };
const scene = (t: TestContext) => makeReflectorScene(t, certificate);

test('it lists in pages, follows events, and what it holds is what the hub has', async (t) => {
  const { collection, hub, reported, start, watches } = await scene(t);
  for (let index = 0; index < 1203; index += 1) collection.put(`thing-${index}`, { spec: { index } });
  const reflector = start();
  await reflector.synced;
  assert.equal(reflector.objects.size, 1203);
  assert.deepEqual(
    hub.requests.slice(0, 3).map((line) => new URL(line.slice(4), 'https://h').searchParams.toString()),
    [
      'labelSelector=a%3Db&limit=500',
      'labelSelector=a%3Db&limit=500&continue=1303%3A500',
      'labelSelector=a%3Db&limit=500&continue=1303%3A1000',
    ],
  );
  assert.match(hub.requests[0] ?? '', /^GET \/apis\/example\.io\/v1\/namespaces\/ns\/things\?/);
  const kept = reflector.objects.get('ns/thing-7');
  assert.equal(kept?.['kind'], 'Thing');
  await until(() => watches() === 1);
  const query = new URL(hub.requests.at(-1)?.slice(4) ?? '', 'https://h').searchParams;
  assert.equal(query.get('resourceVersion'), '1303');
  assert.equal(query.get('allowWatchBookmarks'), 'true');
  const seconds = Number(query.get('timeoutSeconds'));
  assert.ok(seconds >= 300 && seconds <= 600, `${seconds}`);
  reported.length = 0;
  await until(() => collection.watches.size === 1);
  collection.put('thing-1', { spec: { index: -1 } });
  collection.remove('thing-2');
  collection.put('thing-2');
  collection.put('new');
  await until(() => reflector.objects.has('ns/new'));
  assert.deepEqual(reported, ['MODIFIED ns/thing-1', 'DELETED ns/thing-2', 'ADDED ns/thing-2', 'ADDED ns/new']);
  assert.equal(reflector.objects.get('ns/thing-7'), kept);
  const { phase, synced, resourceVersion, lastConfirmedAtMs, fault } = reflector.state();
  assert.deepEqual(
    [phase, synced, resourceVersion, fault],
    ['watching', true, String(collection.version()), undefined],
  );
  assert.ok(Date.now() - (lastConfirmedAtMs ?? 0) < 60_000);
});

test('events that come twice are reported once', async (t) => {
  const { collection, start, reported } = await scene(t);
  collection.put('a');
  const reflector = start();
  await until(() => collection.watches.size === 1);
  const object = collection.put('a', { spec: 1 });
  for (const response of collection.watches) {
    response.write(`${JSON.stringify({ type: 'MODIFIED', object })}\n`.repeat(3));
    response.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
  }
  collection.put('end');
  await until(() => reflector.objects.has('ns/end'));
  assert.deepEqual(reported, ['ADDED ns/a', 'MODIFIED ns/a', 'ADDED ns/end']);
});

test('bookmarks alone carry it over a compaction: it resumes where they were and lists nothing', async (t) => {
  const { collection, start, hub } = await scene(t);
  collection.put('a');
  const reflector = start();
  await until(() => collection.watches.size === 1);
  collection.compact();
  collection.bookmark();
  await until(() => reflector.state().resourceVersion === String(collection.version()));
  const asked = hub.requests.length;
  hub.cut();
  await until(() => collection.watches.size === 1 && hub.requests.length > asked);
  collection.put('b');
  await until(() => reflector.objects.has('ns/b'));
  const since = hub.requests.slice(asked);
  assert.ok(
    since.every((line) => line.includes('watch=true') || line.includes('limit=1')),
    since.join(),
  );
});

test('a kind that does not exist yet is an empty answer; it is found when it comes, and its objects go when it goes', async (t) => {
  const { collection, fault, start, reported, states, watches } = await scene(t);
  collection.put('a');
  fault((_, response) => {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n');
    return true;
  });
  const reflector = start();
  await reflector.synced;
  assert.deepEqual([reflector.objects.size, reflector.state().phase], [0, 'missing']);
  fault(undefined);
  await until(() => reflector.objects.has('ns/a'));
  await until(() => collection.watches.size === 1);
  const seen = watches();
  fault((_, response) => {
    answerStatus(response, 404, 'NotFound');
    return true;
  });
  for (const response of collection.watches) response.end();
  await until(() => reflector.state().phase === 'missing');
  assert.equal(reflector.objects.size, 0);
  assert.deepEqual(reported, ['ADDED ns/a', 'DELETED ns/a']);
  assert.ok(states.includes('failing Missing'), 'it was asked more than once before anything was given up');
  fault(undefined);
  await until(() => watches() > seen && reflector.objects.has('ns/a'));
});

test('a kind that is awaited is looked for at once when something says that it came', async (t) => {
  const { collection, fault, start } = await scene(t);
  fault((_, response) => {
    answerStatus(response, 404, 'NotFound');
    return true;
  });
  const reflector = start({ timing: { missingPollMs: 3_600_000 } });
  await until(() => reflector.state().phase === 'missing');
  reflector.lookAgain();
  collection.put('a');
  fault(undefined);
  await until(() => reflector.objects.has('ns/a'));
});

test('without the right it says which rule is missing, keeps what it has, and goes on once it is granted', async (t) => {
  const { collection, fault, start, hub, states } = await scene(t);
  collection.put('a');
  const reflector = start();
  await until(() => collection.watches.size === 1);
  for (const status of [403, 401]) {
    fault((_, response) => {
      answerStatus(response, status, 'Forbidden');
      return true;
    });
    hub.cut();
    await until(() => states.at(-1) === (status === 403 ? 'failing Forbidden' : 'failing Unauthorized'));
    assert.ok(reflector.objects.has('ns/a'));
    const words =
      status === 403
        ? 'a Role in namespace ns with apiGroups ["example.io"], resources ["things"], verbs ["list", "watch"]'
        : 'does not know the gateway';
    assert.ok(reflector.state().fault?.message.includes(words), `${reflector.state().fault?.message}`);
    fault(undefined);
    await until(() => collection.watches.size === 1 && reflector.state().fault === undefined);
  }
});

test('a listener that throws is reported and does not end anything', async (t) => {
  const { collection, start } = await scene(t);
  const errors: unknown[] = [];
  const reflector = start({
    onChange: () => {
      throw new Error('mine');
    },
    onError: (error) => void errors.push(error),
  });
  await until(() => collection.watches.size === 1);
  collection.put('a');
  await until(() => reflector.objects.size === 1);
  collection.put('b');
  await until(() => reflector.objects.size === 2);
  assert.equal(errors.length, 2);
});

test('closing ends the watch and everything that waits; what was held stays', async (t) => {
  const { collection, start, hub, fault } = await scene(t);
  collection.put('a');
  const reflector = start();
  await until(() => collection.watches.size === 1);
  reflector.close();
  await until(() => collection.watches.size === 0);
  assert.equal(reflector.state().phase, 'closed');
  assert.ok(reflector.objects.has('ns/a'));
  const asked = hub.requests.length;
  fault((_, response) => {
    answerStatus(response, 500, 'x');
    return true;
  });
  const other = start();
  await until(() => other.state().fault !== undefined);
  other.close();
  await assert.rejects(other.synced, { code: 'HUB_UNAVAILABLE' });
  assert.ok(hub.requests.length > asked);
});

test('objects lose managedFields and kubectl’s copy of themselves, in which a Secret’s data would show', async (t) => {
  const { collection, start, fault } = await scene(t);
  fault((url, response) => {
    if (isWatch(url)) return false;
    const metadata = {
      name: 'a',
      uid: 'u',
      resourceVersion: '7',
      managedFields: [{}],
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"token":"aHVudGVyMg=="}}',
        keep: 'me',
      },
    };
    response.end(
      JSON.stringify({
        kind: 'SecretList',
        apiVersion: 'v1',
        metadata: { resourceVersion: '100' },
        items: [{ metadata, data: {} }],
      }),
    );
    return true;
  });
  const reflector = start();
  await reflector.synced;
  assert.deepEqual(reflector.objects.get('a'), {
    kind: 'Secret',
    apiVersion: 'v1',
    data: {},
    metadata: { name: 'a', uid: 'u', resourceVersion: '7', annotations: { keep: 'me' } },
  });
  assert.equal(collection.watches.size, 0);
});
