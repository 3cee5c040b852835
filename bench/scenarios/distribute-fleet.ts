// Measures the executor of ManifestWorks with simulated clusters: how long the works of 19 clusters take while a
// twentieth cluster is slow, and what 1,000 clusters cost when all their works are applied already. Hub and clusters
// share the machine with the gateway, so only ratios of times are compared, not the times themselves.
import { mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type {
  FleetAddress,
  FleetCount,
  FleetOrder,
  FleetRound,
  FleetSettings,
} from '../../test/hub/simulated-works.ts';
import { residentBytes, restingCores } from '../figures/accounting.ts';
import { startProcess, type BenchProcess } from '../process.ts';
import { gatewayCommand, hubKubeconfig } from './registrations.ts';
import { interleave, type Bench, type Scenario } from './scenario.ts';

/** Names of the two measured cases: all clusters answer at once, and one of them answers each request 5 s late. */
export const slowLanes = { calm: 'portcullis-20-clusters', slow: 'portcullis-one-of-20-at-5-s' } as const;
/** Names of two gateways for the same hub: one executes the ManifestWorks of its clusters, the other does not. */
export const restContenders = { executing: 'portcullis-executing', idle: 'portcullis-not-executing' } as const;

const slowMs = 5_000;
const fleets = {
  slow: { clusters: 20, worksPerCluster: 10, objectsPerWork: 20 },
  rest: { clusters: 1_000, worksPerCluster: 20, objectsPerWork: 2 },
} as const;
const quickFleets = {
  slow: { clusters: 4, worksPerCluster: 2, objectsPerWork: 3 },
  rest: { clusters: 20, worksPerCluster: 5, objectsPerWork: 2 },
} as const;
/** Seconds of one sample without changes: two intervals of the gateway's probes, which run every 10 s. */
const restSeconds = 20;
const answerMs = 600_000;
const root = path.join(import.meta.dirname, '..', '..');

/** The scenarios `distribute-slow` and `distribute-rest`, which run only when they are named. */
export const distributeFleet: Scenario = {
  names: ['distribute-slow', 'distribute-rest'],
  onDemand: true,
  run: async (bench, chosen) => {
    const sizes = bench.options.quick ? quickFleets : fleets;
    if (chosen.includes('distribute-slow')) await withFleet(bench, sizes.slow, measureSlow);
    if (chosen.includes('distribute-rest')) await withFleet(bench, sizes.rest, measureRest);
  },
};

interface Fleet {
  readonly settings: FleetSettings;
  readonly dir: string;
  readonly kubeconfig: string;
  obey(order: FleetOrder & { readonly do: 'round' }): Promise<FleetRound>;
  obey(order: FleetOrder & { readonly do: 'count' }): Promise<FleetCount>;
}

async function withFleet(
  bench: Bench,
  settings: FleetSettings,
  run: (bench: Bench, fleet: Fleet) => Promise<void>,
): Promise<void> {
  const dir = await mkdtemp(path.join(bench.site.dir, 'fleet-'));
  const settingsFile = path.join(dir, 'fleet.json');
  await writeFile(settingsFile, JSON.stringify(settings));
  bench.progress(`starting a simulated hub and ${settings.clusters} simulated clusters`);
  const args = ['--max-old-space-size=16384', path.join(root, 'test', 'hub', 'simulated-works.ts'), settingsFile];
  const child = await startProcess(
    { name: 'fleet', command: process.execPath, args, firstLine: true },
    bench.site.live,
  );
  try {
    const kubeconfig = path.join(dir, 'hub.kubeconfig');
    await writeFile(kubeconfig, hubKubeconfig(JSON.parse(child.firstLine) as FleetAddress), { mode: 0o600 });
    let orders = 0;
    const obey = async (order: FleetOrder): Promise<never> => (await answerTo(child, (orders += 1), order)) as never;
    await run(bench, { settings, dir, kubeconfig, obey });
  } finally {
    await child.stop();
  }
}

/**
 * Writes an order to the process of simulated clusters, and waits for the line with its answer.
 * @throws Error (rejects) when the process ends, or does not answer within 10 minutes
 */
async function answerTo(child: BenchProcess, id: number, order: FleetOrder): Promise<FleetRound | FleetCount> {
  child.write(JSON.stringify({ id, order }));
  const begins = `{"id":${id},`;
  for (const endMs = Date.now() + answerMs; Date.now() < endMs; await delay(10)) {
    if (!child.running()) throw new Error(`the fleet ended: ${child.words().trim()}`);
    const said = child
      .words()
      .split('\n')
      .slice(0, -1)
      .findLast((line) => line.startsWith(begins));
    if (said !== undefined) return (JSON.parse(said) as { readonly answer: FleetRound | FleetCount }).answer;
  }
  throw new Error(`the fleet does not answer: ${child.words().trim()}`);
}

/** The works name no executor, and the simulated hub has no policies. */
const executing = {
  executeWorks: true,
  worksDefaultExecutor: 'open-cluster-management-agent/klusterlet-work-sa',
  worksAcceptUnstamped: true,
};

async function startExecutor(bench: Bench, { dir, kubeconfig }: Fleet, executes: boolean): Promise<BenchProcess> {
  const own = await mkdtemp(path.join(dir, 'gateway-'));
  const configFile = path.join(own, 'config.json');
  await writeFile(configFile, JSON.stringify(executes ? executing : { executeWorks: false }));
  const flags = { sources: 'ocm,cluster-gateway', ...(executes && { 'works-lease': 'portcullis/works' }) };
  const [, command] = await gatewayCommand(bench, kubeconfig, own, configFile, flags);
  return await startProcess({ ...command, firstLine: true }, bench.site.live);
}

async function areApplied({ settings, obey }: Fleet, gateway: BenchProcess): Promise<void> {
  const all = settings.clusters * settings.worksPerCluster;
  for (const endMs = Date.now() + answerMs; Date.now() < endMs; await delay(200)) {
    if (!gateway.running()) throw new Error(`the gateway ended: ${gateway.words().trim()}`);
    if ((await obey({ do: 'count' })).applied === all) return;
  }
  throw new Error(`the works are not applied: ${gateway.words().trim()}`);
}

async function measureSlow(bench: Bench, fleet: Fleet): Promise<void> {
  const gateway = await startExecutor(bench, fleet, true);
  try {
    await areApplied(fleet, gateway);
    await fleet.obey({ do: 'round', slowMs: 0 });
    await interleave(bench, Object.values(slowLanes), bench.options.rounds, async (contender, round) => {
      const values = await fleet.obey({ do: 'round', slowMs: contender === slowLanes.slow ? slowMs : 0 });
      bench.record({ scenario: 'distribute-slow', round, contender, values: { ...values }, errors: 0 });
    });
  } finally {
    await gateway.stop();
  }
}

async function measureRest(bench: Bench, fleet: Fleet): Promise<void> {
  const gateways = new Map<string, BenchProcess>();
  try {
    for (const contender of Object.values(restContenders))
      gateways.set(contender, await startExecutor(bench, fleet, contender === restContenders.executing));
    await areApplied(fleet, gateways.get(restContenders.executing)!);
    // Waits until the gateway has finished what follows from the last status, and has probed each cluster.
    await delay(bench.options.quick ? 2_000 : 30_000);
    for (let round = 1; round <= bench.options.rounds; round += 1) {
      bench.progress(`round ${round} of ${bench.options.rounds}`);
      const before = await fleet.obey({ do: 'count' });
      const seconds = bench.options.quick ? 1 : restSeconds;
      const cores = await Promise.all([...gateways.values()].map(({ pid }) => restingCores(pid, seconds)));
      const after = await fleet.obey({ do: 'count' });
      for (const [index, [contender, { pid }]] of [...gateways].entries()) {
        const values = {
          idleCores: cores[index]!,
          rssMb: residentBytes(pid) / 1e6,
          ...(contender === restContenders.executing && {
            requests: after.requests - before.requests,
            watches: after.watches,
          }),
        };
        bench.record({ scenario: 'distribute-rest', round, contender, values, errors: 0 });
      }
    }
  } finally {
    for (const gateway of gateways.values()) await gateway.stop();
  }
}
