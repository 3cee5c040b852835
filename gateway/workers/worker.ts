// One worker: a complete gateway whose connections are accepted by the first process. It gets no connections before it
// has started.
import type { Server, Socket } from 'node:net';
import type { Registry } from 'prom-client';
import type { ExecResult } from '../../cache/credentials/exec-run.ts';
import type { PeerMessage } from '../../sync/shared/peers.ts';
import { makeLog } from '../../lib/log.ts';
import { startGateway } from '../start/gateway.ts';
import type { OwnGateway } from '../start/gateway.ts';
import type { Host } from '../parts/host.ts';
import { countConnections } from './connection-count.ts';
import type { ConnectionCount } from './connection-count.ts';
import type { MetricReading, Port, ToWorker, WorkerStart } from './messages.ts';
import { makeSentSinks } from './sinks.ts';
import type { FirstProcess, SentSinks } from './sinks.ts';

/** A worker that has started and can take connections. */
export interface Worker {
  /** Takes a connection that the first process has accepted. Nothing was read from it yet. */
  accept(socket: Socket, port: Port): void;
  receive(message: ToWorker): void;
}

/** Milliseconds for which a drain waits, after it has cut connections, until they have closed. */
const closingMs = 500;
/** Milliseconds between two checks of the worker's own readyz. There is no event for a change of its result. */
const healthEveryMs = 200;

/** Starts the gateway of a worker and reports it as ready. @throws as `startGateway` does */
export async function startWorker(start: WorkerStart, first: FirstProcess): Promise<Worker> {
  const { config, version, sinks } = start;
  const hosted = new HostedParts(first, makeSentSinks(sinks, config.audit, first));
  const log = makeLog(config.logLevel);
  const gateway = await startGateway({ ...config, shutdownDelayMs: 0 }, log, version, hosted);
  first.send({
    kind: 'ready',
    worker: { caFile: gateway.caFile, selfToken: gateway.selfToken, opsUrl: gateway.opsUrl },
  });
  void gateway.indexNote?.then((text) => first.send({ kind: 'note', text }));
  return new RunningWorker(first, hosted, gateway);
}

/** The tasks that the first process does for this worker, and that a gateway without workers does itself. */
class HostedParts implements Host {
  readonly sent: SentSinks;
  readonly count: ConnectionCount;
  readonly connections: Host['connections'];
  readonly #first: FirstProcess;
  readonly #listeners = new Set<(message: PeerMessage) => void>();
  readonly #servers = new Map<Port, Server>();
  #registry: Registry | undefined;
  #isEnding = false;

  constructor(first: FirstProcess, sent: SentSinks) {
    this.#first = first;
    this.sent = sent;
    this.count = countConnections((closed) => first.send({ kind: 'closed', connections: closed }));
    this.connections = {
      open: (tls, at) => {
        tls.on('error', () => undefined);
        this.#servers.set('requests', tls);
        return Promise.resolve(at.port);
      },
      whenNone: () => this.count.whenNone(),
    };
  }

  get auditSinks(): Host['auditSinks'] {
    return this.sent.sinks;
  }

  readonly plugins: Host['plugins'] = {
    run: async ({ signal, ...run }) => {
      if (signal?.aborted === true) return { kind: 'aborted', stderr: '' };
      return (await this.#first.ask({ what: 'plugin', run })) as ExecResult;
    },
  };

  readonly indexPeers: Host['indexPeers'] = {
    send: (message) => this.#first.send({ kind: 'peer', message }),
    onMessage: (listener) => {
      this.#listeners.add(listener);
      return () => void this.#listeners.delete(listener);
    },
    isEnding: () => this.#isEnding,
  };

  readonly openOperations: Host['openOperations'] = (server, at) => {
    server.on('error', () => undefined);
    this.#servers.set('operations', server);
    return Promise.resolve(at.port);
  };

  readonly metricsPage: Host['metricsPage'] = (own) => {
    this.#registry = own;
    return {
      contentType: own.contentType,
      metrics: async () => (await this.#first.ask({ what: 'metrics' })) as string,
    };
  };

  readonly isEnding = (): boolean => this.#isEnding;

  end(): void {
    this.#isEnding = true;
  }

  take(socket: Socket, port: Port): void {
    if (port === 'requests') this.count.add(socket);
    this.#servers.get(port)?.emit('connection', socket);
    // Sockets arrive paused. The TLS server for requests resumes them by itself; the operations server does not.
    if (port === 'operations') socket.resume();
  }

  hear(message: PeerMessage): void {
    for (const listener of this.#listeners) listener(message);
  }

  async readings(): Promise<readonly MetricReading[]> {
    const all = (await this.#registry?.getMetricsAsJSON()) as readonly MetricReading[] | undefined;
    return (all ?? []).map(({ name, help, type, aggregator, values }) => ({ name, help, type, aggregator, values }));
  }
}

class RunningWorker implements Worker {
  readonly #first: FirstProcess;
  readonly #hosted: HostedParts;
  readonly #gateway: OwnGateway;

  constructor(first: FirstProcess, hosted: HostedParts, gateway: OwnGateway) {
    this.#first = first;
    this.#hosted = hosted;
    this.#gateway = gateway;
    let reported: boolean | undefined;
    const look = (): void => {
      const isReady = gateway.isReady();
      if (isReady !== reported) first.send({ kind: 'health', isReady });
      reported = isReady;
    };
    look();
    setInterval(look, healthEveryMs).unref();
  }

  accept(socket: Socket, port: Port): void {
    this.#hosted.take(socket, port);
  }

  receive(message: ToWorker): void {
    switch (message.kind) {
      case 'sinks':
        return this.#hosted.sent.update(message.accepting);
      case 'peer':
        return this.#hosted.hear(message.message);
      case 'read-metrics':
        return void this.#sendMetrics();
      case 'unready':
        return this.#hosted.end();
      case 'drain':
        return void this.#drain();
      default:
        throw new Error(`a message of kind ${message.kind} comes at the start only`);
    }
  }

  async #sendMetrics(): Promise<void> {
    this.#first.send({ kind: 'metrics', metrics: await this.#hosted.readings() });
  }

  async #drain(): Promise<void> {
    await this.#gateway.drain();
    // Connections that were cut write their audit events when they close. The worker waits for these events.
    await Promise.race([this.#hosted.count.whenNone(), new Promise((resolve) => setTimeout(resolve, closingMs))]);
    this.#first.send({ kind: 'drained' });
  }
}
