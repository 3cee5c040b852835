// One worker as the first process sees it, from its fork to its end. Easy to get wrong: sockets go over the channel of
// fork, where each waits until the one before was taken, everything else over a socket pair of its own, so that a flood
// of connections cannot hold back a revocation.
import { fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { extname } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { makeChannel } from './channel.ts';
import type { FromWorker, MetricReading, ToWorker } from './messages.ts';

/** See the file comment. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  /** It has what it needs to serve. */
  readonly isReady: boolean;
  /** Connections it was given and has not closed. */
  readonly connections: number;
  /** Metrics as it last told them. */
  readonly metrics: readonly MetricReading[];
  send(message: ToWorker): void;
  /** Hands a connection over; it is the worker's from then on. */
  take(socket: Socket): void;
  /** Asks for its metrics; resolves when they are here, or after that time. */
  readMetrics(timeoutMs: number): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

/** What is told of it. */
export interface WorkerEvents {
  readonly onReady: (worker: WorkerProcess) => void;
  /** Messages that are not about the process itself. */
  readonly onMessage: (worker: WorkerProcess, message: FromWorker) => void;
  /** It has ended and everything it said was heard. */
  readonly onEnd: (worker: WorkerProcess, how: WorkerEnd) => void;
}

/** How it ended. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It was told to drain and has done so. */
  readonly isDrained: boolean;
  /** Connections that were for it and never left this process. */
  readonly unsent: readonly Socket[];
}

const pingIntervalMs = 5_000;
/** Without a word for so long, its event loop stands still for good. */
const lostMs = 30_000;
/** It says nothing while it loads its code, which a machine short of CPU draws out. */
const startingMs = 300_000;

/** Starts one; what it is to start with is the first message to be sent. */
export function forkWorker({ onReady, onMessage, onEnd }: WorkerEvents): WorkerProcess {
  const file = fileURLToPath(new URL(`./worker-main${extname(import.meta.url)}`, import.meta.url));
  const child = fork(file, [], { stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'] });
  let isReady = false;
  let isDrained = false;
  let connections = 0;
  let metrics: readonly MetricReading[] = [];
  let metricsRead: (() => void)[] = [];
  let heardAtMs = performance.now();
  /** Those that wait until the one before was taken; Node forgets them, still open, when the worker ends. */
  const unsent = new Set<Socket>();
  const heard = Promise.withResolvers<void>();

  const settleMetrics = (): void => {
    for (const resolve of metricsRead.splice(0)) resolve();
  };
  const receive = (message: FromWorker): void => {
    heardAtMs = performance.now();
    switch (message.kind) {
      case 'pong':
        return;
      case 'ready':
        isReady = true;
        return onReady(worker);
      case 'closed':
        connections -= message.connections;
        return;
      case 'metrics':
        metrics = message.metrics;
        return settleMetrics();
      case 'drained':
        isDrained = true;
        return;
      default:
        onMessage(worker, message);
    }
  };
  const channel = makeChannel<FromWorker, ToWorker>(child.stdio[4] as Duplex, {
    onMessage: receive,
    onEnd: () => {
      // Without it nothing of it can be trusted to be of today.
      isReady = false;
      child.kill('SIGKILL');
      heard.resolve();
    },
  });
  const pinging = setInterval(() => {
    if (performance.now() - heardAtMs > (isReady ? lostMs : startingMs)) child.kill('SIGKILL');
    else channel.send({ kind: 'ping' });
  }, pingIntervalMs).unref();
  child.once('error', () => channel.destroy());
  const ended = new Promise<Pick<WorkerEnd, 'code' | 'signal'>>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    // It could not be started at all.
    child.once('error', () => child.pid === undefined && resolve({ code: null, signal: null }));
  });
  void Promise.all([ended, heard.promise]).then(([how]) => {
    isReady = false;
    clearInterval(pinging);
    settleMetrics();
    onEnd(worker, { ...how, isDrained, unsent: [...unsent] });
  });

  const worker: WorkerProcess = {
    pid: child.pid,
    get isReady() {
      return isReady;
    },
    get connections() {
      return connections;
    },
    get metrics() {
      return metrics;
    },
    send: (message) => channel.send(message),
    take(socket) {
      connections += 1;
      unsent.add(socket);
      // With an error it ends, and gives back what it did not get.
      child.send({}, socket, {}, (error) => void (error === null && unsent.delete(socket)));
    },
    readMetrics(timeoutMs) {
      if (!isReady) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      metricsRead.push(resolve);
      setTimeout(resolve, timeoutMs).unref();
      if (metricsRead.length === 1) channel.send({ kind: 'read-metrics' });
      return promise;
    },
    kill: () => void child.kill('SIGKILL'),
  };
  return worker;
}
