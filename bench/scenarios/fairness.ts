// One user asks fifty times as much as another of the same cluster, more than there are seats: what does the small one
// notice? With seats for everybody nothing would be shared and any gateway would pass; with a first-come queue the
// small user's time is that of the whole queue (four times as long here), and that is what the check tells apart.
import { configMapPath } from '../member.ts';
import { openLoad, type LoadGroup } from '../load.ts';
import { startPortcullis } from '../targets/portcullis.ts';
import type { RunningTarget } from '../targets/target.ts';
import { errorsOf, interleave, slowRounds, type Bench, type Scenario } from './scenario.ts';
import { startMembers } from './stall.ts';

/**
 * Places of the cluster. The member answers in 50 ms, so they serve 1,000 requests a second: fifty times what one
 * connection asks (20), and a fraction of what one core does.
 */
const places = 50;
/** Four times as many as there are places: three in four requests of the big user wait. */
const bigConnections = 200;
/** 190 requests of the one connection, so that the p99 is not its slowest. */
const sampleSeconds = 10;

/** Lane names: the small user beside the big one, and alone. */
export const fairnessLanes = { crowded: 'portcullis-beside-a-flood', alone: 'portcullis-alone' } as const;

const path = `/clusters/m1/proxy${configMapPath}`;

/** Portcullis over one simulated member that answers in 50 ms. */
export const fairness: Scenario = {
  names: ['fairness'],
  run: async (bench) => {
    if (bench.lanes.every(({ target }) => target.name !== 'portcullis')) return;
    const { process: members, kubeconfigFile } = await startMembers(bench, ['m1']);
    let gateway: RunningTarget | undefined;
    try {
      gateway = await startPortcullis(bench.site, kubeconfigFile, {
        readyPath: path,
        args: ['--max-cluster-requests-inflight', String(places)],
      });
      const running = gateway;
      await measure(bench, running, true);
      await interleave(bench, [fairnessLanes.crowded, fairnessLanes.alone], slowRounds(bench), async (lane, round) => {
        const result = await measure(bench, running, lane === fairnessLanes.crowded);
        bench.record({ scenario: 'fairness', round, lane, ...result });
      });
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
