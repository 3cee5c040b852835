// Components of Open Cluster Management beside a hub: its agent that executes ManifestWorks, the controllers of
// ManifestWorks on the hub, and the scheduler of Placements. They are built from OCM's Go module at the first use.
import path from 'node:path';
import { ensureBinaries } from '../controlplane/build.ts';
import type { Member } from '../controlplane/fixture.ts';
import { freePort, startChild, type Child } from '../controlplane/processes.ts';

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

/** The agent of the member, as administrator of both sides: it executes the works of the hub's namespace of its name. */
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

/** The scheduler that makes PlacementDecisions from Placements. */
export async function startPlacement(hub: Member): Promise<Child> {
  return await startComponent('ocm-placement', hub.dir, hub.adminKubeconfig, []);
}
