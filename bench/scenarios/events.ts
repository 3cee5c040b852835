// Measures how long an event takes from the API server to the client, with many watches open. The API server reads the
// clock when it writes the event, the load generator when it has read the whole line. All programs share one machine,
// so the time includes waiting for a CPU core.
import { setTimeout as delay } from 'node:timers/promises';

import { cpuSecondsBetween, readCpu } from '../figures/accounting.ts';
import { openLoad } from '../load.ts';
import type { RunningTarget } from '../targets/target.ts';
import { interleave, onStub, type Bench, type Contender, type Scenario } from './scenario.ts';
import { streamsPerConnection, takesMany } from './watch.ts';

const eventsPerSecond = 1_000;
const counts: Readonly<Record<string, number>> = { 'events-1k': 1_000, 'events-10k': 10_000 };
const mostWatches = Math.max(...Object.values(counts));
const sampleSeconds = 5;
/**
 * Seconds of the first warm-up: enough for some 30,000 events, after which V8 has compiled all code that events run
 * through (see requests.ts).
 */
const firstWarmupSeconds = 30;
const quickWatches = 50;
const leastShare = 0.75;
/**
 * Milliseconds to wait until every watch has had its first event, and until the garbage of the TLS handshakes has been
 * collected.
 */
const settleMs = 2_000;

/** The scenarios that open many watches, which together get a thousand events per second. */
export const events: Scenario = {
  names: Object.keys(counts),
  onDemand: true,
  run: (outer, chosen) =>
    onStub(outer, async (bench) => {
      const pairs = bench.contenders
        .filter(({ target }) => target.name !== 'kubectl-proxy')
        .flatMap((contender) => chosen.map((scenario) => ({ contender, scenario })))
        .filter(({ contender, scenario }) => scenario === 'events-1k' || takesMany(contender));
      const running = new Map<string, RunningTarget>();
      try {
        for (const { target } of bench.contenders)
          if (!running.has(target.name))
            running.set(target.name, await target.start(bench.site, bench.progress, mostWatches));
        for (const { contender, scenario } of pairs) {
          bench.progress(`warming up ${contender.id}`);
          await measure(bench, contender, scenario, running, firstWarmupSeconds);
        }
        const seconds = bench.options.seconds ?? sampleSeconds;
        await interleave(bench, pairs, bench.options.rounds, async ({ contender, scenario }, round) => {
          bench.record({
            scenario,
            round,
            contender: contender.id,
            ...(await measure(bench, contender, scenario, running, seconds)),
          });
        });
      } finally {
        await Promise.all([...running.values()].map((target) => target.stop()));
      }
    }),
};

async function measure(
  bench: Bench,
  contender: Contender,
  scenario: string,
  running: ReadonlyMap<string, RunningTarget>,
  seconds: number,
) {
  const target = running.get(contender.target.name) as RunningTarget;
  const count = bench.options.quick ? quickWatches : (counts[scenario] as number);
  const everyMs = Math.round((count * 1000) / eventsPerSecond);
  const path = `${target.prefix}/api/v1/namespaces/every-${everyMs}ms/configmaps?watch=1&timeoutSeconds=3000`;
  const load = await openLoad(bench.loadBinary, {
    mode: 'watch',
    address: target.address,
    caFile: target.caFile,
    protocol: contender.protocol,
    streamsPerConnection,
    eventSeconds: bench.options.quick ? 1 : seconds,
    groups: [{ name: scenario, connections: count, method: 'GET', path, headers: target.headers }],
  });
  try {
    const opened = await load.go();
    await delay(bench.options.quick ? 200 : settleMs);
    const before = target.pid === undefined ? undefined : readCpu(target.pid);
    const seen = await load.events();
    const spent = before === undefined ? undefined : cpuSecondsBetween(before, readCpu(target.pid as number));
    const values: Record<string, number> = {
      eventsPerSecond: seen.eventsPerSecond,
      p50Ms: seen.p50Ms,
      p99Ms: seen.p99Ms,
      loadCpuShare: seen.cpuShare,
      open: opened.open,
    };
    if (spent !== undefined) values['cpuUs'] = (spent * 1e6) / seen.events;
    // The sample counts as failed when more than a quarter of the events are missing. Fewer may be missing, because
    // events at the edges of the sample arrive too early or too late for it.
    const isShort = seen.events < eventsPerSecond * seen.seconds * leastShare;
    const missing = count - opened.open + seen.errors + (isShort ? 1 : 0);
    const firstError = seen.firstError ?? (isShort ? `only ${seen.events} events in ${seen.seconds} s` : undefined);
    return { values, errors: missing, ...(firstError === undefined ? {} : { firstError }) };
  } finally {
    await load.close();
  }
}
