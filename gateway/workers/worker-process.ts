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
import type { FromWorker, MetricReading, ToWorker } from './messages.ts';

/** A worker. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  /** It has what it needs to serve. */
  readonly isReady: boolean;
  /** Connections it was given and has not closed. */
  readonly connections: number;
  /** The last metrics it sent. */
  readonly metrics: readonly MetricReading[];
  send(message: ToWorker): void;
  /** Hands a connection over; it is the worker's from then on. */
  take(socket: Socket): void;
  /** Asks for its metrics; resolves when they are here, or after that time. */
  readMetrics(timeoutMs: number): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

/** What happens to it. */
export interface WorkerEvents {
  readonly onReady: (worker: WorkerProcess) => void;
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
  /** Connections that were for it and never left this process. */
  readonly unsent: readonly Socket[];
}

const pingIntervalMs = 5_000;
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
  readonly #unsent = new Set<Socket>();
  #isReady = false;
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
        this.#isReady = false;
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
    return this.#isReady;
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
  readonly take = (socket: Socket): void => {
    this.#connections += 1;
    this.#unsent.add(socket);
    // With an error the worker is ending, and its `unsent` connections go to another one.
    this.#child.send({}, socket, {}, (error) => void (error === null && this.#unsent.delete(socket)));
  };

  readMetrics(timeoutMs: number): Promise<void> {
    if (!this.#isReady) return Promise.resolve();
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
        this.#isReady = true;
        return this.#events.onReady(this);
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
    if (silentMs > (this.#isReady ? lostMs : startingMs)) this.kill();
    else this.#channel.send({ kind: 'ping' });
  }

  #settleMetrics(): void {
    for (const resolve of this.#metricsRead.splice(0)) resolve();
  }

  #end(exit: Exit): void {
    this.#isReady = false;
    clearInterval(this.#pinging);
    this.#settleMetrics();
    this.#events.onEnd(this, { ...exit, isDrained: this.#isDrained, unsent: [...this.#unsent] });
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
