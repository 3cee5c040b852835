import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../kube/client/hub.fixture.ts';
import {
  type Json,
  leaseCollection,
  lease,
  mark,
  startMs,
  accepted,
  agentJoined,
  agentAvailable,
  stopped,
  micro,
  makeHub,
  start,
  available,
  writesFor,
  hubLease,
  renewAsAgent,
  tellCluster,
} from './registrations.fixture.ts';

test('the Lease that the hub made at the acceptance is taken when nobody has renewed it for five periods', async (t) => {
  const hub = makeHub();
  hub.put(leaseCollection, hubLease(startMs));
  const { clock, probe, said, lease: present, settle } = start(t, hub);
  clock.ms = startMs + 300_000;
  probe('m1', 'True');
  await settle();
  assert.deepEqual(writesFor(hub), [], 'an agent may still come');
  clock.ms = startMs + 300_300;
  tellCluster(hub, stopped);
  await until(() => said(available)?.['status'] === 'True');
  assert.deepEqual(present()!['spec'], { holderIdentity: 'portcullis', renewTime: micro(clock.ms) });
});

test('a cluster with an agent is left alone, which is said once, also when the agent dies', async (t) => {
  const hub = makeHub({ status: { conditions: [accepted, agentJoined, agentAvailable] } });
  hub.put(leaseCollection, hubLease(startMs - 3_600_000, startMs));
  const { clock, probe, logged, settle } = start(t, hub);
  probe('m1', 'True');
  await until(() => logged.length > 0);
  probe('m1', 'True');
  renewAsAgent(hub, startMs + 60_000);
  await settle();
  assert.deepEqual(writesFor(hub), []);
  assert.equal(logged.filter((line) => line.includes('"m1"') && line.includes('an agent of OCM is there')).length, 1);
  clock.ms = startMs + 86_400_000;
  tellCluster(hub, stopped);
  await until(() => logged.some((line) => line.includes('renewed its Lease once')));
  probe('m1', 'True');
  await settle();
  assert.deepEqual(writesFor(hub), [], 'the death of an agent is not hidden');
  assert.equal(logged.length, 2, logged.join('\n'));
});

test('an agent that is installed later makes the gateway stop with its first renewal, and has the cluster for good', async (t) => {
  const hub = makeHub();
  const { clock, probe, said, logged, lease: present, settle } = start(t, hub);
  probe('m1', 'True');
  await until(() => said(available) !== undefined);
  const writes = writesFor(hub).length;
  clock.ms += 60_000;
  renewAsAgent(hub, clock.ms - 1);
  assert.equal(present()!['spec'].holderIdentity, 'portcullis', 'an agent leaves what it does not know');
  assert.equal(present()!['metadata'].annotations[mark], micro(startMs));
  await settle();
  probe('m1', 'False');
  await settle();
  clock.ms += 86_400_000;
  tellCluster(hub, stopped);
  probe('m1', 'True');
  await settle();
  assert.equal(writesFor(hub).length, writes);
  assert.deepEqual(said(available), stopped);
  assert.ok(logged.some((line) => line.includes('"m1"') && line.includes('an agent of OCM is there')));
});

test('an agent that writes the status before the Lease is left alone as long as the Lease is fresh', async (t) => {
  const hub = makeHub();
  const { clock, probe, said, lease: present, settle } = start(t, hub);
  probe('m1', 'True');
  await until(() => said(available) !== undefined);
  tellCluster(hub, agentAvailable);
  await settle();
  clock.ms += 299_999;
  probe('m1', 'True');
  await settle();
  assert.deepEqual([said(available), present()!['spec'].renewTime], [agentAvailable, micro(startMs)]);
  clock.ms += 1;
  probe('m1', 'True');
  await until(() => present()!['spec'].renewTime === micro(clock.ms));
});

test('an agent whose renewal the gateway has not read yet is not written over', async (t) => {
  const hub = makeHub();
  const { clock, probe, said, lease: present, logged, settle } = start(t, hub);
  probe('m1', 'True');
  await until(() => said(available) !== undefined);
  clock.ms += 60_000;
  let renewed = false;
  hub.refuse = ({ path }) => {
    if (path.includes('/namespaces/m1/leases/') && !renewed) {
      renewed = true;
      renewAsAgent(hub, clock.ms + 7);
    }
    return undefined;
  };
  probe('m1', 'True');
  await until(() => renewed);
  await settle();
  assert.equal(present()!['spec'].renewTime, micro(clock.ms + 7));
  assert.ok(!logged.some((line) => line.includes('failed')), 'that two write at once is no fault');
});

const others: readonly (readonly [what: string, lease: Json | undefined, conditions: readonly Json[]])[] = [
  ['a Lease without a time', { ...hubLease(0), spec: { holderIdentity: lease } }, []],
  ['a Lease with a time that cannot be read', { ...hubLease(0), spec: { holderIdentity: lease, renewTime: 'x' } }, []],
  ['a Lease with an empty spec', { ...hubLease(0), spec: null }, []],
  ['a Lease of another holder', { ...hubLease(0), spec: { holderIdentity: 'x', renewTime: micro(0) } }, []],
  ['a Lease without a holder', { ...hubLease(0), spec: { renewTime: micro(0) } }, []],
  ['a Lease that an agent renewed long ago', hubLease(0, 60_000), []],
  ['a stale Lease that an agent may have renewed at once', hubLease(0), [agentJoined, stopped]],
  ['a Lease that is made anew while the agent lives', hubLease(0), [agentAvailable]],
  ['no Lease, and the status of an agent', undefined, [agentJoined, stopped]],
];

for (const [what, present, conditions] of others)
  test(`nothing is written for a cluster that has ${what}`, async (t) => {
    const hub = makeHub({ status: { conditions: [accepted, ...conditions] } });
    if (present !== undefined) hub.put(leaseCollection, present);
    const { probe, logged, settle } = start(t, hub);
    probe('m1', 'True');
    await settle();
    assert.deepEqual(writesFor(hub), []);
    assert.equal(logged.filter((line) => line.includes('"m1"')).length, 1, logged.join('\n'));
  });

test('a Lease that is deleted is made anew, and is taken back at once when the hub was faster', async (t) => {
  const hub = makeHub();
  const { clock, probe, said, lease: present } = start(t, hub);
  probe('m1', 'True');
  await until(() => said(available) !== undefined);
  clock.ms += 1000;
  hub.remove(leaseCollection, lease, 'm1');
  await until(() => present()?.['spec'].renewTime === micro(clock.ms));
  clock.ms += 1000;
  hub.remove(leaseCollection, lease, 'm1');
  hub.put(leaseCollection, hubLease(clock.ms));
  await until(() => present()!['spec'].holderIdentity === 'portcullis');
});

test('another replica that becomes leader goes on with the Lease, also when its clock is behind', async (t) => {
  const hub = makeHub();
  const first = start(t, hub);
  first.probe('m1', 'True');
  await until(() => first.said(available) !== undefined);
  first.store.apply('test', []);
  const second = start(t, hub, { ms: startMs - 3_600_000 });
  second.probe('m1', 'True');
  await until(() => second.lease()!['spec'].renewTime === micro(startMs - 3_600_000));
});
