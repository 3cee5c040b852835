// A thread for tests of bounded-worker.ts: runs what it is told by name.
import { parentPort } from 'node:worker_threads';

const jobs: Readonly<Record<string, (value: number) => unknown>> = {
  double: (value) => value * 2,
  forever: () => {
    for (;;);
  },
  hoard: () => {
    const kept: number[][] = [];
    for (;;) kept.push(Array.from({ length: 100_000 }, (_, i) => i + kept.length));
  },
  fail: () => {
    throw new Error('broken');
  },
};

parentPort!.on('message', ({ job, value }: { readonly job: string; readonly value: number }) =>
  parentPort!.postMessage(jobs[job]!(value), []),
);
parentPort!.postMessage('ready', []);
