import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deserialize, serialize } from 'node:v8';
import { makeAddressRule } from '../../cache/model/address-rule.ts';
import { basicAuthorization, fixedCredential } from '../../cache/credentials/fixed.ts';
import type { ClusterSpec, CredentialSource } from '../../cache/model/records.ts';
import { createClusterStore } from '../../cache/model/store.ts';
import type { ClusterEvent } from '../../cache/model/cluster-events.ts';
import type { ClusterStore } from '../../cache/model/store.ts';
import { makeClusterReader, makeClusterWriter } from './cluster-wire.ts';
import type { WireEvent, WireSnapshot } from './cluster-wire.ts';
import { makeReplicaStore } from './replica-store.ts';
import type { ReplicaStore } from './replica-store.ts';
import { sendClusters } from './broadcast.ts';

const addresses = { allowed: [], refused: [] };

function tokenOf(token: string): CredentialSource {
  return fixedCredential('token', {
    authorization: `Bearer ${token}`,
    clientCertificate: undefined,
    expiresAtMs: undefined,
  });
}

function specOf(name: string, more: Partial<ClusterSpec> = {}): ClusterSpec {
  return {
    name,
    originalName: name,
    uid: `uid-${name}`,
    source: 'test',
    sourceDetail: name,
    labels: { env: 'prod' },
    endpoint: { scheme: 'https', host: '10.0.0.1', port: 6443, basePath: '' },
    tls: { ca: undefined, serverName: undefined, insecure: false },
    proxy: undefined,
    credential: tokenOf(name),
    transportKey: 'k',
    problem: undefined,
    ...more,
  };
}

const plugin: CredentialSource = { kind: 'exec', current: () => Promise.reject(new Error('no')), invalidate() {} };

interface Pair {
  readonly store: ClusterStore;
  replica(): ReplicaStore;
  /** Ends the turn: what was changed is told. */
  told(): Promise<void>;
}

/** A store and copies of it, over real serialization. */
function pairOf(asked: number[] = []): Pair {
  const store = createClusterStore();
  const writer = makeClusterWriter(store);
  const replicas: ReplicaStore[] = [];
  const send = <T>(value: T): T => deserialize(serialize(value)) as T;
  const broadcast = sendClusters(store, writer, (message) => {
    const { events } = send(message) as { events: readonly WireEvent[] };
    for (const replica of replicas) replica.apply(events);
  });
  return {
    store,
    replica() {
      broadcast.flush();
      const reader = makeClusterReader((id) => {
        asked.push(id);
        return { ...plugin };
      }, addresses);
      const replica = makeReplicaStore(send<WireSnapshot>(writer.snapshot()), reader);
      replicas.push(replica);
      return replica;
    },
    told: () => new Promise((resolve) => setImmediate(resolve)),
  };
}

/** Records without what cannot be compared: credentials as what they give. */
function shown(store: Pick<ClusterStore, 'list'>): unknown {
  return store.list().map(({ spec: { credential, addressRule, ...plain }, ...record }) => ({
    ...record,
    plain,
    ruled: addressRule?.refuses('127.0.0.1'),
    credential: credential && (credential.kind === 'exec' ? 'exec' : credential.current()),
  }));
}

test('a copy equals its store, with its versions, after any changes in any order', async () => {
  const { store, replica, told } = pairOf();
  store.apply('s', [specOf('a'), specOf('b', { credential: undefined })]);
  const first = replica();
  const names = ['a', 'b', 'c', 'd'];
  for (let round = 0; round < 200; round++) {
    const chosen = names.filter(() => Math.random() < 0.6);
    const specs = chosen.map((name) =>
      specOf(name, {
        // The same registration under another name now and then.
        uid: Math.random() < 0.2 ? `uid-${name}-2` : `uid-${name}`,
        labels: { round: String(Math.floor(Math.random() * 3)) },
        ...(Math.random() < 0.3 ? { addressRule: makeAddressRule(addresses) } : {}),
        ...(Math.random() < 0.3 ? { credential: plugin } : {}),
        problem: Math.random() < 0.2 ? { reason: 'Test', message: 'for the test' } : undefined,
      }),
    );
    store.apply('s', specs);
    for (const { spec } of store.list())
      store.setStatus(spec.uid, { conditions: [], version: `v${round}`, latencyMs: round });
    if (Math.random() < 0.5) await told();
  }
  await told();
  const late = replica();
  for (const copy of [first, late]) {
    assert.deepEqual(shown(copy), shown(store));
    assert.equal(copy.resourceVersion, store.resourceVersion);
    for (const { spec } of store.list()) assert.equal(copy.getByUid(spec.uid)?.spec.name, spec.name);
  }
  const since = store.history().events.at(-20)!.record.resourceVersion;
  const tail = (events: readonly ClusterEvent[] | 'expired'): unknown =>
    events === 'expired' ? events : events.map(({ type, record }) => [type, record.resourceVersion, record.spec.name]);
  assert.notEqual(store.eventsSince(since), 'expired');
  assert.deepEqual(tail(first.eventsSince(since)), tail(store.eventsSince(since)));
  assert.deepEqual(tail(late.eventsSince(since)), tail(store.eventsSince(since)));
});

