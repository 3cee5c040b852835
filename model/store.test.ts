import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from './errors.ts';
import type { ClusterSpec, ClusterStatus, CredentialSource } from './records.ts';
import { type ClusterEvent } from './cluster-events.ts';
import { createClusterStore, type ClusterStore } from './store.ts';

const credential: CredentialSource = {
  kind: 'none',
  current: () => ({ authorization: undefined, clientCertificate: undefined, expiresAtMs: undefined }),
  invalidate() {},
};

function spec(name: string, changes: Partial<ClusterSpec> = {}): ClusterSpec {
  return {
    name,
    originalName: name,
    uid: `uid-of-${name}`,
    source: 'kubeconfig',
    sourceDetail: `/k context "${name}"`,
    labels: {},
    endpoint: { scheme: 'https', host: `${name}.example`, port: 6443, basePath: '' },
    tls: { ca: undefined, serverName: undefined, insecure: false },
    proxy: undefined,
    credential,
    transportKey: name,
    problem: undefined,
    ...changes,
  };
}

const status: ClusterStatus = { conditions: [], version: 'v1.36.0', latencyMs: 3 };

function recorded(store: ClusterStore): { readonly events: ClusterEvent[]; readonly lines: () => string[] } {
  const events: ClusterEvent[] = [];
  store.subscribe((event) => void events.push(event));
  return { events, lines: () => events.map((event) => `${event.type} ${event.record.spec.name}`) };
}

test('apply swaps the whole contribution of a source and tells exactly what changed', () => {
  const store = createClusterStore();
  const seen = recorded(store);
  store.apply('a', [spec('one'), spec('two'), spec('three')]);
  store.apply('b', [spec('other')]);
  seen.events.length = 0;
  store.apply('a', [spec('two'), spec('three', { labels: { tier: 'x' } }), spec('four')]);
  assert.deepEqual(seen.lines(), ['DELETED one', 'MODIFIED three', 'ADDED four']);
  assert.deepEqual(
    store.list().map((record) => record.spec.name),
    ['four', 'other', 'three', 'two'],
  );
  assert.equal(store.get('one'), undefined);
});

test('an equal spec keeps the very same record, even when it is another object', () => {
  const store = createClusterStore();
  store.apply('a', [spec('one')]);
  const before = store.get('one');
  const version = store.resourceVersion;
  store.apply('a', [spec('one')]);
  assert.equal(store.get('one'), before);
  assert.equal(store.resourceVersion, version);
  store.apply('a', [spec('one', { credential: { ...credential } })]);
  assert.notEqual(store.get('one'), before, 'another credential instance is another record');
});

test('the same name with another uid is DELETED and ADDED, with a status of its own', () => {
  const store = createClusterStore();
  store.apply('a', [spec('one')]);
  store.setStatus('uid-of-one', status);
  const seen = recorded(store);
  store.apply('a', [spec('one', { uid: 'second' })]);
  assert.deepEqual(seen.lines(), ['DELETED one', 'ADDED one']);
  assert.equal(seen.events[0]?.record.spec.uid, 'uid-of-one');
  assert.equal(store.get('one')?.spec.uid, 'second');
  assert.equal(store.get('one')?.status.version, '');
});

test('a changed spec of the same uid keeps status and creation time', () => {
  let nowMs = Date.parse('2026-01-01T00:00:00.700Z');
  const store = createClusterStore({ now: () => nowMs });
  store.apply('a', [spec('one')]);
  store.setStatus('uid-of-one', status);
  nowMs += 3_600_000;
  store.apply('a', [spec('one', { labels: { a: 'b' } })]);
  assert.deepEqual(store.get('one')?.status, status);
  assert.equal(store.get('one')?.createdAt, '2026-01-01T00:00:00Z');
});

test('of two that ask for a name the first keeps it, the next is listed as a conflict and cannot be used', () => {
  const store = createClusterStore();
  store.apply('a', [spec('prod'), spec('prod', { uid: 'u2', originalName: 'Prod' }), spec('prod', { uid: 'u3' })]);
  assert.equal(store.get('prod')?.spec.uid, 'uid-of-prod');
  const second = store.get('prod-conflict-2')?.spec;
  assert.equal(second?.uid, 'u2');
  assert.equal(second?.originalName, 'Prod');
  assert.equal(second?.problem?.reason, 'NameConflict');
  assert.match(second?.problem?.message ?? '', /"prod" already belongs to \/k context "prod"; rename/);
  assert.equal(second?.credential, undefined);
  assert.equal(store.get('prod-conflict-3')?.spec.uid, 'u3');
});

