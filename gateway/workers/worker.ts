// One worker: the same frontend as that of a single process, over what the first process sends. It takes no connection
// and no message before it has started.
import type { Socket } from 'node:net';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Credential } from '../../cache/model/records.ts';
import { startAudit } from '../audit/audit.ts';
import { drain, flushMs } from '../open-streams/drain.ts';
import { makeLog } from '../operations/log.ts';
import type { Log } from '../operations/log.ts';
import { makeFrontend } from '../start/frontend.ts';
import type { Frontend } from '../start/frontend.ts';
import { makeMemberConnections } from '../start/member-connections.ts';
import type { MemberConnections } from '../start/member-connections.ts';
import { startOutgoingIdentities } from '../start/outgoing.ts';
import type { Listener, OpenServer } from '../start/tls-server.ts';
import { startAuthorizer, startUsers } from '../start/users.ts';
import type { RunningTracing } from '../tracing/tracing.ts';
import { makeClusterReader } from './cluster-wire.ts';
import { countConnections } from './connection-count.ts';
import type { ConnectionCount } from './connection-count.ts';
import type { MetricReading, ToWorker, WorkerStart } from './messages.ts';
import { makeReplicaCredentials } from './replica-credentials.ts';
import type { ReplicaCredentials } from './replica-credentials.ts';
import {
  makeReplicaChecks,
  makeReplicaFiles,
  makeReplicaHub,
  makeReplicaServing,
  makeReplicaSinks,
} from './replica-inputs.ts';
import type {
  FirstProcess,
  ReplicaChecks,
  ReplicaFiles,
  ReplicaHub,
  ReplicaServing,
  ReplicaSinks,
} from './replica-inputs.ts';
import { makeReplicaStore } from './replica-store.ts';
import type { ReplicaStore } from './replica-store.ts';
import { errorOfWire } from './wire-error.ts';

/** A worker that serves. */
export interface Worker {
  /** Takes a connection of a client, as the listening socket accepted it. */
  accept(socket: Socket): void;
  receive(message: ToWorker): void;
}

/** Copies of what the first process knows, kept up to date by its messages. */
interface Replicas {
  readonly credentials: ReplicaCredentials;
  readonly store: ReplicaStore;
  readonly files: ReplicaFiles;
  readonly hub: ReplicaHub | undefined;
  readonly sinks: ReplicaSinks;
  readonly checks: ReplicaChecks;
  readonly serving: ReplicaServing;
}

/** Time for connections to close that were cut. */
const closingMs = 500;

/** Starts it. @throws Error when what it was sent cannot be used */
export async function startWorker(start: WorkerStart, first: FirstProcess): Promise<Worker> {
  const { config, version } = start;
  const log = makeLog(config.logLevel);
  let unready = false;
  const replicas = makeReplicas(start, first, log, () => unready);
  const { store, files, hub } = replicas;
  const members = makeMemberConnections(store, config);
  const users = await startUsers(config, files, log, hub?.access);
  const authorizer = await startAuthorizer(config, files, hub?.access);
  const outgoing = await startOutgoingIdentities(config.outgoing, files);
  const { sinks } = replicas.sinks;
  const { dataDir } = config;
  const audit = config.audit && (await startAudit(config.audit, { reloading: files, log, dataDir, sinks }));
  const tracing =
    config.tracing && (await import('../tracing/tracing.ts')).startTracing(config.tracing, { log, version });
  const frontend = makeFrontend({
    ...members,
    config,
    log,
    version,
    store,
    startVersion: start.startVersion,
    users,
    authorizer,
    outgoing,
    audit,
    tracing,
    hub: hub?.client,
    index: undefined,
    checks: replicas.checks.checks,
    reloadFaults: () => [],
  });
  let accept: ((socket: Socket) => void) | undefined;
  const openServer: OpenServer = (tls, at) => {
    tls.on('error', () => undefined);
    accept = (socket) => void tls.emit('connection', socket);
    return Promise.resolve(at.port);
  };
  const listener = await frontend.open(replicas.serving, openServer);
  const { shutdownGraceMs } = config;
  const setUnready = (): void => void (unready = true);
  return new RunningWorker({
    first,
    replicas,
    members,
    frontend,
    listener,
    tracing,
    accept,
    shutdownGraceMs,
    setUnready,
  });
}

