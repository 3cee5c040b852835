import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import { answerStatus, statusObject } from './collection.fixture.ts';
import { until } from '../client/hub.fixture.ts';
import { isWatch, makeReflectorScene } from './reflector.fixture.ts';

const authority = await makeTestAuthority('hub');
const certificate = { ca: authority.ca, ...(await authority.issue(['ip:127.0.0.1'])) };
const scene = (t: TestContext) => makeReflectorScene(t, certificate);

test('an answer of 410 in the middle of a list starts it over without pages, so that it can end', async (t) => {
  const { collection, fault, start, hub } = await scene(t);
  for (let index = 0; index < 700; index += 1) collection.put(`thing-${index}`);
  fault((url, response) => {
    if (!url.searchParams.has('continue')) return false;
    answerStatus(response, 410, 'Expired');
    return true;
  });
  const reflector = start();
  await reflector.synced;
  assert.equal(reflector.objects.size, 700);
  assert.ok(!hub.requests[2]?.includes('limit'), 'asked in pages again');
});

test('a list whose pages repeat ends with a fault, and is asked for again after a wait (ATT-65)', async (t) => {
  const { collection, fault, start, lists, states } = await scene(t);
  collection.put('a');
  fault((url, response) => {
    if (isWatch(url)) return false;
    const metadata = { resourceVersion: '5', continue: 'again' };
    response.end(JSON.stringify({ kind: 'List', apiVersion: 'v1', metadata, items: [] }));
    return true;
  });
  const reflector = start({ timing: { firstBackoffMs: 60_000, maxBackoffMs: 60_000 } });
  await until(() => states.includes('failing Malformed'));
  assert.ok(lists() < 10, `${lists()} pages`);
  assert.match(reflector.state().fault?.message ?? '', /a list whose pages repeat/);
});

for (const how of ['status', 'event'] as const) {
  test(`a watch that is answered 410 as ${how} leads to a new list, in which what was deleted meanwhile is gone`, async (t) => {
    const { collection, fault, start, reported, states, lists, watches } = await scene(t);
    collection.put('stays');
    collection.put('goes');
    // Every list counts as old, so that the next one is made at once.
    // The watch ends here because its time is over: one that ends sooner would count as refused.
    const reflector = start({ timing: { healthyMs: 0, watchSecondsMin: 0, watchSecondsMax: 0 } });
    await reflector.synced;
    await until(() => collection.watches.size === 1);
    const stays = reflector.objects.get('ns/stays');
    const listed = lists();
    // The object goes while nobody watches. The version is still known, so only the 410 leads to a list.
    fault((url, response) => {
      if (!isWatch(url)) return false;
      if (how === 'status') answerStatus(response, 410, 'Expired');
      else response.end(`${JSON.stringify({ type: 'ERROR', object: statusObject(410, 'Expired') })}\n`);
      fault(undefined);
      return true;
    });
    const seen = watches();
    for (const response of collection.watches) {
      collection.watches.delete(response);
      response.end();
    }
    // Before the reflector can have seen the end.
    collection.remove('goes');
    await until(() => !reflector.objects.has('ns/goes'));
    await until(() => collection.watches.size === 1);
    assert.deepEqual(reported, ['ADDED ns/stays', 'ADDED ns/goes', 'DELETED ns/goes']);
    assert.equal(reflector.objects.get('ns/stays'), stays, 'the very same object');
    assert.ok(lists() > listed && watches() >= seen + 2);
    assert.ok(!states.some((state) => state.startsWith('failing')), 'the list came at once');
    collection.put('later');
    await until(() => reflector.objects.has('ns/later'));
  });
}

test('after an answer of 410 right behind a list it waits before it lists again', async (t) => {
  const { collection, fault, start, lists, watches } = await scene(t);
  fault((url, response) => {
    if (!isWatch(url)) return false;
    answerStatus(response, 410, 'Expired');
    fault(undefined);
    return true;
  });
  start({ timing: { firstBackoffMs: 60_000, maxBackoffMs: 60_000, healthyMs: 60_000 }, random: () => 0.5 });
  await until(() => watches() === 1);
  const other = start();
  await until(() => collection.watches.size === 1);
  collection.put('later');
  await until(() => other.objects.has('ns/later'));
  assert.equal(lists(), 2, 'one list of each');
});