test('a conflict never takes the name of a healthy cluster, and ends when the winner goes', () => {
  const store = createClusterStore();
  const seen = recorded(store);
  store.apply('a', [spec('x'), spec('x', { uid: 'u2' }), spec('x-conflict-2')]);
  assert.equal(store.get('x-conflict-2')?.spec.problem, undefined);
  assert.equal(store.get('x-conflict-3')?.spec.uid, 'u2');
  seen.events.length = 0;
  store.apply('a', [spec('x', { uid: 'u2' }), spec('x-conflict-2')]);
  assert.deepEqual(seen.lines(), ['DELETED x', 'DELETED x-conflict-3', 'ADDED x']);
  assert.equal(store.get('x')?.spec.problem, undefined);
  assert.equal(store.get('x')?.spec.credential, credential);
});

test('a name taken by an earlier source is a conflict for the later one', () => {
  const store = createClusterStore();
  store.apply('a', [spec('one')]);
  store.apply('b', [spec('one', { uid: 'of-b' })]);
  assert.equal(store.get('one')?.spec.uid, 'uid-of-one');
  assert.equal(store.get('one-conflict-2')?.spec.uid, 'of-b');
});

test('two specs with one uid are refused and nothing changes', () => {
  const store = createClusterStore();
  store.apply('a', [spec('one')]);
  assert.throws(() => store.apply('a', [spec('two'), spec('three', { uid: 'uid-of-two' })]), /uid-of-two/);
  assert.deepEqual(
    store.list().map((record) => record.spec.name),
    ['one'],
  );
});

test('names of object members are ordinary names', () => {
  const store = createClusterStore();
  for (const name of ['constructor', '__proto__', 'tostring', 'hasOwnProperty']) {
    assert.equal(store.get(name), undefined);
    store.apply(name, [spec(name)]);
    assert.equal(store.get(name)?.spec.name, name);
  }
});

test('records are frozen through and through', () => {
  const store = createClusterStore();
  store.apply('a', [spec('one')]);
  store.setStatus('uid-of-one', {
    ...status,
    conditions: [{ type: 'A', status: 'True', reason: 'R', message: '', lastTransitionTime: '' }],
  });
  const record = store.get('one');
  assert.ok(record);
  const parts = [record, record.spec, record.spec.labels, record.spec.endpoint, record.spec.tls, record.status];
  for (const part of [...parts, record.status.conditions, record.status.conditions[0], store.list()]) {
    assert.ok(Object.isFrozen(part));
  }
});

test('setStatus builds a new record, ignores equal ones and unknown clusters', () => {
  const store = createClusterStore();
  store.apply('a', [spec('one')]);
  const seen = recorded(store);
  const before = store.get('one');
  assert.equal(store.list()[0], before);
  assert.equal(store.setStatus('uid-of-one', status), true);
  assert.equal(store.setStatus('uid-of-one', { ...status }), false);
  assert.equal(store.setStatus('nobody', status), false);
  assert.equal(before?.status.version, '');
  assert.equal(store.get('one')?.status.version, 'v1.36.0');
  assert.equal(store.getByUid('uid-of-one'), store.get('one'));
  assert.equal(store.list()[0], store.get('one'));
  assert.deepEqual(seen.lines(), ['MODIFIED one']);
});

test('a listener sees the state after the whole swap, in order, also when another listener changes the store', () => {
  const store = createClusterStore();
  const order: string[] = [];
  store.subscribe((event) => {
    assert.ok(store.get('two'), 'the swap is complete before the first event');
    if (event.type === 'ADDED') store.setStatus(event.record.spec.uid, status);
  });
  store.subscribe((event) => void order.push(`${event.type} ${event.record.spec.name}`));
  store.apply('a', [spec('one'), spec('two')]);
  assert.deepEqual(order, ['ADDED one', 'ADDED two', 'MODIFIED one', 'MODIFIED two']);
});

