// Starts all workers of a gateway, replaces each worker that ends unexpectedly, and ends all of them at shutdown. At
// first only one worker starts, so that only one process creates files that may be missing: a certificate authority, a
// token, an index. When a worker cannot start, the next attempt waits for a delay. During a drain no worker is
// replaced.
import { makeBackoff } from '../../lib/backoff.ts';
import type { Backoff } from '../../lib/backoff.ts';
import type { Log } from '../../lib/log.ts';
import type { FromWorker, MetricReading, ToWorker, WorkerStart } from './messages.ts';
import { errorOfStart } from './wire-error.ts';
import { forkWorker } from './worker-process.ts';
import type { UnsentSocket, WorkerEnd, WorkerEvents, WorkerProcess } from './worker-process.ts';

/** All workers of a gateway. */
export interface Supervisor {
  /** Resolves when every worker has been ready once. Rejects when a worker ends before it was ready. */
  readonly ready: Promise<void>;
  /** Sends a message to every worker except `except`, also to workers that are still starting. */
  send(message: ToWorker, except?: WorkerProcess): void;
  /**
   * The healthy worker with the fewest connections. When no worker is healthy, the started worker with the fewest
   * connections; undefined when no worker has started.
   */
  idlest(): WorkerProcess | undefined;
  /** The running workers, each with its slot: a number from 0 on, which the worker that replaces it keeps. */
  list(): readonly (readonly [slot: number, WorkerProcess])[];
  /** How many workers have ended unexpectedly and were replaced. */
  readonly restarts: number;
  /** Asks all ready workers for their metrics. Resolves when all have answered, or after `timeoutMs`. */
  readMetrics(timeoutMs: number): Promise<void>;
  /**
   * Lets all workers finish their requests. Workers that take longer than `timeoutMs` are killed. Resolves when all
   * have ended.
   */
  drain(timeoutMs: number): Promise<void>;
  close(): void;
}

/** What {@link startSupervisor} needs. */
export interface SupervisorOptions {
  readonly workers: number;
  /** Makes the start message for a new worker. */
  readonly start: () => WorkerStart;
  readonly onMessage: (worker: WorkerProcess, message: FromWorker) => void;
  /**
   * Called when a worker has become ready or its health has changed, so that waiting connections can be handed over.
   */
  readonly onReady: () => void;
  /** Called when a worker has ended unexpectedly, with the last metrics it sent. */
  readonly onLost: (metrics: readonly MetricReading[]) => void;
  /** Called with connections that were meant for a worker which ended before it got them. */
  readonly onUnsent: (sockets: readonly UnsentSocket[]) => void;
  readonly log: Log;
  readonly fork?: (events: WorkerEvents) => WorkerProcess;
}

const firstWaitMs = 200;
const longestWaitMs = 30_000;
/**
 * A worker that has served for this many milliseconds counts as stable: after its end, the delay before its replacement
 * starts is the shortest again.
 */
const settledMs = 60_000;

/** Starts the first worker; the others start once it serves. */
export function startSupervisor(options: SupervisorOptions): Supervisor {
  return new RunningSupervisor(options);
}

class RunningSupervisor implements Supervisor {
  readonly ready: Promise<void>;
  readonly #options: SupervisorOptions;
  readonly #slots = new Map<number, WorkerProcess>();
  /** All worker processes that have not ended, including those that are draining. */
  readonly #running = new Set<WorkerProcess>();
  readonly #waits: readonly Backoff[];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #first = Promise.withResolvers<void>();
  #closing = false;
  #restarts = 0;
  #turn = 0;
  #allEnded: (() => void) | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#waits = Array.from({ length: options.workers }, () => makeBackoff(firstWaitMs, longestWaitMs, Math.random));
    this.ready = this.#first.promise;
    this.ready.catch(() => undefined);
    this.#start(0);
  }

  get restarts(): number {
    return this.#restarts;
  }

  send(message: ToWorker, except?: WorkerProcess): void {
    for (const worker of this.#running) if (worker !== except) worker.send(message);
  }

  idlest(): WorkerProcess | undefined {
    const started = this.#ready();
    const healthy = started.filter(({ isHealthy }) => isHealthy);
    const ready = healthy.length > 0 ? healthy : started;
    // Workers with equally few connections get new connections in turn. Otherwise the first worker would get every
    // short connection.
    this.#turn += 1;
    const inTurn = ready.map((_, index) => ready[(this.#turn + index) % ready.length]!);
    return inTurn.reduce<WorkerProcess | undefined>(
      (best, one) => (best === undefined || one.connections < best.connections ? one : best),
      undefined,
    );
  }

  list(): readonly (readonly [slot: number, WorkerProcess])[] {
    return [...this.#slots];
  }

  async readMetrics(timeoutMs: number): Promise<void> {
    await Promise.all([...this.#slots.values()].map((worker) => worker.readMetrics(timeoutMs)));
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#stop();
    if (this.#running.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#allEnded = resolve;
    this.send({ kind: 'drain' });
    const timer = setTimeout(() => this.#kill(), timeoutMs);
    await promise;
    clearTimeout(timer);
  }

  close(): void {
    this.#stop();
    this.#kill();
  }

  #ready(): readonly WorkerProcess[] {
    return [...this.#slots.values()].filter(({ isReady }) => isReady);
  }

  #start(slot: number): void {
    if (this.#closing) return;
    const { log, fork = forkWorker, start, onMessage, onReady, onUnsent, workers } = this.#options;
    let settling: NodeJS.Timeout | undefined;
    // The start message is made before the process is forked, because it must be the first message that the worker
    // gets.
    const message: ToWorker = { kind: 'start', start: start() };
    const worker = fork({
      onReady: () => {
        settling = this.#later(() => this.#waits[slot]!.reset(), settledMs);
        log.info({ worker: slot, workerPid: worker.pid }, 'a worker serves');
        onReady();
        if (this.#restarts === 0 && slot === 0) for (let next = 1; next < workers; next++) this.#start(next);
        if (this.#ready().length === workers) this.#first.resolve();
      },
      onHealth: onReady,
      onMessage,
      onEnd: (_, end) => {
        clearTimeout(settling);
        this.#running.delete(worker);
        this.#slots.delete(slot);
        this.#ended(slot, worker, end);
        onUnsent(end.unsent);
        if (this.#running.size === 0) this.#allEnded?.();
      },
    });
    this.#slots.set(slot, worker);
    this.#running.add(worker);
    worker.send(message);
  }

  #ended(slot: number, worker: WorkerProcess, { code, signal, isDrained, fault }: WorkerEnd): void {
    const { log, onLost } = this.#options;
    const why = fault && errorOfStart(fault);
    this.#first.reject(why ?? new Error(`a worker ended (${signal ?? `code ${code}`}) before it could serve`));
    if (this.#closing) {
      if (!isDrained)
        log.error({ worker: slot, workerPid: worker.pid, code, signal }, 'a worker process did not shut down cleanly');
      return;
    }
    this.#restarts += 1;
    const waitMs = this.#waits[slot]!.next();
    const fields = { worker: slot, workerPid: worker.pid, code, signal, waitMs, fault: why?.message };
    log.error(fields, 'a worker ended; another takes its place');
    onLost(worker.metrics);
    this.#later(() => this.#start(slot), waitMs);
  }

  #later(action: () => void, delayMs: number): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, delayMs).unref();
    this.#timers.add(timer);
    return timer;
  }

  #stop(): void {
    this.#closing = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #kill(): void {
    for (const worker of this.#running) worker.kill();
  }
}