test('a hub that forgets at once what it listed is told as a fault, with what it does', async (t) => {
  const { collection, fault, start, lists } = await scene(t);
  collection.put('a');
  fault((url, response) => {
    if (!isWatch(url)) return false;
    answerStatus(response, 410, 'Expired');
    return true;
  });
  let listsThen = 0;
  const reflector = start({
    timing: { firstBackoffMs: 200, maxBackoffMs: 400, healthyMs: 60_000 },
    onState: (state) => {
      if (state.phase === 'failing' && listsThen === 0) listsThen = lists();
    },
  });
  await reflector.synced;
  await until(() => listsThen > 0);
  assert.equal(listsThen, 2, 'it was told after the second');
  assert.match(
    reflector.state().fault?.message ?? '',
    /answers 410 to the watch of things\.example\.io in namespace ns \(a=b\) right after each list/,
  );
});

test('one answer of 410 to the watch right after a list is followed by a new list and is no fault', async (t) => {
  const { collection, fault, start, lists, states } = await scene(t);
  collection.put('a');
  fault((url, response) => {
    if (!isWatch(url)) return false;
    answerStatus(response, 410, 'Expired');
    fault(undefined);
    return true;
  });
  const reflector = start({ timing: { firstBackoffMs: 10 } });
  await until(() => collection.watches.size === 1);
  assert.equal(lists(), 2);
  collection.put('later');
  await until(() => reflector.objects.has('ns/later'));
  assert.ok(!states.some((state) => state.startsWith('failing')), states.join());
});

test('a connection that is reset in the middle of an event loses nothing and lists nothing again', async (t) => {
  const { collection, fault, hub, start, reported, lists } = await scene(t);
  collection.put('a');
  const reflector = start();
  await reflector.synced;
  await until(() => collection.watches.size === 1);
  const [response] = collection.watches;
  collection.watches.clear();
  const changed = collection.put('a', { spec: { text: 'x'.repeat(100_000) } });
  response?.write(JSON.stringify({ type: 'MODIFIED', object: changed }).slice(0, 50_000));
  const full = lists();
  fault(undefined);
  setTimeout(() => hub.cut(), 20);
  await until(() => reported.length === 2);
  assert.deepEqual(reported, ['ADDED ns/a', 'MODIFIED ns/a']);
  assert.equal(JSON.stringify(reflector.objects.get('ns/a')?.['spec']).length, 100_011);
  const since = hub.requests.slice(full + 1).filter((line) => !line.includes('watch=true'));
  assert.ok(since.length > 0 && since.every((line) => line.includes('limit=1')), since.join());
});

test('a stream that stays open and says nothing is given up after its time, and what it kept back is caught up with', async (t) => {
  const { collection, fault, start, states } = await scene(t);
  collection.put('a');
  fault((url, response) => {
    if (!isWatch(url)) return false;
    response.flushHeaders();
    return true;
  });
  const reflector = start({ timing: { watchSecondsMin: 0.05, watchSecondsMax: 0.05, stallGraceMs: 50 } });
  await reflector.synced;
  await until(() => reflector.state().phase === 'watching');
  collection.put('b');
  await until(() => states.includes('failing Stalled'));
  assert.match(reflector.state().fault?.message ?? '', /went silent/);
  assert.ok(!reflector.objects.has('ns/b'));
  fault(undefined);
  await until(() => reflector.objects.has('ns/b'));
});

test('errors of the hub are waited out; the objects stay meanwhile and the state says why', async (t) => {
  const { collection, fault, start, hub } = await scene(t);
  fault((_, response) => {
    answerStatus(response, 500, 'InternalError');
    return true;
  });
  const reflector = start();
  await until(() => hub.requests.length >= 4);
  assert.deepEqual([reflector.state().synced, reflector.state().phase], [false, 'failing']);
  assert.match(reflector.state().fault?.message ?? '', /answered 500 InternalError to a list of things\.example\.io/);
  collection.put('a');
  fault(undefined);
  await reflector.synced;
  await until(() => collection.watches.size === 1);
  fault((_, response) => {
    answerStatus(response, 503, 'ServiceUnavailable');
    return true;
  });
  hub.cut();
  await until(() => reflector.state().fault?.message.includes('503') === true);
  assert.ok(reflector.objects.has('ns/a') && reflector.state().synced);
  collection.put('b');
  fault(undefined);
  await until(() => reflector.objects.has('ns/b') && reflector.state().fault === undefined);
});

test('a hub that asks for a moment is asked again without a word; one that does so for long is reported', async (t) => {
  const { collection, fault, start, states, watches, lists } = await scene(t);
  collection.put('a');
  let left = 4;
  const busy = (response: ServerResponse): true => {
    response.setHeader('retry-after', '0');
    answerStatus(response, 429, 'TooManyRequests');
    return true;
  };
  // As for a kind that has just been created: lists are answered, and its cache is not filled yet.
  fault((url, response) => (isWatch(url) && left-- > 0 ? busy(response) : false));
  const reflector = start();
  await until(() => collection.watches.size === 1);
  assert.deepEqual(states, ['watching']);
  assert.equal(watches(), 5);
  assert.equal(lists(), 5, 'whether it has gone back is asked before each try');
  collection.put('b');
  await until(() => reflector.objects.has('ns/b'));

  fault((_, response) => busy(response));
  const other = start({ timing: { busyGraceMs: 100 } });
  await until(() => other.state().fault !== undefined);
  assert.match(other.state().fault?.message ?? '', /answered 429 TooManyRequests to a list of things/);
  fault(undefined);
  await other.synced;
  await until(() => other.state().fault === undefined);
});

