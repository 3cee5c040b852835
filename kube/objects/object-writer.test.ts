import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, FakeClient } from '../../test/pretend/fake-client.ts';
import { HubRefusal, makeObjectWriter } from './object-writer.ts';

const type = { group: 'cluster.clusterpedia.io', version: 'v1alpha2', resource: 'pediaclusters' };

test('a refusal of the hub is told in its words, without the values that it quotes', async () => {
  const hub = new FakeClient();
  const message =
    'x is invalid: [spec.a: Invalid value: "SEC\\"RET: 1": must match, spec.b: Required value, c: Invalid value: {"a":"SECRET"}: no]';
  hub.refuse = () => answer(422, { kind: 'Status', reason: 'Invalid', message });
  await assert.rejects(makeObjectWriter(hub).create(type, { metadata: { name: 'x' } }), (error: unknown) => {
    assert.ok(error instanceof HubRefusal);
    assert.equal(error.status, 422);
    assert.match(error.message, /spec\.a: Invalid value: must match, spec\.b: Required value/);
    assert.doesNotMatch(error.message, /SECRET|RET/);
    return true;
  });
});

test('what RBAC refuses names the missing rule', async () => {
  const hub = new FakeClient();
  hub.forbidden.add('create pediaclusters');
  await assert.rejects(makeObjectWriter(hub).create(type, { metadata: { name: 'x' } }), {
    message:
      'the gateway may not create pediaclusters.cluster.clusterpedia.io; grant it a rule with apiGroups ["cluster.clusterpedia.io"], resources ["pediaclusters"], verbs ["create"]',
  });
});

test('an object that was made anew under its name is neither changed nor deleted', async () => {
  const hub = new FakeClient();
  const collection = 'pediaclusters.cluster.clusterpedia.io';
  const old = hub.put(collection, { metadata: { name: 'x' } });
  hub.remove(collection, 'x');
  hub.put(collection, { metadata: { name: 'x' } });
  const writer = makeObjectWriter(hub);
  await assert.rejects(writer.patch(type, old, { spec: {} }), { status: 409 });
  await writer.remove(type, old);
  assert.notEqual(hub.get(collection, 'x'), undefined);
});

test('a status is not written over one that somebody else wrote since the object was read', async () => {
  const hub = new FakeClient();
  const collection = 'pediaclusters.cluster.clusterpedia.io';
  const old = hub.put(collection, { metadata: { name: 'x' } });
  const status = { conditions: [{ type: 'Theirs' }] };
  hub.put(collection, { metadata: { name: 'x' }, status });
  const writer = makeObjectWriter(hub);
  await assert.rejects(writer.patchStatus(type, old, { conditions: [] }), { status: 409 });
  assert.deepEqual(hub.get(collection, 'x')?.['status'], status);
});

test('a writer that has ended sends nothing more, and gives up what is under way', async () => {
  const hub = new FakeClient();
  const object = hub.put('pediaclusters.cluster.clusterpedia.io', { metadata: { name: 'x' } });
  const ended = new AbortController();
  const signals: (AbortSignal | undefined)[] = [];
  const writer = makeObjectWriter({ request: (call) => (signals.push(call.signal), hub.request(call)) }, ended.signal);
  await writer.patch(type, object, { spec: {} });
  ended.abort();
  const before = hub.writes.length;
  await assert.rejects(writer.remove(type, object), { name: 'AbortError' });
  assert.equal(hub.writes.length, before);
  assert.deepEqual(
    signals.map((signal) => signal?.aborted),
    [true],
  );
});
