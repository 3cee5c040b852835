// One worker as the first process sees it, from its fork to its end. Sockets go over the channel of fork, where each
// waits until the one before was taken. Everything else goes over a socket pair of its own, so that a flood of
// connections cannot delay a revocation.
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

/** A worker. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  /** It has started. */
  readonly isReady: boolean;
  /** It should get connections: readyz holds there, and it has answered lately. */
  readonly isHealthy: boolean;
  /** What it said when it had started. */
  readonly ready: ReadyWorker | undefined;
  /** Connections it was given and has not closed. */
  readonly connections: number;
  /** The last metrics it sent. */
  readonly metrics: readonly MetricReading[];
  send(message: ToWorker): void;
  /** Hands a connection over; it is the worker's from then on. */
  take(socket: Socket, port: Port): void;
  /** Asks for its metrics; resolves when they are here, or after that time. */
  readMetrics(timeoutMs: number): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

/** What happens to it. */
export interface WorkerEvents {
  readonly onReady: (worker: WorkerProcess) => void;
  /** Whether it is healthy may have changed. */
  readonly onHealth: (worker: WorkerProcess) => void;
  /** Messages that are not about the process itself. */
  readonly onMessage: (worker: WorkerProcess, message: FromWorker) => void;
  /** It has ended and all its messages were received. */
  readonly onEnd: (worker: WorkerProcess, how: WorkerEnd) => void;
}

/** How it ended. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It has drained as it was asked to. */
  readonly isDrained: boolean;
  /** Why it could not start, where that is the operator's to mend. */
  readonly fault: StartFault | undefined;
  /** Connections that were for it and never left this process. */
  readonly unsent: readonly UnsentSocket[];
}

/** A connection that did not reach its worker. */
export type UnsentSocket = readonly [Socket, Port];

const pingIntervalMs = 5_000;
/** A worker that has said nothing for so long gets no connections while another answers. */
const lateMs = 2 * pingIntervalMs;
/** After this time without a message its event loop is taken to be stuck. */
const lostMs = 30_000;
/** The same before it is ready: it sends nothing while it loads its code, which may take long on a busy machine. */
const startingMs = 300_000;

/** Starts a worker; the first message it is sent must be its start message. */
export function forkWorker(events: WorkerEvents): WorkerProcess {
  return new ForkedWorker(events);
}

class ForkedWorker implements WorkerProcess {
  readonly #events: WorkerEvents;
  readonly #child: ChildProcess;
  readonly #channel: Channel<ToWorker>;
  readonly #pinging: NodeJS.Timeout;
  /** Resolves when its channel has ended, so that everything it sent was received. */
  readonly #heardAll = Promise.withResolvers<void>();
  /** Connections that wait until the one before was taken. Node forgets them, still open, when the worker ends. */
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
        // Without the channel nothing the worker answers can be trusted to be up to date.
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

  /** A property, as it is passed on as a function. */
  readonly take = (socket: Socket, port: Port): void => {
    if (port === 'requests') this.#connections += 1;
    this.#unsent.set(socket, port);
    // With an error the worker is ending, and its `unsent` connections go to another one.
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
    // A process that could not be started at all has no exit.
    child.once('error', () => child.pid === undefined && resolve({ code: null, signal: null }));
  });
}
