// Takes one sample of GETs of the 1 KB ConfigMap at one gateway, for scenarios that compare settings of Portcullis.
// Failed requests are reported with the sample, because they use CPU time too.
import { cpuSecondsBetween, readCpu, residentBytes } from '../figures/accounting.ts';
import { openLoad } from '../load.ts';
import { configMapPath } from '../member.ts';
import type { RunningTarget } from '../targets/target.ts';
import { errorsOf, type Bench } from './scenario.ts';

const defaultWarmupSeconds = 0.3;

/** The load that is sent for one sample. All connections use HTTP/1.1. */
export interface LaneLoad {
  readonly connections: number;
  readonly seconds: number;
  readonly maxRequests?: number | undefined;
  /** Seconds during which requests are sent before the measurement begins; by default {@link defaultWarmupSeconds}. */
  readonly warmupSeconds?: number;
}

/**
 * Takes one sample: sends the load and measures rate, latency and CPU time.
 * @throws Error (rejects) when the load generator returned no result
 */
export async function sampleContender(bench: Bench, target: RunningTarget, load: LaneLoad) {
  const { connections, seconds, maxRequests, warmupSeconds = defaultWarmupSeconds } = load;
  const running = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: target.address,
    caFile: target.caFile,
    protocol: 'h1',
    seconds,
    warmupSeconds,
    ...(maxRequests === undefined ? {} : { maxRequests }),
    groups: [{ name: 'all', connections, method: 'GET', path: target.prefix + configMapPath, headers: target.headers }],
  });
  try {
    const before = readCpu(target.pid!);
    const result = await running.go();
    const [seen] = result.groups;
    if (seen === undefined) throw new Error('the load generator returned no group');
    const spent = cpuSecondsBetween(before, readCpu(target.pid!));
    const values = {
      requestsPerSecond: seen.requestsPerSecond,
      p50Ms: seen.p50Ms,
      p99Ms: seen.p99Ms,
      cpuUs: (spent * 1e6) / (seen.requests + seen.errors),
      coresUsed: spent / result.seconds,
      residentMb: residentBytes(target.pid!) / 1024 ** 2,
      loadCpuShare: result.cpuShare,
    };
    return { values, ...errorsOf(result) };
  } finally {
    await running.close();
  }
}
