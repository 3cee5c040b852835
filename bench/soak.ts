// `node bench/soak.ts`: runs identical cycles of watches, requests, execs, rotations of token file and kubeconfig, and
// network faults on a real control plane. After each cycle everything is closed, and sockets, timers and memory of the
// gateway are compared with earlier cycles. Caches grow at first and can look like a leak, so growth is judged only
// over the later cycles.
import { parseArgs } from 'node:util';
import { growthPerCycle, handleFaults } from './soak/judge.ts';
import type { CycleRecord } from './soak/judge.ts';
import { startSoakSite } from './soak/site.ts';
import { runCycle } from './soak/cycle.ts';

const usage = `node bench/soak.ts [options]
  --cycles N         default 10
  --cycle-seconds N  default 120
  --watches N        default 1000
  --rate N           short requests a second, default 200
  --seed N           order of faults, default 1
  --quick            2 cycles of 12 s, 100 watches, 40 requests/s: does it all work; growth is not judged`;

/** The share of heap and external memory together by which a gateway may grow per cycle: 0.005 is 0.5 %. */
const growthLimit = 0.005;
/** The first cycle whose growth is judged. In the cycles before it, caches fill. */
const firstChecked = 4;

const { values } = parseArgs({
  options: {
    cycles: { type: 'string' },
    'cycle-seconds': { type: 'string' },
    watches: { type: 'string' },
    rate: { type: 'string' },
    seed: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function numberOf(flag: string, value: string | undefined, usual: number): number {
  const number = value === undefined ? usual : Number(value);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${flag} ${value}: must be a whole number from 1 on`);
  return number;
}

async function main(): Promise<number> {
  const { quick } = values;
  const plan = {
    cycles: numberOf('--cycles', values.cycles, quick ? 2 : 10),
    seconds: numberOf('--cycle-seconds', values['cycle-seconds'], quick ? 12 : 120),
    watches: numberOf('--watches', values.watches, quick ? 100 : 1_000),
    perSecond: numberOf('--rate', values.rate, quick ? 40 : 200),
    seed: numberOf('--seed', values.seed, 1),
  };
  console.log(
    `soak: ${plan.cycles} cycles of ${plan.seconds} s, ${plan.watches} watches, ${plan.perSecond} requests/s, seed ${plan.seed}`,
  );
  const site = await startSoakSite();
  const faults: string[] = [];
  const records: CycleRecord[] = [];
  try {
    await site.idle();
    const baseline = await site.gateway.holdings();
    for (let cycle = 1; cycle <= plan.cycles; cycle++) {
      const outcome = await runCycle(site, plan, cycle);
      await site.idle();
      const holdings = await site.gateway.holdings();
      const streams = await site.openStreams();
      // Later cycles are compared with the state after the first cycle, when connections of probes, caches and compiled
      // code exist.
      const reference = records[0]?.holdings ?? holdings;
      records.push({ cycle, holdings, streams, ...outcome });
      const found = [...outcome.faults, ...handleFaults(reference, holdings, streams)];
      faults.push(...found.map((fault) => `cycle ${cycle}: ${fault}`));
      const mebibytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(2);
      console.log(
        `cycle ${cycle}: ${outcome.requests} requests (${outcome.failedAtFaults} failed while a member was away), ${outcome.events} events to ${plan.watches} watches, ` +
          `${outcome.execs} execs, ${outcome.resumed} watches resumed, faults: ${outcome.happened.join(', ') || 'none'}; ` +
          `idle: sockets ${holdings.sockets}, streams ${streams}, timers ${holdings.timers}, descriptors ${holdings.descriptors}, ` +
          `heap + external ${mebibytes(holdings.heapBytes + holdings.externalBytes)} MiB, RSS ${mebibytes(holdings.residentBytes)} MiB` +
          (found.length > 0 ? `\n  ${found.join('\n  ')}` : ''),
      );
    }
    console.log(
      `before the first cycle: sockets ${baseline.sockets}, timers ${baseline.timers}, descriptors ${baseline.descriptors}`,
    );
    const strangers = await site.strangers();
    if (strangers.length > 0)
      faults.push(`${strangers.length} requests reached a member as somebody else: ${strangers[0]}`);
    const checked = records.filter(({ cycle }) => cycle >= firstChecked);
    if (checked.length >= 3) {
      const growth = growthPerCycle(checked.map(({ holdings }) => holdings.heapBytes + holdings.externalBytes));
      console.log(
        `heap + external over cycles ${firstChecked} to ${plan.cycles}: ${(growth * 100).toFixed(3)} % a cycle (limit ${growthLimit * 100} %)`,
      );
      if (growth >= growthLimit) faults.push(`heap + external grows by ${(growth * 100).toFixed(3)} % a cycle`);
    } else console.log('heap + external: not judged, too few cycles');
  } finally {
    await site.stop();
  }
  for (const fault of faults) console.log(`failed: ${fault}`);
  console.log(
    faults.length === 0
      ? 'soak: 0 wrong identities, 0 lost events, nothing left behind'
      : `soak: ${faults.length} faults`,
  );
  return faults.length === 0 ? 0 : 1;
}

if (values.help) console.log(usage);
else process.exitCode = await main();
