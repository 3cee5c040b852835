// Placements and sets of works with OCM's own scheduler and hub controllers: what these make, the gateway executes in
// clusters without an agent, and what it tells of the works drives the rollout.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Simulator } from '../../sim/server.ts';
import type { Member } from '../controlplane/fixture.ts';
import type { Child } from '../controlplane/processes.ts';
import { registerSimulated, startSimulatedClusters } from '../e2e/distribute/simulated-clusters.ts';
import {
  conditionIn,
  eventually,
  patch,
  read,
  remove,
  startWorksSite,
  type Json,
  type WorksSite,
} from '../e2e/distribute/works-site.ts';
import { installDefinitions, startPlacement, startWorkHub } from './ocm.fixture.ts';

const clusterApi = '/apis/cluster.open-cluster-management.io';
const workApi = '/apis/work.open-cluster-management.io';
const setsPath = `${workApi}/v1alpha1/namespaces/fleet/manifestworkreplicasets`;
const inSet = { 'cluster.open-cluster-management.io/clusterset': 'fleet' };

let site: WorksSite;
let hub: Member;
let clusters: readonly Simulator[] = [];
const children: Child[] = [];

before(async () => {
  site = await startWorksSite({ members: [], audit: false });
  ({ hub } = site);
  await installDefinitions(hub);
  // Without controllers nothing becomes ready by itself: the tests say when.
  clusters = await startSimulatedClusters(6, { controllers: false });
  await registerSimulated(hub, clusters, inSet);
  await hub.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fleet' } },
    {
      apiVersion: 'cluster.open-cluster-management.io/v1beta2',
      kind: 'ManagedClusterSet',
      metadata: { name: 'fleet' },
      spec: { clusterSelector: { selectorType: 'ExclusiveClusterSetLabel' } },
    },
    {
      apiVersion: 'cluster.open-cluster-management.io/v1beta2',
      kind: 'ManagedClusterSetBinding',
      metadata: { name: 'fleet', namespace: 'fleet' },
      spec: { clusterSet: 'fleet' },
    },
  );
  // The controller that confirms bindings is part of registration, which is not run here.
  await status(`${clusterApi}/v1beta2/namespaces/fleet/managedclustersetbindings/fleet`, {
    conditions: [{ type: 'Bound', status: 'True', reason: 'ClusterSetBound', message: '', lastTransitionTime: now() }],
  });
  children.push(await startPlacement(hub), await startWorkHub(hub));
});

after(async () => {
  for (const child of children) await child.stop();
  for (const simulator of clusters) await simulator.close();
  await site?.stop();
});

const now = (): string => new Date().toISOString().replace(/\.\d+/, '');

async function status(path: string, body: object): Promise<void> {
  const type = { 'content-type': 'application/merge-patch+json' };
  const answer = await hub.request('PATCH', `${path}/status`, { status: body }, type);
  assert.equal(answer.status, 200, answer.body);
}

async function makePlacement(name: string, spec: object = {}): Promise<void> {
  await hub.apply({
    apiVersion: 'cluster.open-cluster-management.io/v1beta1',
    kind: 'Placement',
    metadata: { name, namespace: 'fleet' },
    spec: { clusterSets: ['fleet'], ...spec },
  });
}

function deployment(name: string): object {
  const labels = { app: name };
  const containers = [{ name: 'c', image: 'busybox' }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'ns1' },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  };
}

/** A set of works of its own name, with one Deployment of that name. */
async function makeSet(name: string, placement: string, rollout?: object, spec: object = {}): Promise<void> {
  await hub.apply({
    apiVersion: 'work.open-cluster-management.io/v1alpha1',
    kind: 'ManifestWorkReplicaSet',
    metadata: { name, namespace: 'fleet' },
    spec: {
      manifestWorkTemplate: { workload: { manifests: [deployment(name)] } },
      placementRefs: [{ name: placement, ...(rollout && { rolloutStrategy: rollout }) }],
      ...spec,
    },
  });
}

/** The works of a set that are not being deleted, by cluster. */
async function worksOf(set: string): Promise<readonly Json[]> {
  const selector = encodeURIComponent(`work.open-cluster-management.io/manifestworkreplicaset=fleet.${set}`);
  const { items } = await read(hub, `${workApi}/v1/manifestworks?labelSelector=${selector}`);
  return items.filter(({ metadata }: Json) => metadata.deletionTimestamp === undefined);
}

const clustersOf = async (set: string): Promise<readonly string[]> =>
  (await worksOf(set)).map(({ metadata }) => metadata.namespace).toSorted();
const setCondition = async (set: string, type: string): Promise<Json> =>
  conditionIn((await read(hub, `${setsPath}/${set}`))?.status, type);
const clusterNamed = (name: string): Simulator => clusters.find((each) => each.name === name)!;
const deploymentIn = (cluster: string, name: string): Json =>
  clusterNamed(cluster).store.get('Deployment', 'ns1', name);

/** Waits until exactly so many clusters have the Deployment of the set; returns their names. */
async function reaches(set: string, count: number): Promise<readonly string[]> {
  return await eventually(`${set} is in ${count} clusters`, async () => {
    const found = await clustersOf(set);
    assert.ok(found.length <= count, `${set} is in ${found.join(', ')}`);
    const isThere = found.every((name) => deploymentIn(name, set) !== undefined);
    return found.length === count && isThere ? found : undefined;
  });
}

