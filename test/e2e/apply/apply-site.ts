// Two real kube-apiservers and twenty simulated clusters behind one gateway, and the commands about many clusters run
// on them as people run them.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

import { loadKubernetesSpec } from '../../../sim/schema/spec.ts';
import { startSimulator } from '../../../sim/server.ts';
import type { Simulator } from '../../../sim/server.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { CommandOptions, CommandResult, ControlPlane } from '../../controlplane/fixture.ts';
import { freePort, runCommand } from '../../controlplane/processes.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import { clusterAt, writeContexts } from '../kubectl/contexts.ts';
import type { TestContext } from '../kubectl/contexts.ts';
import { eventually } from '../../site/polling.ts';
import { clusterRoleBinding, userSubject } from '../../site/rbac.ts';

const carol = { token: 'carol-at-the-gateway', name: 'carol', groups: ['operators'] };
const executable = join(import.meta.dirname, '..', '..', '..', 'bin', 'portcullis.mjs');

/** The clusters, and commands on them. */
export interface ApplySite {
  readonly plane: ControlPlane;
  readonly simulators: readonly Simulator[];
  /** Names of all clusters that answer; `gone` is one more, which nothing listens for. */
  readonly names: readonly string[];
  /** An empty folder. */
  folder(): string;
  /** Runs `portcullis COMMAND … --server … --token …`. */
  run(command: string, args: readonly string[], options?: CommandOptions): Promise<CommandResult>;
  /** Starts it in a process group of its own. */
  start(command: string, args: readonly string[]): ChildProcess;
  /** Runs it on a terminal of 80 columns; what it draws is its standard output. */
  runOnTerminal(command: string, args: readonly string[]): Promise<CommandResult>;
  /** Flags for kubectl that lead to a cluster through the gateway. */
  kubectlFlags(cluster: string): readonly string[];
  stop(): Promise<void>;
}

/** Starts everything. `stop` must be called. */
export async function startApplySite(): Promise<ApplySite> {
  const plane = await startControlPlane({ members: ['m1', 'm2'], controllerManager: true, kwok: true, audit: false });
  const spec = loadKubernetesSpec();
  const simulators = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      startSimulator({ name: `sim-${String(i).padStart(2, '0')}`, spec, seed: [administrator] }),
    ),
  );
  const contexts = [
    ...plane.members.map(({ name, url, caPem, gatewayToken }) => ({
      name,
      cluster: clusterAt(url, caPem),
      user: { token: gatewayToken },
      labels: { kind: 'real' },
    })),
    ...simulators.map(({ name, url, caPem, adminToken }) => ({
      name,
      cluster: clusterAt(url, caPem),
      user: { token: adminToken },
      labels: { kind: 'simulated' },
    })),
    {
      name: 'gone',
      cluster: clusterAt(`https://127.0.0.1:${await freePort()}`, plane.member('m1').caPem),
      user: { token: 'nobody' },
      labels: { kind: 'gone' },
    },
  ] as readonly TestContext[];
  const kubeconfig = writeContexts(join(plane.dir, 'contexts.kubeconfig'), contexts);
  const gateway = await startGatewayProcess({ kubeconfigs: [kubeconfig], users: [carol] });
  const flags = ['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', carol.token];
  const folder = (): string => mkdtempSync(join(plane.dir, 'apply-'));
  const env = { XDG_STATE_HOME: folder() };
  await eventually(
    'every cluster answers but the one that is gone',
    async () => {
      const listed = await runCommand(process.execPath, [executable, 'get', 'clusters', ...flags]);
      return listed.stdout.match(/^\S+ +True /gm)?.length === contexts.length - 1;
    },
    { timeoutMs: 120_000 },
  );
  return {
    plane,
    simulators,
    names: [...plane.members, ...simulators].map(({ name }) => name),
    folder,
    run: (command, args, options) =>
      runCommand(process.execPath, [executable, command, ...args, ...flags], {
        timeoutMs: 120_000,
        ...options,
        env: { ...env, ...options?.env },
      }),
    start: (command, args) =>
      spawn(process.execPath, [executable, command, ...args, ...flags], {
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
        env: { ...process.env, ...env },
      }),
    runOnTerminal(command, args) {
      const words = [process.execPath, executable, command, ...args, ...flags].map((word) => `'${word}'`);
      return runCommand('script', ['-qec', `stty rows 24 cols 80; ${words.join(' ')}`, '/dev/null'], {
        timeoutMs: 120_000,
        env,
      });
    },
    kubectlFlags: (cluster) => [...flags, '--server', `${gateway.url}/clusters/${cluster}/proxy`],
    async stop() {
      await gateway.stop();
      await Promise.all(simulators.map((simulator) => simulator.close()));
      await plane.stop();
    },
  };
}

const administrator = clusterRoleBinding('carol-admin', 'cluster-admin', userSubject('carol'));