test('a listener that throws does not keep the event from the others, and an ended one hears nothing', () => {
  const errors: unknown[] = [];
  const store = createClusterStore({ onListenerError: (error) => void errors.push(error) });
  store.subscribe(() => {
    throw new Error('mine');
  });
  const seen = recorded(store);
  const end = store.subscribe(() => assert.fail('ended'));
  end();
  store.apply('a', [spec('one')]);
  assert.equal(errors.length, 1);
  assert.deepEqual(seen.lines(), ['ADDED one']);
});

test('a listener added while events are delivered hears only what happens afterwards', () => {
  const store = createClusterStore();
  const late: string[] = [];
  let subscribed = false;
  store.subscribe(() => {
    if (!subscribed) store.subscribe((event) => void late.push(event.record.spec.name));
    subscribed = true;
  });
  store.apply('a', [spec('one'), spec('two')]);
  assert.deepEqual(late, [], 'both were in the list it could read');
  store.apply('b', [spec('three')]);
  assert.deepEqual(late, ['three']);
});

test('a watch resumes from the history, and expires when the history no longer reaches back', () => {
  const store = createClusterStore({ historyLength: 3 });
  const start = store.resourceVersion;
  store.apply('a', [spec('one')]);
  const afterOne = store.resourceVersion;
  store.apply('a', [spec('one'), spec('two')]);
  const names = (answer: ReturnType<ClusterStore['eventsSince']>): unknown =>
    answer === 'expired' ? answer : answer.map((event) => event.record.spec.name);
  assert.deepEqual(names(store.eventsSince(start)), ['one', 'two']);
  assert.deepEqual(names(store.eventsSince(afterOne)), ['two']);
  assert.deepEqual(names(store.eventsSince(store.resourceVersion)), []);
  store.apply('a', []);
  assert.equal(names(store.eventsSince(start)), 'expired');
  assert.deepEqual(names(store.eventsSince(afterOne)), ['two', 'one', 'two']);
  assert.equal(names(store.eventsSince('1')), 'expired');
  assert.equal(names(store.eventsSince(String(Number(store.resourceVersion) + 1))), 'expired');
  assert.throws(
    () => store.eventsSince('x'),
    (error) => error instanceof GatewayError && error.status === 400,
  );
});

test('resourceVersions continue above those of a process that ended before', () => {
  const first = createClusterStore({ now: () => 1_700_000_000_000 });
  first.apply('a', [spec('one'), spec('two')]);
  const second = createClusterStore({ now: () => 1_700_000_000_001 });
  assert.ok(Number(second.resourceVersion) > Number(first.resourceVersion));
});

test('whatever is applied, replaying the events gives the list, and resourceVersions only grow', () => {
  const names = fc.constantFrom('a', 'b', 'a-conflict-2', 'constructor', '');
  const one = fc.record({ name: names, uid: fc.integer({ min: 0, max: 5 }), tier: fc.constantFrom('x', 'y') });
  const load = fc.uniqueArray(one, { selector: (item) => item.uid, maxLength: 6 });
  const step = fc.record({ source: fc.constantFrom('s', 't'), load });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      const store = createClusterStore();
      const start = store.resourceVersion;
      const replayed = new Map<string, string>();
      let last = Number(start);
      store.subscribe(({ type, record }) => {
        const version = Number(record.resourceVersion);
        assert.ok(version > last);
        last = version;
        const { name, uid } = record.spec;
        if (type === 'ADDED') assert.ok(!replayed.has(name), `${name} was there`);
        else assert.equal(replayed.get(name)?.split(' ')[0], uid);
        if (type === 'DELETED') replayed.delete(name);
        else replayed.set(name, `${uid} ${record.spec.labels['tier']}`);
      });
      for (const { source, load } of steps) {
        store.apply(
          source,
          load.map((item) => spec(item.name, { uid: `${source}${item.uid}`, labels: { tier: item.tier } })),
        );
      }
      const listed = store.list().map(({ spec: { name, uid, labels } }) => [name, `${uid} ${labels['tier']}`] as const);
      assert.deepEqual(new Map([...replayed].sort()), new Map([...listed].sort()));
      assert.ok(store.list().every((record) => record.spec.name !== ''));
    }),
  );
});