test('a spec that did not change stays the same object at the worker, and its credential with it', async () => {
  const asked: number[] = [];
  const { store, replica, told } = pairOf(asked);
  store.apply('s', [specOf('a', { credential: plugin })]);
  const copy = replica();
  const events: ClusterEvent[] = [];
  copy.subscribe((event) => void events.push(event));
  const before = copy.get('a')!.spec;
  store.setStatus('uid-a', { conditions: [], version: 'v1', latencyMs: 1 });
  await told();
  assert.equal(copy.get('a')!.spec, before);
  assert.equal(events[0]!.previous!.spec, before);
  assert.deepEqual(asked, [1]);
  assert.ok(Object.isFrozen(copy.get('a')) && Object.isFrozen(before) && Object.isFrozen(before.labels));
});

test('a listener that gets the first event of a swap reads the state after its last', async () => {
  const { store, replica, told } = pairOf();
  store.apply('s', [specOf('a'), specOf('b')]);
  const copy = replica();
  const seen: string[] = [];
  copy.subscribe(
    () =>
      void seen.push(
        copy
          .list()
          .map(({ spec }) => spec.name)
          .join(','),
      ),
  );
  store.apply('s', [specOf('c'), specOf('d')]);
  await told();
  assert.deepEqual(seen, ['c,d', 'c,d', 'c,d', 'c,d']);
});

test('a record with ruled addresses cannot be read where there is no rule', () => {
  const store = createClusterStore();
  store.apply('s', [specOf('a', { addressRule: makeAddressRule(addresses) })]);
  const [wire] = makeClusterWriter(store).snapshot().records;
  const reader = makeClusterReader(() => plugin, undefined);
  assert.throws(() => reader.record(wire!), /rule for addresses/);
});

test('an event of a cluster that was never sent is refused', () => {
  const store = createClusterStore();
  const writer = makeClusterWriter(store);
  const copy = makeReplicaStore(
    writer.snapshot(),
    makeClusterReader(() => plugin, undefined),
  );
  const record = { status: { conditions: [], version: '', latencyMs: undefined }, createdAt: '', resourceVersion: '9' };
  assert.throws(() => copy.apply([{ type: 'MODIFIED', uid: 'x', record, spec: undefined }]), /never sent/);
});

test('a credential that is replaced can be asked for by requests under way, and no longer a minute later', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const store = createClusterStore();
  const writer = makeClusterWriter(store);
  store.subscribe((event) => void writer.event(event));
  const other: CredentialSource = { ...plugin };
  store.apply('s', [specOf('a', { credential: plugin })]);
  store.apply('s', [specOf('a', { credential: other })]);
  const id = writer.idOf(plugin)!;
  assert.equal(writer.source(id), plugin);
  // Another name is another record with the same credential.
  store.apply('s', [specOf('b', { uid: 'uid-a', credential: other })]);
  t.mock.timers.tick(60_000);
  assert.equal(writer.source(id), undefined);
  assert.equal(writer.source(writer.idOf(other)!), other);
});

test('a basic credential arrives as it is', () => {
  const store = createClusterStore();
  const authorization = basicAuthorization('user', 'pässword');
  const credential = fixedCredential('basic', { authorization, clientCertificate: undefined, expiresAtMs: 5 });
  store.apply('s', [specOf('a', { credential })]);
  const wire = deserialize(serialize(makeClusterWriter(store).snapshot())) as WireSnapshot;
  const read = makeClusterReader(() => plugin, undefined).record(wire.records[0]!);
  assert.deepEqual(read.spec.credential!.current(), { authorization, clientCertificate: undefined, expiresAtMs: 5 });
});
