// Compares Portcullis with two worker processes and with one, in front of the same API server. On a machine with two
// cores, load generator and API server take one of them. So the CPU time per request over all processes is compared,
// and throughput is only shown.
import { startPortcullis } from '../targets/portcullis.ts';
import type { RunningTarget } from '../targets/target.ts';
import { sampleContender } from './one-contender.ts';
import { interleave, type Bench, type Scenario } from './scenario.ts';

/** Names of the two measured settings, by the number of workers. */
export const workerContenders = { one: 'portcullis-1-worker', two: 'portcullis-2-workers' } as const;

const args: Readonly<Record<(typeof workerContenders)[keyof typeof workerContenders], readonly string[]>> = {
  [workerContenders.one]: [],
  [workerContenders.two]: ['--workers', '2'],
};
const connections = 64;
const sampleSeconds = 2;
/**
 * Limits of the first warm-up, which ends when either is reached. In each worker process, V8 needs some 30,000 requests
 * to compile all code that requests run through (see requests.ts).
 */
const firstWarmup = { requests: 120_000, seconds: 120 };

/** The scenario `workers`: GETs of a 1 KB ConfigMap over 64 HTTP/1.1 connections. */
export const workers: Scenario = {
  names: ['workers'],
  onDemand: true,
  run: async (bench) => {
    const running = new Map<string, RunningTarget>();
    try {
      for (const contender of Object.values(workerContenders)) {
        bench.progress(`starting ${contender}`);
        const target = await startPortcullis(bench.site, bench.site.member.kubeconfigFile, { args: args[contender] });
        running.set(contender, target);
        if (bench.options.quick) await measure(bench, target, 0.5);
        else await measure(bench, target, firstWarmup.seconds, firstWarmup.requests);
      }
      await interleave(bench, Object.values(workerContenders), bench.options.rounds, async (contender, round) => {
        const seconds = bench.options.quick ? 0.5 : (bench.options.seconds ?? sampleSeconds);
        const sample = await measure(bench, running.get(contender)!, seconds);
        bench.record({ scenario: 'workers', round, contender, ...sample });
      });
    } finally {
      await Promise.all([...running.values()].map((target) => target.stop()));
    }
  },
};

function measure(bench: Bench, target: RunningTarget, seconds: number, maxRequests?: number) {
  return sampleContender(bench, target, { connections, seconds, maxRequests });
}
