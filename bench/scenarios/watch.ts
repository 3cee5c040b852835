// Measures the memory of one idle watch: resident memory before and after a thousand watches are opened, divided by
// their number. Memory that a process keeps from earlier work would distort the difference. So every measurement uses a
// new process that was warmed up in the same way.
import { setTimeout as delay } from 'node:timers/promises';

import { cpuSecondsBetween, readCpu, residentBytes } from '../figures/accounting.ts';
import { openLoad, type LoadGroup } from '../load.ts';
import { configMapPath, idleWatchPath } from '../member.ts';
import type { RunningTarget } from '../targets/target.ts';
import {
  interleave,
  onStub,
  orientationRounds,
  slowRounds,
  type Bench,
  type Contender,
  type Scenario,
} from './scenario.ts';

const counts: Readonly<Record<string, number>> = { watch: 1_000, 'watch-10k': 10_000 };
const most = 11_000;
const warmupWatches = 100;
const quickWatches = 50;
/** Number of watches that share one HTTP/2 connection of a client, like a controller with ten informers. */
export const streamsPerConnection = 10;
/**
 * Milliseconds to wait until the garbage of the TLS handshakes has been collected and the last response headers have
 * been written.
 */
const settleMs = 1_500;
const quickSettleMs = 200;
/**
 * The scenario `watch`: opens idle watches that match no object. Programs other than Portcullis are measured only in
 * the first rounds.
 */
export const watch: Scenario = {
  names: ['watch'],
  run: (bench) => openInTurn(bench, 'watch', () => true),
};

/**
 * The scenario `watch-10k`: opens ten times as many idle watches, over HTTP/2. Over HTTP/1.1 they would need more
 * sockets than a process may have open.
 */
export const manyWatches: Scenario = {
  names: ['watch-10k'],
  onDemand: true,
  run: (outer) => onStub(outer, (bench) => openInTurn(bench, 'watch-10k', takesMany)),
};

/**
 * Whether a program can keep 10,000 watches open: only if it uses HTTP/2 to the API server too. Other programs need one
 * socket to the API server for each watch and run out of sockets.
 */
export function takesMany({ target, protocol }: Contender): boolean {
  return protocol === 'h2' && ['portcullis', 'go', 'go-tuned'].includes(target.name);
}

async function openInTurn(bench: Bench, scenario: string, takes: (contender: Contender) => boolean): Promise<void> {
  const contenders = bench.contenders.filter(
    (contender) => contender.target.name !== 'direct' && contender.target.name !== 'kubectl-proxy',
  );
  await interleave(bench, contenders.filter(takes), slowRounds(bench), async (contender, round) => {
    if (round > orientationRounds && contender.target.name !== 'portcullis') return;
    const target = await contender.target.start(bench.site, bench.progress, scenario === 'watch' ? undefined : most);
    try {
      await measure(bench, scenario, contender, target, round);
    } finally {
      await target.stop();
    }
  });
}

async function measure(
  bench: Bench,
  scenario: string,
  contender: Contender,
  target: RunningTarget,
  round: number,
): Promise<void> {
  const pid = target.pid as number;
  const count = bench.options.quick ? quickWatches : (counts[scenario] as number);
  await warmUp(bench, contender, target);
  const settledMs = bench.options.quick ? quickSettleMs : settleMs;
  await delay(settledMs);
  const rssBefore = residentBytes(pid);
  const load = await openWatches(bench, contender, target, count);
  try {
    const cpuBefore = readCpu(pid);
    const result = await load.go();
    const setupSeconds = cpuSecondsBetween(cpuBefore, readCpu(pid));
    await delay(settledMs);
    const grown = residentBytes(pid) - rssBefore;
    bench.record({
      scenario,
      round,
      contender: contender.id,
      values: {
        kbPerWatch: grown / count / 1_000,
        rssMb: (rssBefore + grown) / 1e6,
        setupCpuMs: (setupSeconds * 1e3) / count,
        open: result.open,
        clientConnections: result.connections,
      },
      errors: count - result.open,
      ...(result.firstError === undefined ? {} : { firstError: result.firstError }),
    });
  } finally {
    await load.close();
  }
}

async function warmUp(bench: Bench, contender: Contender, target: RunningTarget): Promise<void> {
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: target.address,
    caFile: target.caFile,
    protocol: contender.protocol,
    seconds: bench.options.quick ? 0.2 : 1,
    groups: [group(target, configMapPath, 16)],
  });
  await load.go();
  await load.close();
  const watches = await openWatches(bench, contender, target, bench.options.quick ? 10 : warmupWatches);
  await watches.go();
  await watches.close();
}

function openWatches(bench: Bench, contender: Contender, target: RunningTarget, count: number) {
  return openLoad(bench.loadBinary, {
    mode: 'watch',
    address: target.address,
    caFile: target.caFile,
    protocol: contender.protocol,
    streamsPerConnection,
    groups: [group(target, idleWatchPath, count)],
  });
}

function group(target: RunningTarget, path: string, connections: number): LoadGroup {
  return { name: 'watch', connections, method: 'GET', path: target.prefix + path, headers: target.headers };
}
