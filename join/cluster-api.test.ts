import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../kube/types.ts';
import { FakeClient } from '../test/pretend/fake-client.ts';
import { makeObjectWriter } from '../kube/objects/object-writer.ts';
import { waitFor } from '../test/site/polling.ts';
import { ClusterApiImport } from './cluster-api.ts';

const clusters = 'clusters.cluster.x-k8s.io';
const joins = 'clusterjoins.join.portcullis.io';
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

function startImport(versions: readonly string[], bootstrapNamespaces: readonly string[] = ['ns']) {
  const hub = new FakeClient([
    { group: 'cluster.x-k8s.io', versions, resource: 'clusters' },
    { group: 'join.portcullis.io', versions: ['v1alpha1'], resource: 'clusterjoins' },
  ]);
  const objects = (): ReadonlyMap<string, ApiObject> =>
    new Map(hub.names(joins).map((name) => [name, hub.get(joins, name) as ApiObject]));
  const reported: object[] = [];
  const options = { client: hub, writer: makeObjectWriter(hub), joins: objects, bootstrapNamespaces };
  const telling = { ...log, warn: (fields: object) => void reported.push(fields) };
  return { hub, reported, start: () => new ClusterApiImport({ ...options, log: telling }) };
}

const origin = 'gateway.portcullis.io/cluster-api';
const uidOfCluster = 'gateway.portcullis.io/cluster-api-uid';

/** A ClusterJoin as it is made for a Cluster of that name in the namespace `ns`. */
function joinOf(
  name: string,
  annotations: object = { [origin]: `ns/${name}`, [uidOfCluster]: `of ${name}` },
  spec = {},
) {
  const bootstrapKubeconfigSecret = { namespace: 'ns', name: `${name}-kubeconfig`, key: 'value', ...spec };
  return { metadata: { name, annotations }, spec: { bootstrapKubeconfigSecret } };
}

test('a Cluster joins by the kubeconfig of Cluster API, leaves with the Cluster, and others are left alone', async (t) => {
  const { hub, start } = startImport(['v1beta1']);
  hub.put(joins, { metadata: { name: 'mine' } });
  hub.put(joins, joinOf('gone'));
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
  hub.put(joins, joinOf('edge'));
  hub.put(joins, { metadata: { name: 'other' } });
  const started = start();
  t.after(() => started.close());
  for (let round = 0; round < 20; round += 1) {
    started.check('edge');
    await new Promise(setImmediate);
  }
  assert.deepEqual(hub.names(joins).toSorted(), ['edge', 'other']);
});

test('a Cluster in a namespace that is not for bootstraps neither joins nor lets a cluster leave, and the log says so (ATT-61)', async (t) => {
  for (const namespaces of [[], ['other'], ['']]) {
    const { hub, reported, start } = startImport(['v1beta2'], namespaces);
    hub.put(joins, joinOf('gone'));
    hub.put(clusters, { metadata: { name: 'edge', namespace: 'ns' } });
    const started = start();
    t.after(() => started.close());
    await waitFor(() => reported.length > 0);
    for (let round = 0; round < 20; round += 1) {
      for (const name of ['edge', 'gone']) started.check(name);
      await new Promise(setImmediate);
    }
    assert.deepEqual(hub.names(joins), ['gone'], `${namespaces}`);
    assert.match(JSON.stringify(reported), /ns\/edge.*none of --joins-bootstrap-namespaces/);
  }
});

test("a ClusterJoin goes with its Cluster only while it joins by that Cluster's Secret; those of persons stay as they are", async (t) => {
  const uid = (of: string): object => ({ [uidOfCluster]: `of ${of}` });
  const persons: readonly (readonly [string, ReturnType<typeof joinOf>])[] = [
    ['no annotation', joinOf('a', {})],
    ['an UID alone', joinOf('b', uid('b'))],
    ['no UID, and the Cluster is gone', joinOf('c', { [origin]: 'ns/c' })],
    ['empty', joinOf('d', { [origin]: '', ...uid('d') })],
    ['another name', joinOf('e', { [origin]: 'ns/x', ...uid('e') })],
    ['another namespace', joinOf('f', { [origin]: 'other/f', ...uid('f') })],
    ['more parts', joinOf('g', { [origin]: 'ns/x/g', ...uid('g') })],
    ['another Secret', joinOf('h', undefined, { name: 'mine' })],
    ['a Secret elsewhere', joinOf('i', undefined, { namespace: 'other' })],
    ['another key', joinOf('j', undefined, { key: 'kubeconfig' })],
    ['no spec', { ...joinOf('k'), spec: {} as never }],
  ];
  const { hub, start } = startImport(['v1beta2']);
  for (const [, each] of persons) hub.put(joins, each);
  hub.put(joins, joinOf('gone'));
  hub.put(joins, joinOf('anew'));
  hub.put(joins, joinOf('older', { [origin]: 'ns/older' }));
  for (const name of ['a', 'anew', 'older']) hub.put(clusters, { metadata: { name, namespace: 'ns' } });
  const before = persons.map(([, { metadata }]) => JSON.stringify(hub.get(joins, metadata.name)));
  const started = start();
  t.after(() => started.close());
  const isOf = (name: string): boolean =>
    hub.get(joins, name)?.['metadata'].annotations[uidOfCluster] === hub.get(clusters, name, 'ns')!['metadata'].uid;
  await waitFor(() => !hub.names(joins).includes('gone') && isOf('older'));
  started.check('anew');
  await waitFor(() => !hub.names(joins).includes('anew') || isOf('anew'));
  started.check('anew');
  await waitFor(() => hub.names(joins).includes('anew') && isOf('anew'));
  hub.remove(clusters, 'a', 'ns');
  hub.remove(clusters, 'older', 'ns');
  await waitFor(() => !hub.names(joins).includes('older'));
  const after = persons.map(([, { metadata }]) => JSON.stringify(hub.get(joins, metadata.name)));
  assert.deepEqual(after, before);
});
