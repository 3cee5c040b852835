// Components of Open Cluster Management beside a hub: its agent that executes ManifestWorks, the controllers of
// ManifestWorks and of registration on the hub, and the scheduler of Placements. They are built from OCM's Go module at
// the first use.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { ensureBinaries } from '../controlplane/build.ts';
import type { Member } from '../controlplane/fixture.ts';
import { freePort, startChild, type Child } from '../controlplane/processes.ts';
import { eventually } from '../site/polling.ts';

/** Common to all: no Lease to wait for, since nobody else runs them, and a port of their own. */
async function startComponent(program: string, dir: string, kubeconfig: string, args: readonly string[]) {
  const binaries = await ensureBinaries([program]);
  return startChild({
    name: program,
    command: binaries[program]!,
    args: [
      ...['--kubeconfig', kubeconfig, '--namespace', 'default', '--disable-leader-election'],
      ...['--listen', `127.0.0.1:${await freePort()}`, ...args],
    ],
    cwd: dir,
    logFile: path.join(dir, `${program}.log`),
  });
}

/** The agent of the member, administrator of both sides: it executes the works in the hub's namespace of its name. */
export async function startWorkAgent(hub: Member, member: Member, args: readonly string[] = []): Promise<Child> {
  return await startComponent('ocm-work-agent', member.dir, member.adminKubeconfig, [
    ...['--spoke-cluster-name', member.name, '--workload-source-config', hub.adminKubeconfig],
    ...['--status-sync-interval', '1s', ...args],
  ]);
}

/** The controllers that make ManifestWorks from ManifestWorkReplicaSets. */
export async function startWorkHub(hub: Member): Promise<Child> {
  return await startComponent('ocm-work-hub', hub.dir, hub.adminKubeconfig, [
    '--feature-gates=ManifestWorkReplicaSet=true,CleanUpCompletedManifestWork=true',
  ]);
}

/** The controllers that accept clusters, watch the Leases of their agents, and taint those whose agents are silent. */
export async function startRegistrationHub(hub: Member): Promise<Child> {
  return await startComponent('ocm-registration-hub', hub.dir, hub.adminKubeconfig, []);
}

/** The scheduler that makes PlacementDecisions from Placements. */
export async function startPlacement(hub: Member): Promise<Child> {
  return await startComponent('ocm-placement', hub.dir, hub.adminKubeconfig, []);
}

const definitionFiles = [
  'cluster/v1/0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml',
  'cluster/v1beta2/0000_00_clusters.open-cluster-management.io_managedclustersets.crd.yaml',
  'cluster/v1beta2/0000_01_clusters.open-cluster-management.io_managedclustersetbindings.crd.yaml',
  'cluster/v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml',
  'cluster/v1beta1/0000_03_clusters.open-cluster-management.io_placementdecisions.crd.yaml',
  'cluster/v1alpha1/0000_05_clusters.open-cluster-management.io_addonplacementscores.crd.yaml',
  'work/v1alpha1/0000_00_work.open-cluster-management.io_manifestworkreplicasets.crd.yaml',
];

/** Installs the definitions of placements and sets of works on a hub, from the same release as the components. */
export async function installDefinitions(hub: Member): Promise<void> {
  const folder = path.join(import.meta.dirname, '../controlplane/clients/ocm');
  const asked = ['mod', 'download', '-json', 'open-cluster-management.io/api'];
  const { Dir } = JSON.parse(execFileSync('go', asked, { cwd: folder, encoding: 'utf8' })) as { Dir: string };
  const definitions = definitionFiles.map((file) => parse(readFileSync(path.join(Dir, file), 'utf8')));
  await hub.apply(...definitions);
  for (const { spec } of definitions)
    for (const { name } of spec.versions.filter(({ served }: { served: boolean }) => served)) {
      const collection = `/apis/${spec.group}/${name}/${spec.names.plural}`;
      const isServed = async (): Promise<boolean> => (await hub.request('GET', collection)).status === 200;
      await eventually(`the hub serves ${collection}`, isServed, { timeoutMs: 60_000 });
    }
}
