// Compares the same load on 2,000 clusters and 500 users with one cluster and one user, to measure caches by user and
// cluster when they are full. In one case each user has a connection of its own; in the case that the limit is for,
// every connection carries all users, as behind a hub's aggregation layer. Each pair of user and cluster costs one
// access review at the hub every ten seconds, however many requests it sends. So a sample must last ten seconds: a
// shorter one would contain just as many reviews but fewer requests. The cost of probes, which run without requests
// too, is subtracted.
import { cpuSecondsBetween, readCpu, residentBytes, restingCores } from '../figures/accounting.ts';
import { openLoad, type HeaderPairs, type LoadGroup } from '../load.ts';
import { configMapPath } from '../member.ts';
import type { BenchUser } from '../site.ts';
import { userHeaders } from '../site.ts';
import { prefix, reviewsOf, startFleet, type Fleet } from './registrations.ts';
import { errorsOf, interleave, onStub, type Bench, type Scenario } from './scenario.ts';

/**
 * Names of the measured cases: one cluster and one user; many clusters and users, with a connection for each user; many
 * clusters and users, with all users on every connection.
 */
export const identityContenders = {
  one: 'portcullis-1-cluster-1-user',
  own: 'portcullis-2000-clusters-500-users-own-connections',
  mixed: 'portcullis-2000-clusters-500-users',
} as const;
type LaneName = (typeof identityContenders)[keyof typeof identityContenders];

const clusterCount = 2_000;
const userCount = 500;
const connections = 64;
/** Seconds of a sample: as long as the gateway caches an answer of its hub. */
const sampleSeconds = 10;
const idleSeconds = 2;
/**
 * Limits of the first warm-up, which ends when either is reached. After 80,000 requests, connections to every cluster
 * are open and V8 has compiled the code.
 */
const firstWarmup = { requests: 80_000, seconds: 90 };

export const identities: Scenario = {
  names: ['identities'],
  onDemand: true,
  run: (outer) =>
    onStub(outer, async (bench) => {
      // `bench.site.user` comes first: while a gateway starts, requests are sent as this user until one succeeds.
      const others = bench.site.users.filter((user) => user !== bench.site.user);
      const people = [bench.site.user, ...others.slice(0, userCount - 1)];
      const fleets: Fleet[] = [];
      try {
        const one = await startFleet(bench, identityContenders.one, 1, people);
        fleets.push(one);
        const many = await startFleet(bench, identityContenders.mixed, clusterCount, people);
        fleets.push(many);
        const fleetOf: Readonly<Record<LaneName, Fleet>> = {
          [identityContenders.one]: one,
          [identityContenders.own]: many,
          [identityContenders.mixed]: many,
        };
        const { quick } = bench.options;
        for (const contender of Object.values(identityContenders)) {
          bench.progress(`warming up ${contender}`);
          const seconds = quick ? 0.5 : firstWarmup.seconds;
          await measure(
            bench,
            fleetOf[contender],
            contender,
            people,
            seconds,
            quick ? undefined : firstWarmup.requests,
          );
        }
        await interleave(bench, Object.values(identityContenders), bench.options.rounds, async (contender, round) => {
          const seconds = quick ? 0.5 : (bench.options.seconds ?? sampleSeconds);
          const sample = await measure(bench, fleetOf[contender], contender, people, seconds);
          bench.record({ scenario: 'identities', round, contender, ...sample });
        });
      } finally {
        for (const { gateway, hub } of fleets) {
          await gateway.stop();
          await hub.stop();
        }
      }
    }),
};

/** The requests that one connection sends one after the other. The list has the same length in every case. */
function variantsOf(
  bench: Bench,
  contender: LaneName,
  clusters: number,
  people: readonly BenchUser[],
  connection: number,
) {
  const length = Math.ceil(clusterCount / connections);
  return Array.from({ length }, (_, turn) => {
    const index = turn * connections + connection;
    const person =
      contender === identityContenders.one
        ? 0
        : contender === identityContenders.own
          ? connection
          : index % people.length;
    return {
      path: prefix(index % clusters) + configMapPath,
      headers: headersOf(bench, people[person] as BenchUser),
    };
  });
}

function headersOf(bench: Bench, user: BenchUser): HeaderPairs {
  return userHeaders({ ...bench.site, user });
}

async function measure(
  bench: Bench,
  fleet: Fleet,
  contender: LaneName,
  people: readonly BenchUser[],
  seconds: number,
  maxRequests?: number,
) {
  const { gateway, clusters } = fleet;
  const pid = gateway.pid as number;
  const groups = Array.from({ length: connections }, (_, connection): LoadGroup => {
    const variants = variantsOf(bench, contender, clusters, people, connection);
    return {
      name: `connection ${connection}`,
      connections: 1,
      method: 'GET',
      path: '',
      headers: [],
      variants,
      pooled: true,
    };
  });
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: gateway.address,
    caFile: gateway.caFile,
    protocol: 'h1',
    seconds,
    warmupSeconds: 0.3,
    ...(maxRequests === undefined ? {} : { maxRequests }),
    groups,
  });
  try {
    const idleCores = await restingCores(pid, bench.options.quick ? 0.2 : idleSeconds);
    const reviewsBefore = await reviewsOf(fleet);
    const before = readCpu(pid);
    const result = await load.go();
    const spent = cpuSecondsBetween(before, readCpu(pid));
    const reviews = (await reviewsOf(fleet)) - reviewsBefore;
    const { pooled } = result;
    if (pooled === undefined) throw new Error('the load generator gave no pooled result');
    const { requestsPerSecond, p50Ms, p99Ms } = pooled;
    const values = {
      requestsPerSecond,
      p50Ms,
      p99Ms,
      cpuUs: ((spent - idleCores * result.seconds) * 1e6) / pooled.requests,
      cpuUsWithProbes: (spent * 1e6) / pooled.requests,
      reviewsPerSecond: reviews / result.seconds,
      rssMb: residentBytes(pid) / 1e6,
      loadCpuShare: result.cpuShare,
    };
    return { values, ...errorsOf(result) };
  } finally {
    await load.close();
  }
}
