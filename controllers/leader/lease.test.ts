import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../kube/client/hub.fixture.ts';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { startElected } from './elected.ts';
import { LeaseFaults } from './lease-faults.ts';
import { startElection, type Election } from './lease.ts';

const timing = { durationMs: 1_000, renewWithinMs: 300, periodMs: 20 };
const leases = 'leases.coordination.k8s.io';

interface Scene {
  readonly hub: FakeClient;
  readonly leading: Set<string>;
  readonly faults: (string | undefined)[];
  start(identity: string): Election;
  holder(): string | undefined;
}

function makeScene(t: TestContext): Scene {
  const hub = new FakeClient();
  const leading = new Set<string>();
  const faults: (string | undefined)[] = [];
  return {
    hub,
    leading,
    faults,
    start(identity) {
      const lead = (): (() => void) => {
        leading.add(identity);
        return () => void leading.delete(identity);
      };
      const onFault = (fault: string | undefined): void => void faults.push(fault);
      const names = { namespace: 'ns', name: 'lease', identity };
      const election = startElection({ ...names, client: hub, lead, onFault, timing });
      t.after(() => election.close());
      return election;
    },
    holder: () => hub.get(leases, 'lease', 'ns')?.['spec'].holderIdentity,
  };
}

test('one of two leads, and the other takes over at once when the first ends', async (t) => {
  const { leading, start, holder } = makeScene(t);
  const first = start('one');
  await until(() => leading.has('one'));
  start('two');
  await until(() => holder() === 'one');
  assert.deepEqual([...leading], ['one']);
  await first.close();
  await until(() => leading.has('two'));
  assert.deepEqual([...leading], ['two']);
});

test('a holder that says nothing loses the Lease', async (t) => {
  const { hub, leading, start, holder } = makeScene(t);
  const spec = { holderIdentity: 'gone', leaseDurationSeconds: 1, leaseTransitions: 4 };
  hub.put(leases, { metadata: { name: 'lease', namespace: 'ns' }, spec });
  start('one');
  await until(() => leading.has('one'));
  assert.equal(holder(), 'one');
  assert.equal(hub.get(leases, 'lease', 'ns')?.['spec'].leaseTransitions, 5);
});

test('a leader that cannot renew leads no more, and says why with the missing rule', async (t) => {
  const { hub, leading, faults, start } = makeScene(t);
  start('one');
  await until(() => leading.has('one'));
  hub.forbidden.add('update leases');
  await until(() => !leading.has('one'));
  assert.match(String(faults.at(-1)), /resources \["leases"\], verbs \["update"\]/);
  hub.forbidden.clear();
  await until(() => leading.has('one'));
  assert.equal(faults.at(-1), undefined);
});

test('somebody else who takes the Lease ends our leading', async (t) => {
  const { hub, leading, start } = makeScene(t);
  start('one');
  await until(() => leading.has('one'));
  const spec = { holderIdentity: 'other', leaseDurationSeconds: 600 };
  hub.put(leases, { metadata: { name: 'lease', namespace: 'ns' }, spec });
  await until(() => !leading.has('one'));
});

test('a Lease that cannot be used is told with what waits for it, until it can be used again', async (t) => {
  const [hub, faults] = [new FakeClient(), new LeaseFaults()];
  hub.forbidden.add('create leases');
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  let isLeading = false;
  const lead = (): (() => void) => {
    isLeading = true;
    return () => undefined;
  };
  const lease = { namespace: 'ns', name: 'lease' };
  const parts = { client: hub, lease, log, what: 'join', lead, leases: faults, timeScale: 0.01 };
  const election = startElected(parts as unknown as Parameters<typeof startElected>[0]);
  t.after(() => election.close());
  await until(() => faults.list().length === 1);
  assert.match(faults.list()[0]!, /^join: the Lease ns\/lease cannot be used, so nothing is done: .*"create"/);
  hub.forbidden.clear();
  await until(() => isLeading);
  await until(() => faults.list().length === 0);
});
