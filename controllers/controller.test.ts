import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../kube/client/hub.fixture.ts';
import { Controller } from './controller.ts';
import { FakeClient } from '../test/pretend/fake-client.ts';

const secrets = { group: '', version: 'v1', resource: 'secrets' };

function makeScene(t: TestContext) {
  const hub = new FakeClient();
  const logged: object[] = [];
  const log = (fields: object, message: string): void => void logged.push({ ...fields, message });
  const controller = new Controller({
    client: hub,
    log: { info: log, warn: log, error: log },
    what: 'test',
    timing: { maxBackoffMs: 1, firstBackoffMs: 1 },
  });
  t.after(() => controller.close());
  return { hub, controller, logged };
}

test('nothing is reconciled before all objects are known, and every change is reconciled', async (t) => {
  const { hub, controller } = makeScene(t);
  hub.put('secrets', { metadata: { name: 'a', namespace: 'ns' } });
  const seen: string[] = [];
  let isReady = false;
  const queue = controller.queue('Secret', async (key) => {
    seen.push(`${key} ${isReady}`);
    return 'done';
  });
  const watch = controller.follow(secrets, { onEach: ({ object }) => isReady && queue.add(object.metadata.name) });
  controller.whenSynced([watch], () => {
    isReady = true;
    for (const { metadata } of watch.objects.values()) queue.add(metadata.name);
  });
  await until(() => seen.length === 1);
  hub.put('secrets', { metadata: { name: 'b', namespace: 'ns' } });
  await until(() => seen.length === 2);
  assert.deepEqual(seen, ['a true', 'b true']);
});

test('objects that cannot be read are in the log with their type', async (t) => {
  const { hub, controller, logged } = makeScene(t);
  hub.forbidden.add('list secrets');
  controller.follow(secrets, { onEach: () => undefined });
  await until(() => logged.length > 0);
  const [first] = logged as { readonly resource: string; readonly fault: string; readonly message: string }[];
  assert.equal(first?.resource, 'secrets');
  assert.match(first.fault, /secrets/);
  assert.equal(first.message, 'test: objects of the hub cannot be read');
});

test('a closed controller writes nothing, reconciles nothing and ends what it was given, the youngest first', async (t) => {
  const { hub, controller } = makeScene(t);
  const old = hub.put('secrets', { metadata: { name: 'a', namespace: 'ns' } });
  const ended: string[] = [];
  let reconciled = 0;
  for (const name of ['first', 'second']) controller.atClose(() => ended.push(name));
  const queue = controller.queue('Secret', async () => {
    reconciled += 1;
    return 'done';
  });
  controller.close();
  controller.close();
  queue.add('a');
  await assert.rejects(controller.writer.patch(secrets, old, { data: {} }), { name: 'AbortError' });
  assert.deepEqual([reconciled, ended, hub.writes], [0, ['second', 'first'], []]);
});