function makeReplicas(start: WorkerStart, first: FirstProcess, log: Log, shuttingDown: () => boolean): Replicas {
  const { config } = start;
  const credentials = makeReplicaCredentials({
    ask: async (id) => (await first.ask({ what: 'credential', id })) as Credential,
    sendRefused: (id) => first.send({ kind: 'credential-refused', id }),
  });
  const reader = makeClusterReader(credentials.of, config.hub?.memberAddresses);
  return {
    credentials,
    store: makeReplicaStore(start.clusters, reader, (error) =>
      log.error({ err: error }, 'a listener of the cluster store failed'),
    ),
    files: makeReplicaFiles(start.files, log),
    hub: config.hub && makeReplicaHub(config.hub, start.trust, first, log),
    sinks: makeReplicaSinks(start.sinks, config.audit, first),
    checks: makeReplicaChecks(start.checks, shuttingDown),
    serving: makeReplicaServing(start.serving),
  };
}

/** What a worker that runs consists of. */
interface RunningParts {
  readonly first: FirstProcess;
  readonly replicas: Replicas;
  readonly members: MemberConnections;
  readonly frontend: Frontend;
  readonly listener: Listener;
  readonly tracing: RunningTracing | undefined;
  readonly accept: ((socket: Socket) => void) | undefined;
  readonly shutdownGraceMs: number;
  /** readyz fails from now on. */
  readonly setUnready: () => void;
}

class RunningWorker implements Worker {
  readonly #parts: RunningParts;
  readonly #connections: ConnectionCount;

  constructor(parts: RunningParts) {
    this.#parts = parts;
    this.#connections = countConnections((closed) => parts.first.send({ kind: 'closed', connections: closed }));
  }

  accept(socket: Socket): void {
    this.#connections.add(socket);
    this.#parts.accept?.(socket);
  }

  receive(message: ToWorker): void {
    const { credentials, store, files, hub, sinks, checks, serving } = this.#parts.replicas;
    switch (message.kind) {
      case 'clusters':
        return store.apply(message.events);
      case 'file':
        return files.update(message.label, message.texts);
      case 'serving':
        return serving.update(message.pair);
      case 'trust':
        return hub?.update(message.data);
      case 'checks':
        return checks.update(message.checks);
      case 'probed':
        return this.#takeProbed(message.found);
      case 'forget-credential':
        return credentials.forget(message.id);
      case 'sinks':
        return sinks.update(message.accepting);
      case 'read-metrics':
        return void this.#sendMetrics();
      case 'unready':
        return this.#parts.setUnready();
      case 'drain':
        return void this.#drain();
      default:
        throw new Error(`a message of kind ${message.kind} comes at the start only`);
    }
  }

  #takeProbed(found: Extract<ToWorker, { kind: 'probed' }>['found']): void {
    const { replicas, members } = this.#parts;
    for (const [uid, fault] of found) {
      const spec = replicas.store.getByUid(uid)?.spec;
      if (spec === undefined) continue;
      const breaker = members.connections.breaker(spec);
      if (fault === undefined) breaker.succeed();
      else breaker.trip(errorOfWire(fault));
    }
  }

  async #sendMetrics(): Promise<void> {
    const { first, frontend } = this.#parts;
    const all = await frontend.registry.getMetricsAsJSON();
    first.send({ kind: 'metrics', metrics: all.flatMap(readingOf) });
  }

  async #drain(): Promise<void> {
    const { first, members, frontend, listener, tracing, shutdownGraceMs, setUnready } = this.#parts;
    await drain({
      listener: {
        drain: () => {
          // A worker does not listen itself, so this promise resolves at once; its connections are waited for instead.
          void listener.drain();
          return this.#connections.whenNone();
        },
      },
      openStreams: members.openStreams,
      setUnready,
      setRefusing: () => frontend.refuse(),
      delayMs: 0,
      graceMs: shutdownGraceMs,
    });
    listener.close();
    // The audit events of connections that were cut come when they close.
    await Promise.race([this.#connections.whenNone(), new Promise((resolve) => setTimeout(resolve, closingMs))]);
    await tracing?.flush(flushMs);
    first.send({ kind: 'drained' });
  }
}

/** Nothing for metrics of which the first process has its own. */
function readingOf(metric: MetricObjectWithValues<MetricValue<string>>): MetricReading[] {
  const { name, help, type, aggregator, values } = metric as unknown as MetricReading;
  return aggregator === 'first' || aggregator === 'omit' ? [] : [{ name, help, type, aggregator, values }];
}
