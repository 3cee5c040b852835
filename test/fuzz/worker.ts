// One of the threads that share the cases of a run. Each has a seed and a Go process of its own, so that a run can be
// repeated whatever the other thread does.
import { parentPort, workerData } from 'node:worker_threads';
import { runCampaign } from './campaign.ts';
import { startOracle } from './oracle.ts';
import { targets } from './targets/all.ts';

/** What a thread is told. */
export interface Work {
  readonly seed: number;
  readonly compare: boolean;
  readonly shares: readonly { readonly target: string; readonly cases: number }[];
}

const { seed, compare, shares } = workerData as Work;
const oracle = compare ? await startOracle() : undefined;
try {
  for (const { target: name, cases } of shares) {
    const target = targets.find((one) => one.name === name)!;
    parentPort!.postMessage(await runCampaign(target, cases, seed, oracle), []);
  }
} finally {
  oracle?.close();
}
