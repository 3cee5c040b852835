// Measures how much slower a gateway's first requests are than later ones, after V8 has compiled the code that requests
// run through. Every round starts a new process. One connection is used, so that no request waits for another.
import type { RunningTarget } from '../targets/target.ts';
import { sampleContender } from './one-contender.ts';
import { interleave, onStub, slowRounds, type Bench, type Scenario } from './scenario.ts';

/**
 * Names of the two measured cases: the first requests after the start of a process, and later ones of the same process.
 */
export const firstRequestsLanes = { first: 'portcullis-first-500', warm: 'portcullis-warm' } as const;

const firstRequests = 500;
/** Requests of the warm-up: V8 needs some 30,000 to compile all code that requests run through (see requests.ts). */
const warmUpRequests = 30_000;
/** Connections of the warm-up, several at once so that it takes only seconds. */
const warmUpConnections = 16;
const mostSeconds = 60;

export const firstRequestsScenario: Scenario = {
  names: ['first-requests'],
  run: (outer) =>
    onStub(outer, async (bench) => {
      const contender = bench.contenders.find(({ target }) => target.name === 'portcullis');
      if (contender === undefined) return;
      await interleave(bench, [contender], slowRounds(bench), async ({ target }, round) => {
        const gateway = await target.start(bench.site, bench.progress);
        try {
          await measure(bench, gateway, round);
        } finally {
          await gateway.stop();
        }
      });
    }),
};

async function measure(bench: Bench, gateway: RunningTarget, round: number): Promise<void> {
  const sample = { connections: 1, seconds: mostSeconds, maxRequests: firstRequests, warmupSeconds: 0 };
  const record = async (contender: string): Promise<void> =>
    bench.record({ scenario: 'first-requests', round, contender, ...(await sampleContender(bench, gateway, sample)) });
  await record(firstRequestsLanes.first);
  const maxRequests = bench.options.quick ? firstRequests : warmUpRequests;
  await sampleContender(bench, gateway, { connections: warmUpConnections, seconds: mostSeconds, maxRequests });
  await record(firstRequestsLanes.warm);
}
