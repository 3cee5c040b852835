// Compares the CPU time that a request through a hub costs Portcullis with the time that it costs the hub's aggregation
// layer, which relays the request. Both are measured during the same requests. The CPU time that each program uses
// without requests (for watches, probes, leases) is subtracted, because it would be most of a short sample.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { clusterPath, startHubSite, type HubSite } from '../../test/hub/site.ts';
import { cpuSecondsBetween, readCpu, restingCores } from '../figures/accounting.ts';
import { openLoad } from '../load.ts';
import { errorsOf, interleave, type Bench, type Scenario } from './scenario.ts';

/** Names of the two programs whose CPU time is compared: the gateway and the hub's aggregation layer. */
export const hubLanes = { gateway: 'portcullis-behind-hub', aggregator: 'aggregator-of-hub' } as const;
const target = '/api/v1/namespaces/team-a/configmaps/bench';
const connections = 16;
const sampleSeconds = 3;
/**
 * Limits of the first warm-up, which ends when either is reached. V8 needs some 30,000 requests to compile all code
 * that requests run through (see requests.ts).
 */
const firstWarmup = { requests: 80_000, seconds: 120 };
const idleSeconds = 2;
const group = 'gateway.portcullis.io';

/**
 * The scenario `hub`: a real hub, a real member cluster, and a gateway behind an APIService of the hub. A user of the
 * hub sends GETs of a 1 KB ConfigMap.
 */
export const hub: Scenario = {
  names: ['hub'],
  onDemand: true,
  run: async (bench) => {
    bench.progress('starting a hub and a member');
    const site = await startHubSite({ groups: [group], audit: false });
    try {
      await site.members[0]!.apply({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'bench', namespace: 'team-a' },
        data: { text: 'portcullis '.repeat(64).slice(0, 600) },
      });
      const caFile = path.join(bench.site.dir, 'hub-ca.crt');
      await writeFile(caFile, site.hub.caPem);
      if (bench.options.quick) await measure(bench, site, caFile, 0.5);
      else await measure(bench, site, caFile, firstWarmup.seconds, firstWarmup.requests);
      await interleave(bench, [0], bench.options.rounds, async (_, round) => {
        const seconds = bench.options.quick ? 0.5 : (bench.options.seconds ?? sampleSeconds);
        const sample = await measure(bench, site, caFile, seconds);
        const { requestsPerSecond, p50Ms, p99Ms, failed } = sample;
        for (const [contender, cpuUs] of [
          [hubLanes.gateway, sample.gatewayUs],
          [hubLanes.aggregator, sample.aggregatorUs],
        ] as const) {
          bench.record({
            scenario: 'hub',
            round,
            contender,
            values: { requestsPerSecond, p50Ms, p99Ms, cpuUs },
            ...failed,
          });
        }
      });
    } finally {
      await site.stop();
    }
  },
};

async function measure(bench: Bench, site: HubSite, caFile: string, seconds: number, maxRequests?: number) {
  const pids = { gateway: site.gateway.pid, aggregator: site.hub.pid };
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: new URL(site.hub.url).host,
    caFile,
    protocol: 'h1',
    seconds,
    warmupSeconds: 0.3,
    ...(maxRequests === undefined ? {} : { maxRequests }),
    groups: [
      {
        name: 'through the hub',
        connections,
        method: 'GET',
        path: clusterPath('m1') + target,
        headers: [
          ['Authorization', `Bearer ${site.hub.users.alice.token}`],
          ['Accept', 'application/json'],
        ],
      },
    ],
  });
  try {
    const [gateway, aggregator] = await Promise.all([
      restingCores(pids.gateway, idleSeconds),
      restingCores(pids.aggregator, idleSeconds),
    ]);
    const idleCores = { gateway, aggregator };
    const before = { gateway: readCpu(pids.gateway), aggregator: readCpu(pids.aggregator) };
    const result = await load.go();
    const after = { gateway: readCpu(pids.gateway), aggregator: readCpu(pids.aggregator) };
    const [seen] = result.groups;
    if (seen === undefined) throw new Error('the load generator returned no group');
    const perRequest = (who: 'gateway' | 'aggregator'): number => {
      const idle = idleCores[who] * result.seconds;
      return ((cpuSecondsBetween(before[who], after[who]) - idle) * 1e6) / seen.requests;
    };
    return {
      requestsPerSecond: seen.requestsPerSecond,
      p50Ms: seen.p50Ms,
      p99Ms: seen.p99Ms,
      gatewayUs: perRequest('gateway'),
      aggregatorUs: perRequest('aggregator'),
      failed: errorsOf(result),
    };
  } finally {
    await load.close();
  }
}