test('a list that takes too long is given up and asked for again', async (t) => {
  const { collection, fault, start, states } = await scene(t);
  collection.put('a');
  fault((_, response) => {
    response.write('{"kind":"ThingList",');
    return true;
  });
  const reflector = start({ timing: { listTimeoutMs: 30 } });
  await until(() => states.includes('failing Unavailable'));
  fault(undefined);
  await reflector.synced;
  assert.ok(reflector.objects.has('ns/a'));
});

test('a 404 that is not of a Kubernetes API server takes nothing away', async (t) => {
  const { collection, fault, start, hub } = await scene(t);
  collection.put('a');
  const reflector = start();
  await until(() => collection.watches.size === 1);
  fault((_, response) => {
    response.writeHead(404).end('default backend - 404');
    return true;
  });
  const asked = hub.requests.length;
  hub.cut();
  await until(() => hub.requests.length > asked + 6);
  assert.ok(reflector.objects.has('ns/a'));
  assert.match(reflector.state().fault?.message ?? '', /answered 404/);
});

test('text that is not an event, an unknown event and an object without uid lead to a new list, never to a guess', async (t) => {
  const { collection, start, states, lists } = await scene(t);
  collection.put('a');
  const reflector = start();
  const secret = 'hunter2';
  for (const line of [
    `{"type":"ADDED","object":${secret}`,
    `{"type":"PATCHED","object":{"metadata":{"name":"${secret}","uid":"u","resourceVersion":"1"}}}`,
    `{"type":"ADDED","object":{"metadata":{"name":"${secret}","resourceVersion":"1"}}}`,
    `{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError","message":"${secret}"}}`,
  ]) {
    await until(() => collection.watches.size === 1);
    const before = lists();
    states.length = 0;
    const messages: string[] = [];
    for (const response of collection.watches) response.write(`${line}\n`);
    await until(() => {
      messages.push(reflector.state().fault?.message ?? '');
      return lists() > before && reflector.state().phase === 'watching';
    });
    assert.match(states[0] ?? '', /^failing (?:Malformed|Refused)$/);
    assert.ok(messages.every((message) => !message.includes(secret)));
  }
  assert.deepEqual([...reflector.objects.keys()], ['ns/a']);
});

test('a watch that ends when its time is over is opened again at once', async (t) => {
  const { collection, start, states, watches } = await scene(t);
  start({ timing: { firstBackoffMs: 60_000, maxBackoffMs: 60_000, watchSecondsMin: 0, watchSecondsMax: 0 } });
  for (const nth of [1, 2, 3]) {
    await until(() => collection.watches.size === 1 && watches() === nth);
    for (const response of collection.watches) {
      collection.watches.delete(response);
      response.end();
    }
  }
  await until(() => watches() === 4);
  assert.deepEqual(states, ['watching']);
});

test('a hub whose storage went back to a backup is listed anew, although it takes the old version', async (t) => {
  const { collection, start, hub } = await scene(t);
  for (const name of ['a', 'b', 'c']) collection.put(name);
  const reflector = start();
  await until(() => collection.watches.size === 1);
  collection.remove('c');
  await until(() => !reflector.objects.has('ns/c'));
  collection.watches.clear();
  collection.rewind(50);
  collection.remove('b');
  hub.cut();
  await until(() => !reflector.objects.has('ns/b'));
  await until(() => collection.watches.size === 1);
  collection.put('d');
  await until(() => reflector.objects.has('ns/d'));
});

for (const [when, lines] of [
  ['as soon as it starts', ''],
  ['as soon as it has brought an event', '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n'],
] as const) {
  test(`a watch that ends ${when} is told as a fault and not opened again at once`, async (t) => {
    const { collection, fault, start, watches, states } = await scene(t);
    collection.put('a');
    fault((url, response) => {
      if (!isWatch(url)) return false;
      response.end(lines);
      return true;
    });
    const reflector = start({ timing: { firstBackoffMs: 100, maxBackoffMs: 100 } });
    await until(() => states.includes('failing Refused'));
    assert.equal(watches(), 1);
    assert.match(reflector.state().fault?.message ?? '', /ends every watch of things/);
  });
}
