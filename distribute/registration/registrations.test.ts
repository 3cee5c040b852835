import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../kube/client/hub.fixture.ts';
import { answer } from '../../test/pretend/fake-client.ts';
import {
  type Json,
  clusterType,
  leaseType,
  startMs,
  chosen,
  accepted,
  stopped,
  condition,
  micro,
  specOf,
  makeHub,
  start,
  available,
  writesFor,
  tellCluster,
} from './registrations.fixture.ts';

test('a cluster without an agent joins, is available, has its version, and its Lease is renewed once a period', async (t) => {
  const other = condition('Theirs', 'False', 'Said', 'not ours');
  const hub = makeHub({
    status: { conditions: [accepted, other], version: { kubernetes: 'v1.1.0' }, clusterClaims: [] },
  });
  const { clock, lease: present, status, said, probe, settle } = start(t, hub);
  probe('m1', 'True');
  await until(() => said(available)?.['status'] === 'True');
  assert.equal(said(available)!['reason'], 'ManagedClusterAvailable');
  assert.deepEqual(
    [said('ManagedClusterJoined')!['status'], said('ManagedClusterJoined')!['reason']],
    ['True', 'ManagedClusterJoined'],
  );
  assert.deepEqual(status()['version'], { kubernetes: 'v1.36.3' });
  assert.deepEqual(
    [said('HubAcceptedManagedCluster'), said('Theirs'), status()['clusterClaims']],
    [accepted, other, []],
  );
  const { metadata, spec } = present()!;
  assert.deepEqual(spec, { holderIdentity: 'portcullis', renewTime: micro(startMs) });
  assert.deepEqual(metadata.labels, { 'open-cluster-management.io/cluster-name': 'm1' });

  const writes = writesFor(hub).length;
  clock.ms = startMs + 59_000;
  probe('m1', 'True', '');
  await settle();
  assert.equal(writesFor(hub).length, writes, 'nothing is written within the period');
  assert.deepEqual(status()['version'], { kubernetes: 'v1.36.3' }, 'an unknown version leaves the last one');
  clock.ms = startMs + 60_000;
  probe('m1', 'True');
  await until(() => present()!['spec'].renewTime === micro(clock.ms));
  assert.equal(writesFor(hub).length, writes + 1, hub.writes.join('\n'));
});

test('the Lease is renewed by itself, in the period that the ManagedCluster names', async (t) => {
  const hub = makeHub({ spec: { hubAcceptsClient: true, leaseDurationSeconds: 0.02 } });
  const clock = { ms: startMs };
  Object.defineProperty(clock, 'ms', { get: () => Date.now() });
  const { probe, lease: present } = start(t, hub, clock);
  probe('m1', 'True');
  await until(() => present() !== undefined);
  const first = present()!['spec'].renewTime;
  await until(() => present()!['spec'].renewTime !== first);
  const second = present()!['spec'].renewTime;
  await until(() => present()!['spec'].renewTime !== second);
  assert.ok(Date.parse(second) - Date.parse(first) >= 20, `${first} ${second}`);
});

test('a period of zero, of nobody or below zero is that of OCM', async (t) => {
  for (const leaseDurationSeconds of [0, -1, undefined, null, 'x']) {
    const hub = makeHub({ spec: { hubAcceptsClient: true, leaseDurationSeconds } });
    const { clock, probe, lease: present, settle } = start(t, hub);
    probe('m1', 'True');
    await until(() => present() !== undefined);
    clock.ms += 59_999;
    probe('m1', 'True');
    await settle();
    assert.equal(present()!['spec'].renewTime, micro(startMs), String(leaseDurationSeconds));
    clock.ms += 1;
    probe('m1', 'True');
    await until(() => present()!['spec'].renewTime === micro(startMs + 60_000));
  }
});

test('a failing probe says that the cluster is not available, renews nothing, and lets the hub say Unknown later', async (t) => {
  const hub = makeHub();
  const { clock, probe, said, lease: present, status, settle } = start(t, hub);
  probe('m1', 'True');
  await until(() => said(available) !== undefined);
  clock.ms += 60_000;
  probe('m1', 'False', '', 'ConnectionRefused');
  await until(() => said(available)!['status'] === 'False');
  assert.equal(said(available)!['reason'], 'ManagedClusterKubeAPIServerUnavailable');
  assert.match(said(available)!['message'], /ConnectionRefused$/);
  assert.doesNotMatch(JSON.stringify(status()), /hidden/, 'the address of the cluster is not told');
  assert.deepEqual(status()['version'], { kubernetes: 'v1.36.3' });
  assert.equal(present()!['spec'].renewTime, micro(startMs));

  clock.ms = startMs + 300_000;
  tellCluster(hub, stopped);
  probe('m1', 'False', '', 'ConnectionRefused');
  await settle();
  assert.deepEqual(said(available), stopped, 'the hub would write it again and again');
  probe('m1', 'True');
  await until(() => said(available)!['status'] === 'True');
  assert.equal(present()!['spec'].renewTime, micro(clock.ms));
});

test('a probe that does not know renews nothing, and leaves what was said', async (t) => {
  const hub = makeHub();
  const { clock, probe, said, lease: present, settle } = start(t, hub);
  probe('m1', 'True');
  await until(() => said(available) !== undefined);
  const writes = writesFor(hub).length;
  clock.ms += 120_000;
  probe('m1', 'Unknown');
  await settle();
  assert.equal(writesFor(hub).length, writes);
  assert.equal(present()!['spec'].renewTime, micro(startMs));
});

