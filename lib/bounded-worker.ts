// Runs untrusted work, such as evaluating an expression that a user wrote, in a worker thread with limits. When a job
// runs too long or takes too much memory, the thread is terminated. Jobs of different owners take turns, so that one
// owner with many jobs does not delay the others.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** The module that runs in the thread, and the limits of each job. */
export interface BoundedWorkerOptions {
  /** Module of the thread. It posts one message when it is ready, and then one answer for each message. */
  readonly module: URL;
  /** Milliseconds that one job may run; the start of the thread does not count. */
  readonly deadlineMs: number;
  /** Maximum size of the thread's heap in megabytes. */
  readonly memoryMegabytes: number;
}

/** Thrown for a job that exceeded a limit and was ended; the message names the limit. */
export class BoundExceeded extends Error {
  override readonly name = 'BoundExceeded';
}

/** A thread that runs one job after the other. */
export interface BoundedWorker<Input, Output> {
  /**
   * Runs one job. Waiting jobs of different owners take turns, no matter how many each owner has.
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

/** Makes a worker. Its thread is started when the first job comes. */
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

/** Takes one job of the owner whose turn it is, and moves this owner behind all others. */
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
  // An idle thread must not keep the process alive. Errors of the thread are handled in answerOf(); this listener only
  // keeps an error between two jobs from ending the process.
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
      // postMessage() throws for input that cannot be cloned, such as an object that is nested too deeply.
      over();
      reject(error as Error);
    }
  });
}
