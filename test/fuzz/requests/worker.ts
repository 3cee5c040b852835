// One of the threads that share a run of whole requests. Each has a gateway, members and a Go process of its own, so
// that what is recorded belongs to its own cases.
import { parentPort, workerData } from 'node:worker_threads';
import { startOracle } from '../oracle.ts';
import { runRequests, startBench } from './campaign.ts';

/** What a thread is told. */
export interface RequestWork {
  readonly seed: number;
  readonly cases: number;
  readonly seconds: number;
  readonly compare: boolean;
}

const { seed, cases, seconds, compare } = workerData as RequestWork;
const oracle = compare ? await startOracle() : undefined;
const bench = await startBench(oracle);
try {
  const untilMs = performance.now() + seconds * 1000;
  parentPort!.postMessage(await runRequests(bench, { seed, cases, untilMs }), []);
} finally {
  bench.close();
  oracle?.close();
}
