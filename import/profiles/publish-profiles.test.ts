import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../kube/client/hub.fixture.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { createClusterStore } from '../../model/store.ts';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { startProfiles } from './publish-profiles.ts';

const collection = 'clusterprofiles.multicluster.x-k8s.io';
const type = { group: 'multicluster.x-k8s.io', versions: ['v1alpha1'], resource: 'clusterprofiles' };
const namespace = 'inventory';

function specOf(name: string, changes: Partial<ClusterSpec> = {}): ClusterSpec {
  return {
    name,
    originalName: `The ${name}`,
    uid: `uid-${name}`,
    source: 'ocm',
    sourceDetail: `ManagedCluster ${name}`,
    labels: { 'topology.kubernetes.io/region': 'eu', empty: '' },
    endpoint: { scheme: 'https', host: 'hidden.example.com', port: 6443, basePath: '' },
    tls: { ca: undefined, serverName: undefined, insecure: false },
    proxy: undefined,
    credential: undefined,
    transportKey: 'a',
    problem: undefined,
    ...changes,
  };
}

function answers(
  version: string,
  available: 'True' | 'False',
): Parameters<ReturnType<typeof createClusterStore>['setStatus']>[1] {
  const condition = { type: 'Available', status: available, reason: 'Said', message: 'so', lastTransitionTime: 'then' };
  return { conditions: [condition], version, latencyMs: 3 };
}

function start(t: TestContext, hub: FakeClient, lease = 'portcullis/profiles') {
  const store = createClusterStore();
  let known = true;
  const logged: string[] = [];
  const note = (fields: object, message: string): void => void logged.push(`${JSON.stringify(fields)} ${message}`);
  t.after(
    startProfiles({
      client: hub,
      store,
      areClustersKnown: () => known,
      publisher: { namespace, lease, address: 'https://door.example.com', ca: () => 'PEM' },
      log: { info: note, warn: note, error: note },
    }),
  );
  return {
    store,
    logged,
    setKnown: (is: boolean) => void (known = is),
    profile: (name: string) => hub.get(collection, name, namespace),
  };
}

test('each cluster has a ClusterProfile that leads to it through the gateway and says how it is', async (t) => {
  const hub = new FakeClient([type]);
  const { store, profile } = start(t, hub);
  store.apply('test', [specOf('m1'), specOf('m2', { problem: { reason: 'NoAddress', message: 'it has no address' } })]);
  store.setStatus('uid-m1', answers('v1.36.3', 'True'));
  await until(() => profile('m1')?.['status']?.version?.kubernetes === 'v1.36.3');
  const { metadata, spec, status } = profile('m1')!;
  assert.equal(metadata.labels['x-k8s.io/cluster-manager'], 'portcullis');
  assert.deepEqual(spec, { displayName: 'The m1', clusterManager: { name: 'portcullis' } });
  const access = {
    name: 'portcullis',
    cluster: {
      server: 'https://door.example.com/clusters/m1/proxy',
      'certificate-authority-data': Buffer.from('PEM').toString('base64'),
    },
  };
  assert.deepEqual([status.accessProviders, status.credentialProviders], [[access], [access]]);
  assert.deepEqual(status.properties, [
    { name: 'gateway.portcullis.io/source', value: 'ocm' },
    { name: 'topology.kubernetes.io/region', value: 'eu' },
  ]);
  assert.doesNotMatch(JSON.stringify(profile('m1')), /hidden/, "the cluster's own address is nobody's business");
  const reported = (name: string): readonly string[] =>
    (profile(name)?.['status']?.conditions ?? []).map(
      (each: Record<string, string>) => `${each['type']} ${each['status']} ${each['reason']}`,
    );
  assert.deepEqual(reported('m1'), ['ControlPlaneHealthy True Said', 'Joined True Registered']);
  await until(() => reported('m2').length > 0);
  assert.deepEqual(reported('m2'), ['ControlPlaneHealthy False NoAddress', 'Joined False NoAddress']);
});

test('a profile is written when something of it changes and not otherwise, and goes with its cluster', async (t) => {
  const hub = new FakeClient([type]);
  const { store, profile, setKnown } = start(t, hub);
  store.apply('test', [specOf('m1')]);
  store.setStatus('uid-m1', answers('v1.36.3', 'True'));
  await until(() => profile('m1')?.['status']?.version?.kubernetes === 'v1.36.3');
  const writes = hub.writes.length;
  for (let latencyMs = 10; latencyMs < 20; latencyMs++)
    store.setStatus('uid-m1', { ...answers('v1.36.3', 'True'), latencyMs });
  store.setStatus('uid-m1', answers('v1.37.0', 'False'));
  await until(() => profile('m1')!['status'].version.kubernetes === 'v1.37.0');
  assert.equal(hub.writes.length, writes + 1, hub.writes.join('\n'));

  store.apply('test', [specOf('m1', { originalName: 'Another name' })]);
  await until(() => profile('m1')!['spec'].displayName === 'Another name');
  setKnown(false);
  store.apply('test', [specOf('m2')]);
  await until(() => profile('m2') !== undefined);
  assert.ok(profile('m1') !== undefined, 'nothing is removed before all sources have spoken');
  setKnown(true);
  store.apply('test', []);
  await until(() => profile('m2') === undefined);
});

test('profiles of others are left alone, those of another gateway too, even where a cluster has their name', async (t) => {
  const hub = new FakeClient([type]);
  const foreign = (name: string, clusterManager: string, lease: string): object => ({
    metadata: { name, namespace, annotations: { 'gateway.portcullis.io/published-by': lease } },
    spec: { displayName: 'theirs', clusterManager: { name: clusterManager } },
  });
  hub.put(collection, foreign('m1', 'open-cluster-management', 'portcullis/profiles'));
  hub.put(collection, foreign('m3', 'portcullis', 'elsewhere/profiles'));
  hub.put(collection, foreign('gone', 'portcullis', 'elsewhere/profiles'));
  hub.put(collection, foreign('mine', 'portcullis', 'portcullis/profiles'));
  const { store, profile, logged } = start(t, hub);
  store.apply('test', [specOf('m1'), specOf('m2'), specOf('m3')]);
  await until(() => profile('m2') !== undefined && profile('mine') === undefined);
  await until(() => logged.some((line) => line.includes('"m1"')) && logged.some((line) => line.includes('"m3"')));
  for (const name of ['m1', 'm3', 'gone']) assert.equal(profile(name)!['spec'].displayName, 'theirs', name);
  assert.equal(profile('m1')!['status'], undefined);
});
