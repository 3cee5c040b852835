// One worker: the same frontend as that of a single process, over what the first process tells. Easy to get wrong:
// messages that come while it starts are about what it was started with, so they wait until it has; and a connection
// may come only after that.
import type { Socket } from 'node:net';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import { startAudit } from '../audit/audit.ts';
import { makeFrontend, makeWays } from '../start/frontend.ts';
import { drain, flushMs } from '../open-streams/drain.ts';
import type { OpenServer } from '../start/tls-server.ts';
import { makeLog } from '../operations/log.ts';
import { startOutgoingIdentities } from '../start/outgoing.ts';
import { startAuthorizer, startUsers } from '../start/users.ts';
import { makeClusterReader } from './cluster-wire.ts';
import type { Credential } from '../../cache/model/records.ts';
import type { MetricReading, ToWorker, WorkerStart } from './messages.ts';
import { makeReplicaStore } from './replica-store.ts';
import {
  makeReplicaChecks,
  makeReplicaFiles,
  makeReplicaHub,
  makeReplicaServing,
  makeReplicaSinks,
} from './replica-inputs.ts';
import type { FirstProcess } from './replica-inputs.ts';
import { makeReplicaCredentials } from './replica-credentials.ts';
import { errorOfWire } from './wire-error.ts';

/** A worker that serves. */
export interface Worker {
  /** Takes a connection of a client, as the listening socket accepted it. */
  accept(socket: Socket): void;
  tell(message: ToWorker): void;
}

/** For connections to close that were cut. */
const closingMs = 500;

/** Starts it. @throws Error when what it was told cannot be used */
export async function startWorker(start: WorkerStart, first: FirstProcess): Promise<Worker> {
  const { config, version } = start;
  const log = makeLog(config.logLevel);
  let unready = false;
  const credentials = makeReplicaCredentials({
    ask: async (id) => (await first.ask({ what: 'credential', id })) as Credential,
    tellRefused: (id) => first.send({ kind: 'credential-refused', id }),
  });
  const reader = makeClusterReader(credentials.of, config.hub?.memberAddresses);
  const store = makeReplicaStore(start.clusters, reader, (error) =>
    log.error({ err: error }, 'a listener of the cluster store failed'),
  );
  const ways = makeWays(store, config);
  const files = makeReplicaFiles(start.files, log);
  const hub = config.hub && makeReplicaHub(config.hub, start.trust, first, log);
  const users = await startUsers(config, files, log, hub?.access);
  const authorizer = await startAuthorizer(config, files, hub?.access);
  const outgoing = await startOutgoingIdentities(config.outgoing, files);
  const sinks = makeReplicaSinks(start.sinks, config.audit, first);
  const audit =
    config.audit &&
    (await startAudit(config.audit, { reloading: files, log, dataDir: config.dataDir, sinks: sinks.sinks }));
  const tracing =
    config.tracing && (await import('../tracing/tracing.ts')).startTracing(config.tracing, { log, version });
  const checks = makeReplicaChecks(start.checks, () => unready);
  const frontend = makeFrontend({
    ...ways,
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
    checks: checks.checks,
    reloadFaults: () => [],
  });
  const serving = makeReplicaServing(start.serving);
  const connections = trackConnections((closed) => first.send({ kind: 'closed', connections: closed }));
  let accept: ((socket: Socket) => void) | undefined;
  const openServer: OpenServer = (tls, at) => {
    tls.on('error', () => undefined);
    accept = (socket) => void tls.emit('connection', socket);
    return Promise.resolve(at.port);
  };
  const listener = await frontend.open(serving, openServer);

  const end = async (): Promise<void> => {
    await drain({
      listener: {
        drain() {
          // It does not listen, so its own word comes at once.
          void listener.drain();
          return connections.whenNone();
        },
      },
      openStreams: ways.openStreams,
      setUnready: () => (unready = true),
      setRefusing: () => frontend.refuse(),
      delayMs: 0,
      graceMs: config.shutdownGraceMs,
    });
    listener.close();
    // What cut connections still tell is recorded.
    await Promise.race([connections.whenNone(), new Promise((resolve) => setTimeout(resolve, closingMs))]);
    await tracing?.flush(flushMs);
    first.send({ kind: 'drained' });
  };
  const probed = (found: Extract<ToWorker, { kind: 'probed' }>['found']): void => {
    for (const [uid, fault] of found) {
      const spec = store.getByUid(uid)?.spec;
      if (spec === undefined) continue;
      const breaker = ways.connections.breaker(spec);
      if (fault === undefined) breaker.succeed();
      else breaker.trip(errorOfWire(fault));
    }
  };

  return {
    accept(socket) {
      connections.add(socket);
      accept?.(socket);
    },
    tell(message) {
      switch (message.kind) {
        case 'clusters':
          return store.apply(message.events);
        case 'file':
          return files.tell(message.label, message.texts);
        case 'serving':
          return serving.tell(message.pair);
        case 'trust':
          return hub?.tell(message.data);
        case 'checks':
          return checks.tell(message.checks);
        case 'probed':
          return probed(message.found);
        case 'forget-credential':
          return credentials.forget(message.id);
        case 'sinks':
          return sinks.tell(message.accepting);
        case 'read-metrics':
          return void frontend.registry.getMetricsAsJSON().then((all) => {
            first.send({ kind: 'metrics', metrics: all.flatMap(readingOf) });
          });
        case 'unready':
          unready = true;
          return;
        case 'drain':
          return void end();
        default:
          throw new Error(`a message of kind ${message.kind} comes at the start only`);
      }
    },
  };
}

/** Those of which the first process has its own are not told. */
function readingOf(metric: MetricObjectWithValues<MetricValue<string>>): MetricReading[] {
  const { name, help, type, aggregator, values } = metric as unknown as MetricReading;
  return aggregator === 'first' || aggregator === 'omit' ? [] : [{ name, help, type, aggregator, values }];
}

/** Counts connections; how many closed in one turn is told together. */
function trackConnections(tellClosed: (closed: number) => void): {
  add(socket: Socket): void;
  whenNone(): Promise<void>;
} {
  const open = new Set<Socket>();
  let closed = 0;
  let waiting: (() => void)[] = [];
  return {
    add(socket) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        open.delete(socket);
        if (closed === 0)
          setImmediate(() => {
            tellClosed(closed);
            closed = 0;
          });
        closed += 1;
        if (open.size > 0) return;
        for (const resolve of waiting) resolve();
        waiting = [];
      });
    },
    whenNone: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
