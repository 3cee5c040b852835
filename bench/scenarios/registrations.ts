// Measures what registered clusters cost to which no requests go: the same load on a gateway whose hub has 2 clusters
// and on one whose hub has 2,000. Easy to get wrong: both gateways must spread their requests over the same number of
// connections; otherwise connection pooling is measured.
import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { SimulatedHubAddress, SimulatedHubSettings } from '../../test/hub/simulated-hub.ts';
import { cpuSecondsBetween, readCpu, residentBytes, restingCores } from '../figures/accounting.ts';
import { openLoad } from '../load.ts';
import { configMapPath } from '../member.ts';
import { quickClusters } from '../options.ts';
import { startProcess, type BenchProcess } from '../process.ts';
import { userGroups } from '../names.ts';
import { userHeaders, type BenchUser } from '../site.ts';
import { freePort, startGateway, type RunningTarget } from '../targets/target.ts';
import { errorsOf, interleave, type Bench, type Scenario } from './scenario.ts';

/** Names of the two measured gateways: one whose hub has 2 clusters, one whose hub has 2,000. */
export const registrationLanes = { few: 'portcullis-2-clusters', many: 'portcullis-2000-clusters' } as const;
const counts = { [registrationLanes.few]: 2, [registrationLanes.many]: 2000 } as const;
const namespace = 'clusters';
const connections = 16;
const sampleSeconds = 3;
const quickFactor = 0.15;
const idleSeconds = 2;
const hubAnswerMs = 10_000;
const root = path.join(import.meta.dirname, '..', '..');

/** A gateway and its simulated hub, as the load of a scenario needs them. */
export interface Fleet {
  readonly contender: string;
  readonly clusters: number;
  readonly hub: BenchProcess;
  readonly gateway: RunningTarget;
  readonly startSeconds: number;
}

/**
 * The scenario `registrations`: both gateways run at the same time, so that their samples of a round can be compared as
 * pairs. Users and permissions come from the hub, by TokenReview and SubjectAccessReview.
 */
export const registrations: Scenario = {
  names: ['registrations'],
  run: async (bench) => {
    const fleets: Fleet[] = [];
    try {
      for (const contender of Object.values(registrationLanes))
        fleets.push(await startFleet(bench, contender, counts[contender], [bench.site.user]));
      for (const fleet of fleets) await measure(bench, fleet, bench.options.quick ? 0.3 : 20);
      await interleave(bench, fleets, bench.options.rounds, async (fleet, round) => {
        const seconds = (bench.options.seconds ?? sampleSeconds) * (bench.options.quick ? quickFactor : 1);
        const { values, ...failed } = await measure(bench, fleet, seconds);
        bench.record({
          scenario: 'registrations',
          round,
          contender: fleet.contender,
          values: { ...values, startSeconds: fleet.startSeconds },
          ...failed,
        });
      });
    } finally {
      for (const { gateway, hub } of fleets) {
        await gateway.stop();
        await hub.stop();
      }
    }
  },
};

/**
 * Starts a simulated hub with the given numbers of clusters and users, and a gateway for this hub. A quick run has at
 * most 50 clusters.
 */
