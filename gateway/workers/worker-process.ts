// One worker as the first process sees it, from its start to its end. Connections go over Node's IPC channel, where
// each waits until the previous one was accepted. All other messages go over a socket pair, so that many connections
// cannot delay a ping or a shutdown.
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { extname } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { makeChannel } from './channel.ts';
import type { Channel } from './channel.ts';
import type { FromWorker, MetricReading, Port, ReadyWorker, ToWorker } from './messages.ts';
import type { StartFault } from './wire-error.ts';

/** A worker process, with the functions by which the first process controls it. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  /** True once the worker has started and answers requests. */
  readonly isReady: boolean;
  /** True when the worker should get connections: its readyz succeeds, and it has sent a message lately. */
  readonly isHealthy: boolean;
  /** The data that the worker sent when it had started; undefined before. */
  readonly ready: ReadyWorker | undefined;
  /** Number of connections that were given to the worker and that it has not reported as closed. */
  readonly connections: number;
  /** The last metrics that the worker sent. */
  readonly metrics: readonly MetricReading[];
  send(message: ToWorker): void;
  /** Hands a connection to the worker. The caller of this function must not use the socket any more. */
  take(socket: Socket, port: Port): void;
  /** Asks the worker for its metrics. Resolves when they have arrived, or after `timeoutMs`. */
  readMetrics(timeoutMs: number): Promise<void>;
  /** Kills the process. */
  kill(): void;
}

/** Callbacks by which a worker process reports its state. */
export interface WorkerEvents {
  readonly onReady: (worker: WorkerProcess) => void;
  /** Called when {@link WorkerProcess.isHealthy} may have changed. */
  readonly onHealth: (worker: WorkerProcess) => void;
  /**
   * Called with each message that is for the gateway; messages about the process itself, such as `ready` or `pong`, are
   * handled here.
   */
  readonly onMessage: (worker: WorkerProcess, message: FromWorker) => void;
  /** Called when the process has ended and all its messages were handled. */
  readonly onEnd: (worker: WorkerProcess, how: WorkerEnd) => void;
}

/** How a worker ended. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** True when the worker was asked to drain and has finished all its requests. */
  readonly isDrained: boolean;
  /** Why the worker could not start; undefined unless it is a fault that the operator can fix. */
  readonly fault: StartFault | undefined;
  /** Connections for this worker that have not left the first process yet. */
  readonly unsent: readonly UnsentSocket[];
}

/** A connection that was given to a worker and did not reach it, and the listener that accepted it. */
export type UnsentSocket = readonly [Socket, Port];

const pingIntervalMs = 5_000;
/** A worker that has sent nothing for this many milliseconds gets no connections while other workers are healthy. */
const lateMs = 2 * pingIntervalMs;
/** A worker that has sent nothing for this many milliseconds is killed, because its event loop must be blocked. */
const lostMs = 30_000;
/**
 * A starting worker that has sent nothing for this many milliseconds is killed. A worker sends its first message when
 * its code is loaded, which may take long on a busy machine.
 */
const startingMs = 300_000;

/** Starts a worker process. The first message sent to it must be its start message. */
export function forkWorker(events: WorkerEvents): WorkerProcess {
  return new ForkedWorker(events);
}

class ForkedWorker implements WorkerProcess {
  readonly #events: WorkerEvents;
  readonly #child: ChildProcess;
  readonly #channel: Channel<ToWorker>;
  readonly #pinging: NodeJS.Timeout;
  /** Resolves when the channel has ended and all messages that the worker sent were handled. */
  readonly #heardAll = Promise.withResolvers<void>();
  /**
   * Connections in the queue of Node's IPC channel. When the worker ends, Node drops this queue but leaves the
   * connections open.
   */
  readonly #unsent = new Map<Socket, Port>();
  #ready: ReadyWorker | undefined;
  #isHealthy = false;
  #fault: StartFault | undefined;
  #isDrained = false;
  #connections = 0;
  #metrics: readonly MetricReading[] = [];
  #metricsRead: (() => void)[] = [];
  #heardAtMs = performance.now();

  constructor(events: WorkerEvents) {
    this.#events = events;
    const file = fileURLToPath(new URL(`./worker-main${extname(import.meta.url)}`, import.meta.url));
    this.#child = fork(file, [], { stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'] });
    this.#channel = makeChannel<FromWorker, ToWorker>(this.#child.stdio[4] as Duplex, {
      onMessage: (message) => this.#receive(message),
      onEnd: () => {
        // Without the channel the worker gets no more messages, so it could act on outdated data. Therefore it is
        // killed.
        this.#ready = undefined;
        this.#child.kill('SIGKILL');
        this.#heardAll.resolve();
      },
    });
    this.#pinging = setInterval(() => this.#ping(), pingIntervalMs).unref();
    this.#child.once('error', () => this.#channel.destroy());
    void Promise.all([exitOf(this.#child), this.#heardAll.promise]).then(([exit]) => this.#end(exit));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isReady(): boolean {
    return this.#ready !== undefined;
  }

  get isHealthy(): boolean {
    return this.#isHealthy && performance.now() - this.#heardAtMs < lateMs;
  }

  get ready(): ReadyWorker | undefined {
    return this.#ready;
  }

  get connections(): number {
    return this.#connections;
  }

  get metrics(): readonly MetricReading[] {
    return this.#metrics;
  }

  send(message: ToWorker): void {
    this.#channel.send(message);
  }

  /** A property and not a method, so that callers can pass `take` on as a function. */
  readonly take = (socket: Socket, port: Port): void => {
    if (port === 'requests') this.#connections += 1;
    this.#unsent.set(socket, port);
    // An error means that the worker is ending. The connection stays in #unsent and will be given to another worker.
    this.#child.send({ port }, socket, {}, (error) => void (error === null && this.#unsent.delete(socket)));
  };

  readMetrics(timeoutMs: number): Promise<void> {
    if (!this.isReady) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#metricsRead.push(resolve);
    setTimeout(resolve, timeoutMs).unref();
    if (this.#metricsRead.length === 1) this.#channel.send({ kind: 'read-metrics' });
    return promise;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #receive(message: FromWorker): void {
    this.#heardAtMs = performance.now();
    switch (message.kind) {
      case 'pong':
        return;
      case 'ready':
        this.#ready = message.worker;
        return this.#events.onReady(this);
      case 'failed':
        this.#fault = message.fault;
        return;
      case 'health':
        this.#isHealthy = message.isReady;
        return this.#events.onHealth(this);
      case 'closed':
        this.#connections -= message.connections;
        return;
      case 'metrics':
        this.#metrics = message.metrics;
        return this.#settleMetrics();
      case 'drained':
        this.#isDrained = true;
        return;
      default:
        this.#events.onMessage(this, message);
    }
  }

  #ping(): void {
    const silentMs = performance.now() - this.#heardAtMs;
    if (silentMs > (this.isReady ? lostMs : startingMs)) this.kill();
    else this.#channel.send({ kind: 'ping' });
  }

  #settleMetrics(): void {
    for (const resolve of this.#metricsRead.splice(0)) resolve();
  }

  #end(exit: Exit): void {
    this.#ready = undefined;
    clearInterval(this.#pinging);
    this.#settleMetrics();
    this.#events.onEnd(this, { ...exit, isDrained: this.#isDrained, fault: this.#fault, unsent: [...this.#unsent] });
  }
}

type Exit = Pick<WorkerEnd, 'code' | 'signal'>;

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    // A process that could not be started never emits `exit`.
    child.once('error', () => child.pid === undefined && resolve({ code: null, signal: null }));
  });
}
