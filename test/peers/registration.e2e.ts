// Clusters without an agent on a hub with OCM's own registration controllers and scheduler: what the gateway writes in
// place of a registration agent makes OCM take them for available, and gives way to an agent.
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
  startWorksSite,
  type Json,
  type WorksSite,
} from '../e2e/distribute/works-site.ts';
import { installDefinitions, startPlacement, startRegistrationHub } from './ocm.fixture.ts';

const clusterApi = '/apis/cluster.open-cluster-management.io';
const inSet = { 'cluster.open-cluster-management.io/clusterset': 'fleet' };

let site: WorksSite;
let hub: Member;
let clusters: readonly Simulator[] = [];
const children: Child[] = [];

before(async () => {
  site = await startWorksSite({ members: [], audit: false });
  ({ hub } = site);
  await installDefinitions(hub);
  clusters = await startSimulatedClusters(3, { controllers: false });
  await registerSimulated(hub, clusters, inSet);
  // OCM's hub gives an agent five of these periods.
  for (const { name } of clusters) await patch(hub, clusterPath(name), { spec: { leaseDurationSeconds: 2 } });
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
    {
      apiVersion: 'cluster.open-cluster-management.io/v1beta1',
      kind: 'Placement',
      metadata: { name: 'all', namespace: 'fleet' },
      spec: { clusterSets: ['fleet'] },
    },
  );
  children.push(await startRegistrationHub(hub), await startPlacement(hub));
});

after(async () => {
  for (const child of children) await child.stop();
  for (const simulator of clusters) await simulator.close();
  await site?.stop();
});

const clusterPath = (name: string): string => `${clusterApi}/v1/managedclusters/${name}`;
const leasePath = (name: string): string =>
  `/apis/coordination.k8s.io/v1/namespaces/${name}/leases/managed-cluster-lease`;
const available = async (name: string): Promise<Json> =>
  conditionIn((await read(hub, clusterPath(name)))?.status, 'ManagedClusterConditionAvailable');
const taintsOf = async (name: string): Promise<readonly string[]> =>
  ((await read(hub, clusterPath(name)))?.spec.taints ?? []).map(({ key }: Json) => key.replace(/^.*\//, ''));

/** The clusters that the Placement has chosen. */
async function chosenNames(): Promise<readonly string[]> {
  const found = await read(hub, `${clusterApi}/v1beta1/namespaces/fleet/placementdecisions`);
  return (found?.items ?? [])
    .flatMap(({ status }: Json) => (status?.decisions ?? []).map(({ clusterName }: Json) => clusterName))
    .toSorted();
}

async function areChosen(...names: readonly string[]): Promise<void> {
  await eventually(
    `the placement chooses ${names.join(', ')}`,
    async () => (await chosenNames()).join(' ') === names.join(' '),
  );
}

test("clusters without an agent become available on OCM's hub, and a Placement chooses them", async () => {
  // Before OCM's hub has looked at them they are chosen, too.
  for (const { name } of clusters)
    await eventually(`${name} is available`, async () => (await available(name))?.status === 'True');
  for (const { name } of clusters)
    await eventually(`${name} has no taint`, async () => (await taintsOf(name)).length === 0);
  await areChosen('sim-1', 'sim-2', 'sim-3');
  for (const { name } of clusters) {
    const { status } = (await read(hub, clusterPath(name)))!;
    assert.equal(conditionIn(status, 'ManagedClusterJoined')?.status, 'True');
    assert.equal(conditionIn(status, 'HubAcceptedManagedCluster')?.status, 'True');
    assert.match(status.version.kubernetes, /^v1\./);
  }
});

test('a cluster that is gone is not available, then unknown, and is chosen no more', async () => {
  await clusters[1]!.close();
  await eventually('it is not available', async () => (await available('sim-2'))?.status !== 'True');
  await areChosen('sim-1', 'sim-3');
  await eventually('it is unknown', async () => (await available('sim-2'))?.status === 'Unknown');
  assert.equal((await available('sim-2')).reason, 'ManagedClusterLeaseUpdateStopped');
  await eventually('it is unreachable', async () => (await taintsOf('sim-2')).includes('unreachable'));
});

test("an agent that renews the Lease has the cluster, and its death is seen by OCM's hub", async () => {
  const renewTime = new Date().toISOString().replace('Z', '001Z');
  await patch(hub, leasePath('sim-3'), { spec: { renewTime } });
  await eventually('it is unknown', async () => (await available('sim-3'))?.status === 'Unknown');
  assert.equal((await read(hub, leasePath('sim-3')))!.spec.renewTime, renewTime);
  await areChosen('sim-1');
});