/** The controllers of a cluster say what becomes of the Deployment. */
function becomes(cluster: string, name: string, state: 'ready' | 'failed'): void {
  clusterNamed(cluster).store.update('Deployment', 'ns1', name, (object: Json) => {
    const observedGeneration = object.metadata.generation;
    const failed = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'too slow' };
    object.status =
      state === 'ready'
        ? { observedGeneration, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 }
        : { observedGeneration, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1, conditions: [failed] };
  });
}

const progressive = (more: object): object => ({ type: 'Progressive', progressive: more });

test('a progressive rollout goes on with the next clusters once the objects are ready in those before', async () => {
  await makePlacement('all');
  await makeSet('steps', 'all', progressive({ maxConcurrency: 2 }));
  const done = new Set<string>();
  for (const count of [2, 4, 6]) {
    const found = await reaches('steps', count);
    assert.equal((await setCondition('steps', 'PlacementRolledOut'))?.status, 'False');
    for (const name of found.filter((each) => !done.has(each))) {
      done.add(name);
      becomes(name, 'steps', 'ready');
    }
  }
  const rolledOut = async (): Promise<Json> => {
    const found = await setCondition('steps', 'PlacementRolledOut');
    return found?.status === 'True' && found;
  };
  assert.equal((await eventually('it is rolled out', rolledOut)).reason, 'Complete');
  await eventually('the set counts what the gateway told', async () => {
    const { summary } = (await read(hub, `${setsPath}/steps`)).status;
    return summary.total === 6 && summary.applied === 6 && summary.available === 6 && (summary.progressing ?? 0) === 0;
  });
});

test('a rollout ends when more clusters fail than may', async () => {
  await makeSet('fails', 'all', progressive({ maxConcurrency: 2, maxFailures: 1 }));
  const found = await reaches('fails', 2);
  for (const name of found) becomes(name, 'fails', 'failed');
  await eventually('the set counts the failures', async () => {
    const { summary } = (await read(hub, `${setsPath}/fails`)).status;
    return summary.degraded === 2;
  });
  assert.deepEqual(await clustersOf('fails'), found);
  becomes(found[0]!, 'fails', 'ready');
  await reaches('fails', 3);
});

test('a cluster that the placement chooses later gets the objects, and one that it leaves loses them', async () => {
  const label = { requiredClusterSelector: { labelSelector: { matchLabels: { tier: 'gold' } } } };
  await makePlacement('gold', { predicates: [label] });
  const mark = (name: string, tier: string | null): Promise<Json> =>
    patch(hub, `${clusterApi}/v1/managedclusters/${name}`, { metadata: { labels: { tier } } });
  await mark('sim-1', 'gold');
  await makeSet('moves', 'gold');
  assert.deepEqual(await reaches('moves', 1), ['sim-1']);
  await mark('sim-2', 'gold');
  await reaches('moves', 2);
  await mark('sim-1', null);
  assert.deepEqual(
    await eventually('it left the first cluster', async () => {
      const found = await clustersOf('moves');
      return deploymentIn('sim-1', 'moves') === undefined && found;
    }),
    ['sim-2'],
  );
  await remove(hub, `${clusterApi}/v1beta1/namespaces/fleet/placements/gold`);
  await eventually('the set misses its placement', async () => {
    const found = await setCondition('moves', 'PlacementVerified');
    return found.reason === 'PlacementDecisionNotFound';
  });
  assert.notEqual(deploymentIn('sim-2', 'moves'), undefined, 'a missing placement takes nothing away');
});

test('a taint takes the objects out of a cluster, unless the placement tolerates it', async () => {
  await makePlacement('strict');
  await makePlacement('patient', { tolerations: [{ key: 'broken', operator: 'Exists' }] });
  await makeSet('strict', 'strict');
  await makeSet('patient', 'patient');
  await reaches('strict', 6);
  await reaches('patient', 6);
  const taint = [{ key: 'broken', effect: 'NoSelect' }];
  await patch(hub, `${clusterApi}/v1/managedclusters/sim-6`, { spec: { taints: taint } });
  await eventually('it left the cluster', () => deploymentIn('sim-6', 'strict') === undefined);
  assert.deepEqual(await reaches('patient', 6), clusters.map(({ name }) => name).toSorted());
  await patch(hub, `${clusterApi}/v1/managedclusters/sim-6`, { spec: { taints: [] } });
  await reaches('strict', 6);
});

test('a set that is deleted in the foreground stays until its works and their objects are gone', async () => {
  await makeSet('gone', 'all', undefined, { cascadeDeletionPolicy: 'Foreground' });
  await reaches('gone', 6);
  for (const { store } of clusters)
    store.update('Deployment', 'ns1', 'gone', (object: Json) => (object.metadata.finalizers = ['example.com/wait']));
  await remove(hub, `${setsPath}/gone`);
  await eventually('its objects are being deleted', () =>
    clusters.every(({ name }) => deploymentIn(name, 'gone').metadata.deletionTimestamp !== undefined),
  );
  assert.notEqual(await read(hub, `${setsPath}/gone`), undefined);
  for (const { store } of clusters) {
    store.update('Deployment', 'ns1', 'gone', (object: Json) => (object.metadata.finalizers = []));
    store.remove('Deployment', 'ns1', 'gone', { gracePeriodSeconds: 0 });
  }
  await eventually('it is gone', async () => (await read(hub, `${setsPath}/gone`)) === undefined);
  assert.ok(clusters.every(({ name }) => deploymentIn(name, 'gone') === undefined));
});
