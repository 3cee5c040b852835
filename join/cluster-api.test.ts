import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HubObject } from '../cache/hub/hub-types.ts';
import { FakeHub } from '../controllers/fake-hub.fixture.ts';
import { makeHubWriter } from '../controllers/hub/hub-writer.ts';
import { waitFor } from '../test/site/polling.ts';
import { ClusterApiImport } from './cluster-api.ts';

const clusters = 'clusters.cluster.x-k8s.io';
const joins = 'clusterjoins.join.portcullis.io';
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

function startImport(versions: readonly string[]) {
  const hub = new FakeHub([
    { group: 'cluster.x-k8s.io', versions, resource: 'clusters' },
    { group: 'join.portcullis.io', versions: ['v1alpha1'], resource: 'clusterjoins' },
  ]);
  const objects = (): ReadonlyMap<string, HubObject> =>
    new Map(hub.names(joins).map((name) => [name, hub.get(joins, name) as HubObject]));
  return { hub, start: () => new ClusterApiImport({ client: hub, writer: makeHubWriter(hub), log, joins: objects }) };
}

test('a Cluster joins by the kubeconfig of Cluster API, leaves with the Cluster, and others are left alone', async (t) => {
  const { hub, start } = startImport(['v1beta1']);
  hub.put(joins, { metadata: { name: 'mine' } });
  hub.put(joins, { metadata: { name: 'gone', annotations: { 'gateway.portcullis.io/cluster-api': 'ns/gone' } } });
  hub.put(clusters, { metadata: { name: 'edge', namespace: 'ns' } });
  const started = start();
  t.after(() => started.close());
  await waitFor(() => hub.names(joins).includes('edge') && !hub.names(joins).includes('gone'));
  assert.deepEqual(hub.get(joins, 'edge')!['spec'], {
    bootstrapKubeconfigSecret: { namespace: 'ns', name: 'edge-kubeconfig', key: 'value' },
    deleteBootstrapSecret: false,
    deregisterPolicy: 'ForceAfter:10m',
  });
  hub.remove(clusters, 'edge', 'ns');
  await waitFor(() => !hub.names(joins).includes('edge'));
  assert.deepEqual(hub.names(joins), ['mine']);
});

test('nobody leaves because the hub does not serve Clusters of Cluster API', async (t) => {
  const { hub, start } = startImport([]);
  hub.put(joins, { metadata: { name: 'edge', annotations: { 'gateway.portcullis.io/cluster-api': 'ns/edge' } } });
  hub.put(joins, { metadata: { name: 'other' } });
  const started = start();
  t.after(() => started.close());
  for (let round = 0; round < 20; round += 1) {
    started.look('edge');
    await new Promise(setImmediate);
  }
  assert.deepEqual(hub.names(joins).toSorted(), ['edge', 'other']);
});
