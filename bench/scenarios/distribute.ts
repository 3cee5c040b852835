// Compares programs that apply the same ConfigMaps in the same real clusters: our executor and Open Cluster
// Management's work agent, both by ManifestWorks with server-side apply, kubectl in a loop over the clusters, and
// client-go's dynamic client. In each round every object changes. Each program has a namespace of its own in every
// cluster, so that no program finds its objects applied by another.
import { mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { Member } from '../../test/controlplane/fixture.ts';
import { runCommand } from '../../test/controlplane/processes.ts';
import { startWorksSite, type WorksSite } from '../../test/e2e/distribute/works-site.ts';
import { startWorkAgent } from '../../test/peers/ocm.fixture.ts';
import { roundObjects, WorksAtHub, type WorksSize } from './works-at-hub.ts';
import { cpuSecondsBetween, readCpu, type CpuReading } from '../figures/accounting.ts';
import { buildGo } from '../go-build.ts';
import { startProcess, type BenchProcess } from '../process.ts';
import { interleave, type Bench, type Scenario } from './scenario.ts';

/** Names of the programs that are compared, which are also the names of their namespaces in the clusters. */
export const distributeContenders = {
  portcullis: 'portcullis-works',
  agent: 'ocm-work-agent',
  kubectl: 'kubectl-in-a-loop',
  dynamic: 'go-dynamic-client',
} as const;

const size = { clusters: 3, works: 5, objectsPerWork: 20 } as const;
const quickSize = { clusters: 2, works: 2, objectsPerWork: 3 } as const;
/** Concurrent requests that the dynamic client sends to each cluster: as many as our executor sends. */
const parallel = 32;
/**
 * Milliseconds after the last ManifestWork is applied during which CPU time still counts: executors then read their own
 * changes by their watches, which belongs to their cost.
 */
const echoMs = 1_500;
const text = 'portcullis '.repeat(64);

interface Outcome {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly errors: number;
  readonly firstError?: string;
}

/** One program, ready to apply the objects of a round in all clusters. `contender` is its name in the results. */
interface Applier {
  readonly contender: string;
  apply(round: string): Promise<Outcome>;
}

export const distribute: Scenario = {
  names: ['distribute'],
  onDemand: true,
  run: async (bench) => {
    const { clusters, ...each } = bench.options.quick ? quickSize : size;
    const members = Array.from({ length: clusters }, (_, index) => `m${index + 1}`);
    bench.progress(`starting a hub and ${clusters} clusters`);
    const site = await startWorksSite({
      members,
      controllerManager: false,
      audit: false,
      gatewayAudit: false,
      // The gateway gets another address of the hub than OCM's agent, since two executors for the same hub address
      // would not both run in a cluster.
      gateway: { args: ['--works-hub-url', 'https://hub.bench.example'] },
    });
    const works = await WorksAtHub.follow(site.hub);
    try {
      const appliers = await startAppliers(bench, site, works, each);
      const objects = clusters * each.works * each.objectsPerWork;
      // The first round creates the objects that later rounds change, so it is not measured.
      for (const applier of appliers) await applier.apply('first');
      await interleave(bench, appliers, bench.options.rounds, async ({ contender, apply }, round) => {
        const { seconds, cpuSeconds, ...failed } = await apply(`round-${round}`);
        const values = { objectsPerSecond: objects / seconds, cpuUs: (cpuSeconds * 1e6) / objects, seconds };
        bench.record({ scenario: 'distribute', round, contender, values, ...failed });
      });
    } finally {
      works.close();
      await site.stop();
    }
  },
};

async function startAppliers(
  bench: Bench,
  site: WorksSite,
  works: WorksAtHub,
  each: Pick<WorksSize, 'works' | 'objectsPerWork'>,
): Promise<readonly Applier[]> {
  const { hub, members, gateway, plane } = site;
  const sizeFor = (namespace: string): WorksSize => ({ ...each, namespace, text });
  for (const member of members)
    await member.apply(
      ...Object.values(distributeContenders).map((name) => ({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name },
      })),
    );
  // For each real cluster the agent gets another cluster name, and so another namespace of the hub: it must not execute
  // the ManifestWorks that our executor executes.
  const agents = members.map((member): Member => ({ ...member, name: `agent-${member.name}` }));
  await hub.apply(...agents.map(({ name }) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })));
  const agentPids: number[] = [];
  for (const agent of agents) {
    const { pid } = await startWorkAgent(hub, agent, ['--status-sync-interval', '10s']);
    agentPids.push(pid);
  }
  const byWorks = (contender: string, clusters: readonly string[], pids: readonly number[]): Applier => ({
    contender,
    apply: (round) => measured(pids, () => works.push(clusters, sizeFor(contender), round)),
  });
  return [
    byWorks(distributeContenders.portcullis, names(members), [gateway.pid]),
    byWorks(distributeContenders.agent, names(agents), agentPids),
    await startKubectl(bench, plane.binaries['kubectl']!, members, sizeFor(distributeContenders.kubectl)),
    await startDynamic(bench, members, sizeFor(distributeContenders.dynamic)),
  ];
}

