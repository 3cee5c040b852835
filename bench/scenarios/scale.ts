// Measures what a gateway without requests costs: start time, memory and CPU with 2, 2,000 and 10,000 clusters on a
// simulated hub, at two probe intervals. Hub, clusters and gateway share one machine, so the start time includes
// waiting for the hub's CPU.
import { setTimeout as delay } from 'node:timers/promises';

import { residentBytes, restingCores } from '../figures/accounting.ts';
import { startFleet } from './registrations.ts';
import { interleave, onStub, slowRounds, type Bench, type Scenario } from './scenario.ts';

interface Fleet {
  readonly clusters: number;
  readonly probeIntervalSeconds: number;
}

const fleets: Readonly<Record<string, Fleet>> = {
  'portcullis-2-registered': { clusters: 2, probeIntervalSeconds: 10 },
  'portcullis-2000-registered': { clusters: 2_000, probeIntervalSeconds: 10 },
  'portcullis-2000-probed-each-minute': { clusters: 2_000, probeIntervalSeconds: 60 },
  'portcullis-10000-probed-each-minute': { clusters: 10_000, probeIntervalSeconds: 60 },
};
/** Milliseconds to wait, in addition to one probe interval, until every cluster has been probed once. */
const settleMs = 10_000;
/**
 * Seconds for which the idle gateway is measured: a minute, because it asks each cluster for its rights once a minute.
 */
const idleSeconds = 60;

export const scale: Scenario = {
  names: ['scale'],
  onDemand: true,
  run: (outer) =>
    onStub(outer, (bench) =>
      interleave(bench, Object.keys(fleets), slowRounds(bench), async (contender, round) => {
        bench.record({ scenario: 'scale', round, contender, values: await measure(bench, contender), errors: 0 });
      }),
    ),
};

async function measure(bench: Bench, contender: string): Promise<Record<string, number>> {
  const { quick } = bench.options;
  const { clusters, probeIntervalSeconds } = fleets[contender] as Fleet;
  const settings = { probeIntervalSeconds };
  const { gateway, hub, startSeconds } = await startFleet(bench, contender, clusters, [bench.site.user], settings);
  try {
    await delay(quick ? 500 : settleMs + probeIntervalSeconds * 1000);
    const pid = gateway.pid as number;
    const seconds = quick ? 1 : idleSeconds;
    const [gatewayCores, hubCores] = await Promise.all([restingCores(pid, seconds), restingCores(hub.pid, seconds)]);
    return {
      startSeconds,
      idleCpu: gatewayCores * 100,
      hubCpu: hubCores * 100,
      rssMb: residentBytes(pid) / 1e6,
    };
  } finally {
    await gateway.stop();
    await hub.stop();
  }
}
