// Two workers beside one process, over the same member: does a second core serve, and what does a request cost then. On
// two cores the load and the member take one of them, so it is the CPU per request of all processes that is compared,
// and throughput only told.
import { startPortcullis } from '../targets/portcullis.ts';
import type { RunningTarget } from '../targets/target.ts';
import { sampleLane } from './one-lane.ts';
import { interleave, type Bench, type Scenario } from './scenario.ts';

/** Lane names by the number of workers. */
export const workerLanes = { one: 'portcullis-1-worker', two: 'portcullis-2-workers' } as const;

const args: Readonly<Record<(typeof workerLanes)[keyof typeof workerLanes], readonly string[]>> = {
  [workerLanes.one]: [],
  [workerLanes.two]: ['--workers', '2'],
};
const connections = 64;
const sampleSeconds = 2;
/** As in requests.ts, and each worker compiles for itself. */
const firstWarmup = { requests: 120_000, seconds: 120 };

/** GETs of a 1 KB ConfigMap over 64 connections of HTTP/1.1. */
export const workers: Scenario = {
  names: ['workers'],
  onDemand: true,
  run: async (bench) => {
    const running = new Map<string, RunningTarget>();
    try {
      for (const lane of Object.values(workerLanes)) {
        bench.progress(`starting ${lane}`);
        const target = await startPortcullis(bench.site, bench.site.member.kubeconfigFile, { args: args[lane] });
        running.set(lane, target);
        if (bench.options.quick) await measure(bench, target, 0.5);
        else await measure(bench, target, firstWarmup.seconds, firstWarmup.requests);
      }
      await interleave(bench, Object.values(workerLanes), bench.options.rounds, async (lane, round) => {
        const seconds = bench.options.quick ? 0.5 : (bench.options.seconds ?? sampleSeconds);
        const sample = await measure(bench, running.get(lane)!, seconds);
        bench.record({ scenario: 'workers', round, lane, ...sample });
      });
    } finally {
      await Promise.all([...running.values()].map((target) => target.stop()));
    }
  },
};

function measure(bench: Bench, target: RunningTarget, seconds: number, maxRequests?: number) {
  return sampleLane(bench, target, { connections, seconds, maxRequests });
}
