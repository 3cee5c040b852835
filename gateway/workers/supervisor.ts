// All workers of a gateway: started together, replaced when one ends, ended together. Easy to get wrong: one that
// cannot start must not be started again and again at once, and one that ends while the gateway drains is not replaced.
import type { Socket } from 'node:net';
import { makeBackoff } from '../../lib/backoff.ts';
import type { Backoff } from '../../lib/backoff.ts';
import type { Log } from '../operations/log.ts';
import type { FromWorker, MetricReading, ToWorker, WorkerStart } from './messages.ts';
import { forkWorker } from './worker-process.ts';
import type { WorkerEnd, WorkerEvents, WorkerProcess } from './worker-process.ts';

/** See the file comment. */
export interface Supervisor {
  /** Resolves when all have been ready once; rejects when one ends before. */
  readonly ready: Promise<void>;
  /** Tells every worker, those that start included. */
  tell(message: ToWorker, except?: WorkerProcess): void;
  /** The worker with the fewest connections of those that serve; undefined while there is none. */
  idlest(): WorkerProcess | undefined;
  /** Those that run, by the slot they fill. */
  list(): readonly (readonly [slot: number, WorkerProcess])[];
  /** Workers that ended by themselves and were replaced. */
  readonly restarts: number;
  /** Asks all that serve for their metrics. */
  readMetrics(timeoutMs: number): Promise<void>;
  /** Ends all in good order; those that are not done after that time are killed. Resolves when all have ended. */
  drain(timeoutMs: number): Promise<void>;
  close(): void;
}

/** What a supervisor depends on. */
export interface SupervisorOptions {
  readonly workers: number;
  /** What a worker that starts now is told first. */
  readonly start: () => WorkerStart;
  readonly onMessage: (worker: WorkerProcess, message: FromWorker) => void;
  /** One more serves. */
  readonly onReady: () => void;
  /** One has ended unasked: its metrics as last told. */
  readonly onLost: (metrics: readonly MetricReading[]) => void;
  /** Connections that were given to a worker and did not reach it. */
  readonly onUnsent: (sockets: readonly Socket[]) => void;
  readonly log: Log;
  readonly fork?: (events: WorkerEvents) => WorkerProcess;
}

const firstWaitMs = 200;
const longestWaitMs = 30_000;
/** One that has served for so long was no failed start. */
const settledMs = 60_000;

/** Starts them. */
export function startSupervisor(options: SupervisorOptions): Supervisor {
  const { log, fork = forkWorker } = options;
  const slots = new Map<number, WorkerProcess>();
  const running = new Set<WorkerProcess>();
  const waits = Array.from({ length: options.workers }, () => makeBackoff(firstWaitMs, longestWaitMs, Math.random));
  const timers = new Set<NodeJS.Timeout>();
  const first = Promise.withResolvers<void>();
  let closing = false;
  let restarts = 0;
  let turn = 0;
  let allEnded: (() => void) | undefined;

  const later = (action: () => void, delayMs: number): NodeJS.Timeout => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, delayMs).unref();
    timers.add(timer);
    return timer;
  };
  const start = (slot: number): void => {
    if (closing) return;
    let settling: NodeJS.Timeout | undefined;
    // Made before it is one of those who are told, and sent before anything else can be.
    const message: ToWorker = { kind: 'start', start: options.start() };
    const worker = fork({
      onReady() {
        settling = later(() => waits[slot]!.reset(), settledMs);
        log.info({ worker: slot, workerPid: worker.pid }, 'a worker serves');
        options.onReady();
        if ([...slots.values()].filter(({ isReady }) => isReady).length === options.workers) first.resolve();
      },
      onMessage: options.onMessage,
      onEnd(_, how) {
        clearTimeout(settling);
        running.delete(worker);
        slots.delete(slot);
        ended(slot, worker, how, waits[slot]!);
        options.onUnsent(how.unsent);
        if (running.size === 0) allEnded?.();
      },
    });
    slots.set(slot, worker);
    running.add(worker);
    worker.send(message);
  };
  const ended = (
    slot: number,
    worker: WorkerProcess,
    { code, signal, isDrained }: Omit<WorkerEnd, 'unsent'>,
    wait: Backoff,
  ): void => {
    first.reject(new Error(`a worker ended (${signal ?? `code ${code}`}) before it could serve`));
    if (closing) {
      if (!isDrained) log.error({ worker: slot, workerPid: worker.pid, code, signal }, 'a worker did not end in order');
      return;
    }
    restarts += 1;
    const waitMs = wait.next();
    log.error({ worker: slot, workerPid: worker.pid, code, signal, waitMs }, 'a worker ended; another takes its place');
    options.onLost(worker.metrics);
    later(() => start(slot), waitMs);
  };

  const stop = (): void => {
    closing = true;
    for (const timer of timers) clearTimeout(timer);
  };
  const close = (): void => {
    stop();
    for (const worker of running) worker.kill();
  };
  for (let slot = 0; slot < options.workers; slot++) start(slot);
  first.promise.catch(() => undefined);
  return {
    ready: first.promise,
    tell(message, except) {
      for (const worker of running) if (worker !== except) worker.send(message);
    },
    idlest() {
      const ready = [...slots.values()].filter(({ isReady }) => isReady);
      // In turns among equals, or the first would get every connection that is short.
      turn += 1;
      const inTurn = ready.map((_, index) => ready[(turn + index) % ready.length]!);
      return inTurn.reduce<WorkerProcess | undefined>(
        (best, one) => (best === undefined || one.connections < best.connections ? one : best),
        undefined,
      );
    },
    list: () => [...slots],
    get restarts() {
      return restarts;
    },
    readMetrics: async (timeoutMs) =>
      void (await Promise.all([...slots.values()].map((worker) => worker.readMetrics(timeoutMs)))),
    async drain(timeoutMs) {
      stop();
      if (running.size === 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      allEnded = resolve;
      for (const worker of running) worker.send({ kind: 'drain' });
      const timer = setTimeout(() => {
        for (const worker of running) worker.kill();
      }, timeoutMs);
      await promise;
      clearTimeout(timer);
    },
    close,
  };
}
