import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeaseFaults } from '../controllers/leader/lease-faults.ts';
import { until } from '../kube/client/hub.fixture.ts';
import { createClusterStore } from '../model/store.ts';
import {
  accepted,
  chosen,
  clusterCollection,
  clusterType,
  leaseType,
  specOf,
} from './registration/registrations.fixture.ts';
import { FakeClient } from '../test/pretend/fake-client.ts';
import { startWorkExecutor } from './start.ts';

test('the replica that executes works speaks for clusters without an agent, until it is closed', async () => {
  const hub = new FakeClient([clusterType, leaseType]);
  const spec = { hubAcceptsClient: true };
  const add = (name: string): void =>
    void hub.put(clusterCollection, {
      metadata: { name, annotations: chosen },
      spec,
      status: { conditions: [accepted] },
    });
  add('m1');
  const store = createClusterStore();
  store.apply('test', [specOf('m1'), specOf('m2')]);
  const condition = { type: 'Available', status: 'True', reason: 'Said', message: '', lastTransitionTime: '' } as const;
  for (const name of ['m1', 'm2'])
    store.setStatus(`uid-${name}`, { conditions: [condition], version: 'v1.36.3', latencyMs: 1 });
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const executor = startWorkExecutor({
    ...{ client: hub, store, log, clusterSets: [], acceptUnstamped: true, agentId: undefined },
    ...{ lease: { namespace: 'x', name: 'works' }, leases: new LeaseFaults(), hubUrl: hub.url },
  } as unknown as Parameters<typeof startWorkExecutor>[0]);
  const lease = (namespace: string): object | undefined =>
    hub.get('leases.coordination.k8s.io', 'managed-cluster-lease', namespace);
  await until(() => lease('m1') !== undefined);
  await executor.close();
  const writes = hub.writes.length;
  add('m2');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(lease('m2'), undefined);
  assert.equal(hub.writes.length, writes);
});
