import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../kube/client/hub.fixture.ts';
import { FakeClient } from '../test/pretend/fake-client.ts';
import { startClusterControllers } from './cluster-controllers.ts';
import type { ClusterFacts } from './clusters/cluster-facts.ts';

const clustersOf = 'pediaclusters.cluster.clusterpedia.io';
const path = '/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/a';
const facts: ClusterFacts = {
  problem: undefined,
  apiserver: 'https://found',
  version: 'v1.36.0',
  health: { isHealthy: true, message: '' },
  sync: { isRunning: true, fault: '', types: [], refused: [] },
};

/** A gateway that knows the clusters until it is told that they are gone. */
function makeScene(t: TestContext) {
  const hub = new FakeClient();
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (_: object, message: string) => assert.fail(message),
  };
  const gone = Promise.withResolvers<void>();
  let known: ClusterFacts | undefined = facts;
  const clusters = { facts: () => known, onChange: () => () => undefined, rowsGone: () => gone.promise };
  t.after(startClusterControllers({ client: hub, log, clusters, shardingName: '' }));
  const forget = (): void => void (known = undefined);
  const reason = (): string | undefined => hub.get(clustersOf, 'a')?.['status']?.conditions.at(-1)?.reason;
  return { hub, gone, forget, reason };
}

test('a new PediaCluster gets its finalizer and its status with one write each', async (t) => {
  const { hub, reason } = makeScene(t);
  hub.put(clustersOf, { metadata: { name: 'a' }, spec: { syncResources: [] } });
  await until(() => reason() === 'Ready');
  // Whatever more is written because of these events is written before the next PediaCluster is ready.
  hub.put(clustersOf, { metadata: { name: 'b' }, spec: { syncResources: [] } });
  await until(() => hub.get(clustersOf, 'b')?.['status'] !== undefined);
  assert.deepEqual(
    hub.writes.filter((write) => write.includes(path)),
    [`PATCH ${path}`, `PATCH ${path}/status`],
  );
});

test('a deleted PediaCluster keeps its finalizer until the gateway has forgotten the cluster and its rows', async (t) => {
  const { hub, gone, forget, reason } = makeScene(t);
  hub.put(clustersOf, { metadata: { name: 'a' }, spec: { syncResources: [] } });
  await until(() => reason() === 'Ready');
  hub.remove(clustersOf, 'a');
  await until(() => hub.get(clustersOf, 'a')?.['metadata'].deletionTimestamp !== undefined);
  forget();
  const before = hub.writes.length;
  hub.put(clustersOf, { metadata: { name: 'b' }, spec: { syncResources: [] } });
  await until(() => hub.writes.length > before);
  assert.deepEqual(hub.get(clustersOf, 'a')?.['metadata'].finalizers, ['clusterpedia.io/cluster-synchro-controller']);
  gone.resolve();
  await until(() => hub.get(clustersOf, 'a') === undefined);
});