const inSet = (name: string): Json => ({ 'cluster.open-cluster-management.io/clusterset': name });
const nothing: readonly (readonly [why: string, changes: Json, probe?: string])[] = [
  ['it is not accepted', { spec: { hubAcceptsClient: false } }],
  ['nobody said whether it is accepted', { spec: {} }],
  ['the acceptance is empty', { spec: { hubAcceptsClient: null } }],
  ['it has no spec', { spec: undefined }],
  ['the hub has not accepted it yet', { status: { conditions: [] } }],
  ['it has no status', { status: undefined }],
  ['its status is empty', { status: { conditions: null } }],
  ['the hub has denied it', { status: { conditions: [{ ...accepted, status: 'False' }] } }],
  ['the hub says something unknown', { status: { conditions: [{ ...accepted, status: 'Maybe' }] } }],
  ['it is not chosen', { metadata: { name: 'm1' } }],
  ['it is in a set of others', { metadata: { name: 'm1', labels: inSet('theirs') } }],
  [
    'it is excepted',
    {
      metadata: { name: 'm1', labels: inSet('fleet'), annotations: { ...chosen, [Object.keys(chosen)[0]!]: 'false' } },
    },
  ],
  ['it is going', { metadata: { name: 'm1', annotations: chosen, finalizers: ['x'], deletionTimestamp: 'now' } }],
  ['no probe has asked it', {}, 'none'],
  ['the probe does not know', {}, 'Unknown'],
  ['the probe says something unknown', {}, 'Maybe'],
  ['the probe has failed since the beginning', {}, 'False'],
];

for (const [why, changes, probed = 'True'] of nothing)
  test(`nothing is written for a cluster when ${why}`, async (t) => {
    const hub = makeHub(changes);
    const { probe, settle } = start(t, hub);
    if (probed !== 'none') probe('m1', probed);
    await settle();
    assert.deepEqual(writesFor(hub), []);
  });

test('a cluster of a configured set is served, and one of another source that has its name by chance is not', async (t) => {
  const hub = makeHub({ metadata: { name: 'm1', labels: inSet('fleet') } });
  const { store, probe, said, settle } = start(t, hub);
  store.apply('test', [specOf('m1', { source: 'kubeconfig' })]);
  probe('m1', 'True');
  await settle();
  assert.deepEqual(writesFor(hub), []);
  store.apply('test', [specOf('m1', { originalName: 'm1', source: 'cluster-gateway' })]);
  await until(() => said(available)?.['status'] === 'True');
});

test('while the clocks differ the Lease is renewed and the status is not written, as OCM has it', async (t) => {
  const clocks = condition('ManagedClusterConditionClockSynced', 'False', 'ManagedClusterClockOutOfSync', '');
  const hub = makeHub({ status: { conditions: [accepted, clocks] } });
  const { probe, said, lease: present, settle } = start(t, hub);
  probe('m1', 'True');
  await settle();
  assert.ok(present() !== undefined);
  assert.equal(said(available), undefined);
  tellCluster(hub, { ...clocks, status: 'True' });
  await until(() => said(available)?.['status'] === 'True');
});

test('a missing right or namespace is reported with what is missing, and tried again', async (t) => {
  const hub = makeHub();
  hub.forbidden.add('create leases');
  const { probe, logged, said, lease: present } = start(t, hub);
  probe('m1', 'True');
  await until(() => logged.length > 0);
  assert.match(logged[0]!, /may not create leases\.coordination\.k8s\.io; grant it a rule .*registration: a write to/);
  assert.equal(said(available), undefined, 'nothing is said that no Lease vouches for');
  const message = 'namespaces "m1" not found';
  hub.refuse = ({ path }) => (path.includes('/leases') ? answer(404, { kind: 'Status', message }) : undefined);
  hub.forbidden.clear();
  await until(() => logged.some((line) => line.includes('namespaces \\"m1\\" not found')));
  hub.refuse = () => undefined;
  await until(() => said(available)?.['status'] === 'True');
  assert.ok(present() !== undefined);
});

test('while the Leases cannot be read nothing is written, since there may be an agent', async (t) => {
  const hub = makeHub();
  hub.forbidden.add('list leases');
  const { probe, logged, said } = start(t, hub);
  probe('m1', 'True');
  await until(() => logged.some((line) => line.includes('leases') && line.includes('cannot be read')));
  assert.deepEqual(hub.writes, []);
  hub.forbidden.clear();
  await until(() => said(available)?.['status'] === 'True');
});

test('on a hub without ManagedClusters nothing happens until it has them', async (t) => {
  const hub = makeHub({}, [leaseType]);
  const request = hub.request.bind(hub);
  let lists = 0;
  hub.request = (call) => {
    if (call.path.includes('/managedclusters')) lists += 1;
    return request(call);
  };
  const { probe, said, logged } = start(t, hub);
  probe('m1', 'True');
  await until(() => lists >= 3);
  assert.deepEqual([hub.writes, logged], [[], []]);
  hub.serve(clusterType);
  await until(() => said(available)?.['status'] === 'True');
});
