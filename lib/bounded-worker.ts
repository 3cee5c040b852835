// Runs work that its author may have made expensive in a thread of its own, so that it takes time and memory from
// nobody: a job that runs too long, or takes too much memory, ends with its thread. Jobs of different owners take
// turns.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Bounds of the thread. */
export interface BoundedWorkerOptions {
  /** Module of the thread. It posts one message when it is ready, and then one answer for each message. */
  readonly module: URL;
  /** Milliseconds that one job may run; the start of the thread does not count. */
  readonly deadlineMs: number;
  /** Megabytes of the thread's heap. */
  readonly memoryMegabytes: number;
}

/** Thrown for a job that was ended; the message says by which bound. */
export class BoundExceeded extends Error {
  override readonly name = 'BoundExceeded';
}

/** A thread that runs one job after the other. */
export interface BoundedWorker<Input, Output> {
  /**
   * Runs one job. Waiting jobs of different owners take turns, whoever has most of them.
   * @throws BoundExceeded (rejects) when it runs too long or takes too much memory; Error when the worker is closed
   */
  run(owner: string, input: Input): Promise<Output>;
  close(): void;
}

interface Job {
  readonly input: unknown;
  readonly resolve: (output: never) => void;
  readonly reject: (error: Error) => void;
}

/** Starts no thread before the first job. */
export function makeBoundedWorker<Input, Output>(options: BoundedWorkerOptions): BoundedWorker<Input, Output> {
  const { deadlineMs, memoryMegabytes } = options;
  /** Waiting jobs by owner. The owner whose turn it is comes first. */
  const waiting = new Map<string, Job[]>();
  let thread: Promise<Worker> | undefined;
  let isRunning = false;
  let isClosed = false;

  const readyThread = (): Promise<Worker> =>
    (thread ??= startThread(options).catch((error: unknown) => {
      thread = undefined;
      throw error;
    }));
  const endThread = (): void => {
    void thread?.then(
      (worker) => worker.terminate(),
      () => undefined,
    );
    thread = undefined;
  };

  const runOne = async ({ input, resolve, reject }: Job): Promise<void> => {
    try {
      resolve((await answerOf(await readyThread(), input, deadlineMs, memoryMegabytes)) as never);
    } catch (error) {
      endThread();
      reject(error as Error);
    }
  };
  const runWaiting = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    for (let job = takeNext(waiting); job !== undefined; job = takeNext(waiting)) await runOne(job);
    isRunning = false;
  };

  return {
    run(owner, input) {
      if (isClosed) return Promise.reject(new Error('the worker is closed'));
      return new Promise((resolve, reject) => {
        const jobs = waiting.get(owner) ?? [];
        jobs.push({ input, resolve, reject });
        waiting.set(owner, jobs);
        void runWaiting();
      });
    },
    close() {
      isClosed = true;
      for (const { reject } of [...waiting.values()].flat()) reject(new Error('the worker is closed'));
      waiting.clear();
      endThread();
    },
  };
}

/** Takes one job of the first owner, who then stands behind all others. */
function takeNext(waiting: Map<string, Job[]>): Job | undefined {
  const first = waiting.entries().next();
  if (first.done) return undefined;
  const [owner, jobs] = first.value;
  const job = jobs.shift();
  waiting.delete(owner);
  if (jobs.length > 0) waiting.set(owner, jobs);
  return job;
}

async function startThread({ module, memoryMegabytes }: BoundedWorkerOptions): Promise<Worker> {
  const worker = new Worker(module, {
    resourceLimits: { maxOldGenerationSizeMb: memoryMegabytes, maxYoungGenerationSizeMb: 16 },
  });
  // A thread that waits for work keeps no process alive. An error of it is told to whoever waits for its answer.
  worker.unref();
  worker.on('error', () => undefined);
  await once(worker, 'message');
  return worker;
}

/** Sends a job to the thread and waits for its answer. @throws BoundExceeded */
function answerOf(worker: Worker, input: unknown, deadlineMs: number, memoryMegabytes: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      over();
      reject(new BoundExceeded(`took longer than ${deadlineMs} ms`));
    }, deadlineMs);
    const onMessage = (output: unknown): void => {
      over();
      resolve(output);
    };
    const onError = (error: Error & { readonly code?: string }): void => {
      over();
      const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      reject(isMemory ? new BoundExceeded(`took more than ${memoryMegabytes} MB of memory`) : error);
    };
    const onExit = (): void => {
      over();
      reject(new Error('the worker is closed'));
    };
    const over = (): void => {
      clearTimeout(timer);
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
    };
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    try {
      worker.postMessage(input, []);
    } catch (error) {
      // What cannot be cloned, such as an object that is nested too deep.
      over();
      reject(error as Error);
    }
  });
}
