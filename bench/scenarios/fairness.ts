// Measures whether a user with few requests suffers from another user that sends fifty times as many to the same
// cluster, which is more than may run at once. In a simple queue, the first user would wait as long as the whole queue
// takes, here four times the normal time. The limit in checks.ts separates a fair queue from a simple one.
import { configMapPath } from '../member.ts';
import { openLoad, type LoadGroup } from '../load.ts';
import { startPortcullis } from '../targets/portcullis.ts';
import type { RunningTarget } from '../targets/target.ts';
import { errorsOf, interleave, slowRounds, type Bench, type Scenario } from './scenario.ts';
import { startMembers } from './stall.ts';

/**
 * How many requests to the cluster may run at once. The API server answers after 50 ms, so 50 concurrent requests make
 * 1,000 per second: fifty times what one connection sends (20), and a fraction of what one CPU core can do.
 */
const places = 50;
/**
 * Connections of the user with many requests: four times as many as requests may run at once, so that three in four
 * requests wait.
 */
const bigConnections = 200;
/** Seconds of a sample. One connection sends about 190 requests in 10 s, so the p99 is not just the slowest request. */
const sampleSeconds = 10;

/** Names of the two measured cases: the user with few requests beside the other one, and alone. */
export const fairnessLanes = { crowded: 'portcullis-beside-a-flood', alone: 'portcullis-alone' } as const;

const path = `/clusters/m1/proxy${configMapPath}`;

/** The scenario `fairness`: Portcullis in front of one simulated API server that answers after 50 ms. */
export const fairness: Scenario = {
  names: ['fairness'],
  run: async (bench) => {
    if (bench.contenders.every(({ target }) => target.name !== 'portcullis')) return;
    const { process: members, kubeconfigFile } = await startMembers(bench, ['m1']);
    let gateway: RunningTarget | undefined;
    try {
      gateway = await startPortcullis(bench.site, kubeconfigFile, {
        readyPath: path,
        args: ['--max-cluster-requests-inflight', String(places)],
      });
      const running = gateway;
      await measure(bench, running, true);
      await interleave(
        bench,
        [fairnessLanes.crowded, fairnessLanes.alone],
        slowRounds(bench),
        async (contender, round) => {
          const result = await measure(bench, running, contender === fairnessLanes.crowded);
          bench.record({ scenario: 'fairness', round, contender, ...result });
        },
      );
    } finally {
      await gateway?.stop();
      await members.stop();
    }
  },
};

async function measure(bench: Bench, gateway: RunningTarget, crowded: boolean) {
  const [big, small] = bench.site.users.slice(0, 2).map(({ token }) => token) as [string, string];
  const group = (name: string, token: string, connections: number): LoadGroup => ({
    name,
    connections,
    method: 'GET',
    path,
    headers: gateway.headers.map(([key, value]) => [key, key === 'Authorization' ? `Bearer ${token}` : value] as const),
  });
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: gateway.address,
    caFile: gateway.caFile,
    protocol: 'h1',
    seconds: bench.options.quick ? 1 : sampleSeconds,
    warmupSeconds: 0.5,
    groups: [group('small', small, 1), ...(crowded ? [group('big', big, bigConnections)] : [])],
  });
  try {
    const result = await load.go();
    const [of, beside] = result.groups;
    if (of === undefined) throw new Error('the load generator gave no result for the small user');
    const values = {
      p99Ms: of.p99Ms,
      p50Ms: of.p50Ms,
      requestsPerSecond: of.requestsPerSecond,
      floodTimes: beside === undefined ? 0 : beside.requestsPerSecond / of.requestsPerSecond,
      floodP50Ms: beside?.p50Ms ?? 0,
      loadCpuShare: result.cpuShare,
    };
    return { values, ...errorsOf(result) };
  } finally {
    await load.close();
  }
}
