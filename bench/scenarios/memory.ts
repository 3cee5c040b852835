// Measures the peak memory of a proxy while a large list is streamed through it. A process rarely gives memory back. So
// every round starts a new process, warms it up with five lists, and resets the kernel's record of the peak
// (clear_refs) before each measured list.
import { peakBytes, resetPeak } from '../figures/accounting.ts';
import { openLoad } from '../load.ts';
import type { RunningTarget } from '../targets/target.ts';
import {
  errorsOf,
  interleave,
  onStub,
  orientationRounds,
  slowRounds,
  type Bench,
  type Contender,
  type Scenario,
} from './scenario.ts';

const warmupLists = 5;
const smallMb = 10;
const largeMb = 100;
/**
 * Megabytes per second that the client reads: slower than every proxy and the stub can send. Only then does a proxy
 * that does not slow down the API server fill its memory.
 */
const readMbPerSecond = 25;
/**
 * Share of the list that the client must at least receive; otherwise the sample counts as failed. If the list ended
 * early, a proxy that buffers everything would not be noticed.
 */
const leastShare = 0.95;

/**
 * The scenario `memory`, which uses the stub API server in every run: a kube-apiserver takes minutes to store 100 MB,
 * and its own memory is not measured.
 */
export const memory: Scenario = {
  names: ['memory'],
  run: (outer) =>
    onStub(outer, async (bench) => {
      const contenders = bench.contenders.filter(({ target }) => ['portcullis', 'go', 'express'].includes(target.name));
      await interleave(bench, contenders, slowRounds(bench), async (contender, round) => {
        if (round > orientationRounds && contender.target.name !== 'portcullis') return;
        const target = await contender.target.start(bench.site, bench.progress);
        try {
          bench.record({
            scenario: 'memory',
            round,
            contender: contender.id,
            ...(await measure(bench, contender, target)),
          });
        } finally {
          await target.stop();
        }
      });
    }),
};

/**
 * Measures the small list before the large one. A process does not give back the memory that the large list takes, so
 * the memory would be counted for the small list too.
 */
async function measure(bench: Bench, contender: Contender, target: RunningTarget) {
  for (let i = 0; i < warmupLists; i += 1) await list(bench, contender, target, smallMb);
  const small = await list(bench, contender, target, smallMb);
  const large = await list(bench, contender, target, largeMb);
  const { errors, firstError } = large.errors > 0 ? large : small;
  return {
    values: { peak10Mb: small.peakMb, peak100Mb: large.peakMb, growthMb: large.peakMb - small.peakMb },
    errors,
    ...(firstError === undefined ? {} : { firstError }),
  };
}

async function list(bench: Bench, contender: Contender, target: RunningTarget, sizeMb: number) {
  const pid = target.pid as number;
  const load = await openLoad(bench.loadBinary, {
    mode: 'requests',
    address: target.address,
    caFile: target.caFile,
    protocol: contender.protocol,
    seconds: 60,
    maxRequests: 1,
    readMbPerSecond,
    groups: [
      {
        name: 'list',
        connections: 1,
        method: 'GET',
        path: `${target.prefix}/api/v1/namespaces/list-${sizeMb}mb/configmaps`,
        headers: target.headers,
      },
    ],
  });
  try {
    resetPeak(pid);
    const result = await load.go();
    const bytes = result.groups[0]?.bytes ?? 0;
    const failed = errorsOf(result);
    const short = bytes < sizeMb * 1e6 * leastShare;
    return {
      peakMb: peakBytes(pid) / 1e6,
      ...(failed.errors === 0 && short ? { errors: 1, firstError: `only ${bytes} bytes of ${sizeMb} MB` } : failed),
    };
  } finally {
    await load.close();
  }
}