const names = (members: readonly Member[]): readonly string[] => members.map(({ name }) => name);

/** Calls `run`, and adds up the CPU time of the processes from its start until 1.5 s after its end. */
async function measured(pids: readonly number[], run: () => Promise<void>): Promise<Outcome> {
  const read = (): readonly CpuReading[] => pids.map(readCpu);
  const before = read();
  const startMs = performance.now();
  await run();
  const seconds = (performance.now() - startMs) / 1000;
  await delay(echoMs);
  const after = read();
  const cpuSeconds = before.reduce((sum, reading, index) => sum + cpuSecondsBetween(reading, after[index]!), 0);
  return { seconds, cpuSeconds, errors: 0 };
}

/** Runs `kubectl apply --server-side` with one file of objects, for one cluster after the other. */
async function startKubectl(
  bench: Bench,
  kubectl: string,
  members: readonly Member[],
  each: WorksSize,
): Promise<Applier> {
  const home = await mkdtemp(path.join(bench.site.dir, 'kubectl-'));
  const file = path.join(home, 'objects.json');
  const loop = members.map(
    ({ adminKubeconfig }) =>
      `${kubectl} --kubeconfig ${adminKubeconfig} apply --server-side --field-manager bench-kubectl -f ${file} >/dev/null`,
  );
  return {
    contender: distributeContenders.kubectl,
    async apply(round) {
      const items = roundObjects(each.works * each.objectsPerWork, each, round);
      await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
      const startMs = performance.now();
      // The shell's built-in `times` prints the CPU time of its child processes, here of kubectl.
      const script = `${loop.join(' && ')} && times`;
      const env = { HOME: home, PATH: process.env['PATH'] ?? '' };
      const { code, stdout, stderr } = await runCommand('sh', ['-c', script], { env, timeoutMs: 600_000 });
      const seconds = (performance.now() - startMs) / 1000;
      if (code !== 0) return { seconds, cpuSeconds: 0, errors: 1, firstError: stderr };
      return { seconds, cpuSeconds: childSeconds(stdout), errors: 0 };
    },
  };
}

/**
 * User and system time of the shell's child processes in seconds, from the second line of `times`, such as `0m1.230000s
 * 0m0.120000s`.
 */
function childSeconds(times: string): number {
  const found = [...(times.trim().split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)];
  if (found.length !== 2) throw new Error(`not the output of times: ${times}`);
  return found.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}

async function startDynamic(bench: Bench, members: readonly Member[], each: WorksSize): Promise<Applier> {
  const binary = await buildGo('rivals/dynamic', bench.progress);
  const dir = await mkdtemp(path.join(bench.site.dir, 'dynamic-'));
  const file = path.join(dir, 'settings.json');
  const kubeconfigs = members.map(({ adminKubeconfig }) => adminKubeconfig);
  const objects = each.works * each.objectsPerWork;
  await writeFile(file, JSON.stringify({ kubeconfigs, namespace: each.namespace, objects, text, parallel }));
  const child = await startProcess(
    { name: 'go-dynamic-client', command: binary, args: [file], firstLine: true },
    bench.site.live,
  );
  return { contender: distributeContenders.dynamic, apply: (round) => answerOf(child, round) };
}

/** Lets the dynamic client apply the objects of a round, and waits for the line with its result. */
async function answerOf(child: BenchProcess, round: string): Promise<Outcome> {
  // A new answer is noticed because the last line differs: no two answers have the same times. Lines cannot be counted,
  // because only the end of the output is kept.
  const last = (): string | undefined =>
    child
      .words()
      .match(/^\{.*\}$/gm)
      ?.at(-1);
  const before = last();
  child.write(round);
  while (last() === before) {
    if (!child.running()) throw new Error(`the dynamic client ended: ${child.words()}`);
    await delay(5);
  }
  return JSON.parse(last()!) as Outcome;
}
