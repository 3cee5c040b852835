// Short requests in a closed loop: throughput, latency and the target's CPU per request. Easy to get wrong: the CPU of a target is read while
// nobody sends, right before and right after the measured part, so that it belongs to exactly the counted requests.
import { cpuSecondsBetween, readCpu } from '../accounting.ts';
import { openLoad, type LoadGroup } from '../load.ts';
import { configMapPath } from '../member.ts';
import type { RunningTarget } from '../targets/target.ts';
import { verifyEqualWork } from '../verify.ts';
import { errorsOf, interleave, type Bench, type Lane, type Scenario } from './scenario.ts';

/** One kind of request; add a line for a new one (LIST, POST). */
interface RequestScenario {
  readonly name: string;
  readonly connections: number;
  readonly method: string;
  readonly path: string;
  /** Length of a sample; the number of requests decides how exact CPU per request is. */
  readonly seconds: number;
}

const requestScenarios: readonly RequestScenario[] = [
  { name: 'get-1', connections: 1, method: 'GET', path: configMapPath, seconds: 1 },
  { name: 'get-16', connections: 16, method: 'GET', path: configMapPath, seconds: 2 },
];

/**
 * A gateway runs for weeks, so its steady state is what counts. Measured: V8 takes some 30,000 requests to compile everything on the path,
 * and the first 2,000 cost three times as much as those after them; Go and C are there at once. All get the same, and at most so long.
 */
const firstWarmup = { requests: 60_000, seconds: 60 };
const warmupSeconds = 0.3;
const quickFactor = 0.15;

/** GETs of a 1 KB ConfigMap over 1 and 16 connections; in the h2 lanes 16 connections carry one stream each. */
export const requests: Scenario = {
  names: requestScenarios.map((scenario) => scenario.name),
  run: async (bench, chosen) => {
    const running = new Map<string, RunningTarget>();
    try {
      for (const target of new Set(bench.lanes.map((lane) => lane.target))) {
        bench.progress(`starting ${target.title}`);
        const started = await target.start(bench.site, bench.progress);
        running.set(target.name, started);
        await verifyEqualWork(bench.site, target, started);
      }
      const factor = bench.options.quick ? quickFactor : 1;
      for (const lane of bench.lanes.filter(({ target }) => target.name !== 'direct')) {
        bench.progress(`warming up ${lane.id}`);
        await warmUp(bench, lane, running.get(lane.target.name) as RunningTarget);
      }
      const pairs = bench.lanes.flatMap((lane) =>
        requestScenarios.filter(({ name }) => chosen.includes(name)).map((scenario) => ({ lane, scenario })),
      );
      await interleave(bench, pairs, bench.options.rounds, async ({ lane, scenario }, round) => {
        const seconds = (bench.options.seconds ?? scenario.seconds) * factor;
        const sample = await measure(bench, lane, running, { ...scenario, seconds });
        bench.record({ scenario: scenario.name, round, lane: lane.id, ...sample });
      });
    } finally {
      await Promise.all([...running.values()].map((target) => target.stop()));
    }
  },
};

async function warmUp(bench: Bench, lane: Lane, target: RunningTarget): Promise<void> {
  const widest = requestScenarios.at(-1) as RequestScenario;
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: target.address,
    caFile: target.caFile,
    protocol: lane.protocol,
    seconds: bench.options.quick ? 0.3 : firstWarmup.seconds,
    maxRequests: firstWarmup.requests,
    groups: [group(target, widest)],
  });
  const result = await load.go();
  await load.close();
  const { errors, firstError } = errorsOf(result);
  if (errors > 0) throw new Error(`${lane.id}: ${errors} errors while warming up: ${firstError}`);
}

function group(target: RunningTarget, scenario: RequestScenario): LoadGroup {
  return {
    name: scenario.name,
    connections: scenario.connections,
    method: scenario.method,
    path: target.prefix + scenario.path,
    headers: target.headers,
  };
}

async function measure(
  bench: Bench,
  lane: Lane,
  running: ReadonlyMap<string, RunningTarget>,
  scenario: RequestScenario,
): Promise<{ readonly values: Record<string, number>; readonly errors: number; readonly firstError?: string }> {
  const target = running.get(lane.target.name) as RunningTarget;
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: target.address,
    caFile: target.caFile,
    protocol: lane.protocol,
    seconds: scenario.seconds,
    warmupSeconds,
    groups: [group(target, scenario)],
  });
  try {
    const before = target.pid === undefined ? undefined : readCpu(target.pid);
    const result = await load.go();
    const [seen] = result.groups;
    if (seen === undefined) throw new Error('the load generator returned no group');
    const values: Record<string, number> = {
      requestsPerSecond: seen.requestsPerSecond,
      p50Ms: seen.p50Ms,
      p90Ms: seen.p90Ms,
      p99Ms: seen.p99Ms,
      bodyBytes: seen.bodyLength,
      loadCpuShare: result.cpuShare,
      loadCpuUs: (result.cpuSeconds * 1e6) / seen.requests,
    };
    if (target.pid !== undefined && before !== undefined) {
      const spent = cpuSecondsBetween(before, readCpu(target.pid));
      values['cpuUs'] = (spent * 1e6) / (seen.requests + seen.errors);
      values['coresUsed'] = spent / result.seconds;
    }
    return { values, ...errorsOf(result) };
  } finally {
    await load.close();
  }
}