export async function startFleet(
  bench: Bench,
  contender: string,
  wanted: number,
  people: readonly BenchUser[],
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Fleet> {
  const { site } = bench;
  const clusters = bench.options.quick ? Math.min(wanted, quickClusters) : wanted;
  const dir = await mkdtemp(path.join(site.dir, 'registrations-'));
  const hubSettings: SimulatedHubSettings = {
    clusters,
    namespace,
    member: {
      url: `https://${site.member.host}:${site.member.port}`,
      caPem: readFileSync(site.member.caFile, 'utf8'),
      token: site.member.token,
    },
    people: people.map(({ name, token }) => ({ name, token, groups: userGroups })),
  };
  const settingsFile = path.join(dir, 'hub.json');
  await writeFile(settingsFile, JSON.stringify(hubSettings), { mode: 0o600 });
  const configFile = path.join(dir, 'config.json');
  await writeFile(configFile, JSON.stringify(settings));
  bench.progress(`starting a simulated hub with ${clusters} clusters`);
  const hub = await startProcess(
    {
      name: 'simulated hub',
      command: process.execPath,
      args: [path.join(root, 'test', 'hub', 'simulated-hub.ts'), settingsFile],
      firstLine: true,
    },
    site.live,
  );
  const kubeconfigFile = path.join(dir, 'hub.kubeconfig');
  await writeFile(kubeconfigFile, hubKubeconfig(JSON.parse(hub.firstLine) as SimulatedHubAddress), { mode: 0o600 });
  const startedAtMs = Date.now();
  // The gateway counts as started when a request to its last cluster succeeds, because it then knows all clusters.
  const gateway = await startGateway(
    site,
    ...(await gatewayCommand(bench, kubeconfigFile, dir, configFile)),
    `${prefix(clusters - 1)}${configMapPath}`,
  );
  return { contender, clusters, hub, gateway, startSeconds: (Date.now() - startedAtMs) / 1000 };
}

/**
 * Returns a free port and the command of a gateway that listens on it and uses a hub.
 * @param further flags in addition to those that every such gateway gets
 */
export async function gatewayCommand(
  bench: Bench,
  hubKubeconfigFile: string,
  dir: string,
  configFile: string,
  further: Readonly<Record<string, string>> = { sources: 'cluster-gateway', 'secret-namespace': namespace },
) {
  const port = await freePort();
  const opsPort = await freePort();
  const flags = {
    config: configFile,
    listen: `127.0.0.1:${port}`,
    'ops-listen': `127.0.0.1:${opsPort}`,
    'data-dir': dir,
    'hub-kubeconfig': hubKubeconfigFile,
    'allow-member-addresses': '127.0.0.0/8',
    'tls-cert-file': bench.site.certFile,
    'tls-private-key-file': bench.site.keyFile,
    ...further,
  };
  const args = [
    path.join(root, 'bin', 'portcullis.mjs'),
    'serve',
    ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
  ];
  return [port, { name: 'portcullis', command: process.execPath, args }] as const;
}

/** The kubeconfig with which a gateway reaches its simulated hub. */
export function hubKubeconfig({ url, caPem, token }: SimulatedHubAddress): string {
  const authority = Buffer.from(caPem).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'hub',
    clusters: [{ name: 'hub', cluster: { server: url, 'certificate-authority-data': authority } }],
    users: [{ name: 'gateway', user: { token } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'gateway' } }],
  });
}

/**
 * Asks the simulated hub how many reviews it has answered since it started.
 * @throws Error (rejects) when the hub does not answer
 */
export async function reviewsOf({ hub }: Pick<Fleet, 'hub'>): Promise<number> {
  const reported = (): readonly RegExpMatchArray[] => [...hub.words().matchAll(/^reviews (\d+)$/gm)];
  const before = reported().length;
  hub.write('reviews');
  for (const endMs = Date.now() + hubAnswerMs; Date.now() < endMs; await delay(5)) {
    if (reported().length > before) return Number(reported().at(-1)?.[1]);
  }
  throw new Error('the simulated hub does not tell its reviews');
}

/** Path prefix of the n-th cluster, counted from 0. */
export function prefix(index: number): string {
  return `/clusters/cluster-${index}/proxy`;
}

/**
 * Sends the load and measures rate, latency and CPU time. Each connection sends its requests to another cluster, as
 * long as there are enough clusters.
 */
async function measure(bench: Bench, fleet: Fleet, seconds: number) {
  const { gateway, clusters } = fleet;
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: gateway.address,
    caFile: gateway.caFile,
    protocol: 'h1',
    seconds,
    warmupSeconds: 0.3,
    groups: Array.from({ length: connections }, (_, index) => ({
      name: `connection ${index}`,
      connections: 1,
      method: 'GET',
      path: `${prefix((index * Math.max(1, Math.floor(clusters / connections))) % clusters)}${configMapPath}`,
      headers: userHeaders(bench.site),
    })),
  });
  try {
    const pid = gateway.pid as number;
    // The cost of probes, which run without requests too, is measured first and subtracted below.
    const idleCores = await restingCores(pid, idleSeconds * (bench.options.quick ? quickFactor : 1));
    const before = readCpu(pid);
    const result = await load.go();
    const spent = cpuSecondsBetween(before, readCpu(pid));
    const requests = result.groups.reduce((sum, group) => sum + group.requests, 0);
    const values = {
      requestsPerSecond: result.groups.reduce((sum, group) => sum + group.requestsPerSecond, 0),
      p50Ms: Math.max(...result.groups.map((group) => group.p50Ms)),
      p99Ms: Math.max(...result.groups.map((group) => group.p99Ms)),
      cpuUs: ((spent - idleCores * result.seconds) * 1e6) / requests,
      cpuUsWithProbes: (spent * 1e6) / requests,
      idleCores,
      rssMb: residentBytes(pid) / 1e6,
      loadCpuShare: result.cpuShare,
    };
    return { values, ...errorsOf(result) };
  } finally {
    await load.close();
  }
}
