// The workers of one gateway together with everything the first process sends them: what each starts with, every change
// after that, and the answers to their questions. A worker's start message and all later ones go down one channel in
// order, so a change that happens while it starts is not lost.
import { isDeepStrictEqual } from 'node:util';
import type { CredentialSource } from '../../cache/model/records.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import { limitsOfWorker } from '../config/workers-config.ts';
import type { HealthCheck } from '../operations/health.ts';
import { makeMetrics } from '../operations/metrics.ts';
import type { SharedParts } from '../start/shared-parts.ts';
import { makeAnswers } from './answers.ts';
import { sendClusters } from './broadcast.ts';
import { makeClusterWriter } from './cluster-wire.ts';
import type { Handover } from './handover.ts';
import type { ReplicaCheck, ToWorker, WorkerStart } from './messages.ts';
import { makeWorkersPage } from './metrics-page.ts';
import type { WorkersPage } from './metrics-page.ts';
import { startSupervisor } from './supervisor.ts';
import type { Supervisor } from './supervisor.ts';
import type { WorkerProcess } from './worker-process.ts';

/** How often the results of the checks are compared with those that were sent last. */
const checksIntervalMs = 200;
/** The same for audit sinks; shorter, since a sink that is full holds requests back. */
const sinksIntervalMs = 50;

/** See the file comment. */
export interface Team extends Pick<Supervisor, 'ready' | 'idlest' | 'drain'> {
  /** Sends a message to every worker but `except`. */
  send(message: ToWorker, except?: WorkerProcess): void;
  /** The number under which workers know the credential of an exec plugin; undefined when none knows it. */
  credentialId(source: CredentialSource): number | undefined;
  /** Metrics of all processes. */
  readonly page: WorkersPage;
}

/**
 * Starts the workers.
 * @param files texts of the configuration's files as last found good, by label
 * @param handover gives connections to workers; undefined while it does not listen yet
 */
export function startTeam(parts: SharedParts, files: WorkerStart['files'], handover: () => Handover | undefined): Team {
  const { options, hub, store, audit } = parts;
  const { config, log, version, closers } = options;
  const sinks = audit?.sinks ?? [];
  let supervisor: Supervisor | undefined;
  const send: Team['send'] = (message, except) => supervisor?.send(message, except);

  const { registry } = makeMetrics({ ...parts, log, version });
  audit?.register(registry);
  const page = makeWorkersPage(registry, () => supervisor);
  const writer = makeClusterWriter(store);
  closers.push(() => writer.close());
  const clusters = sendClusters(store, writer, send);
  closers.push(() => clusters.close());
  const workers = config.workers ?? 1;
  const workerConfig = { ...config, limits: limitsOfWorker(config.limits, workers) };
  const running = startSupervisor({
    workers,
    log,
    start() {
      // The snapshot holds the changes that are not sent yet. Sent now, they do not reach the new worker a second time.
      clusters.flush();
      const snapshot = writer.snapshot();
      return { ...startState(parts, sinks), config: workerConfig, clusters: snapshot, files };
    },
    onMessage: makeAnswers({ hub: hub?.client, credentials: writer, sinks, send }),
    onReady: () => handover()?.flush(),
    onLost: (metrics) => page.keep(metrics),
    onUnsent: (sockets) => {
      for (const socket of sockets) handover()?.giveAgain(socket);
    },
  });
  supervisor = running;
  closers.push(() => running.close());
  hub?.access.trust.onInForce(() => {
    const data = hub.access.trust.inForce();
    if (data !== undefined) send({ kind: 'trust', data });
  });
  sendChanges(parts, sinks, send);
  return {
    ready: running.ready,
    idlest: () => running.idlest(),
    drain: (timeoutMs) => running.drain(timeoutMs),
    send,
    credentialId: (source) => writer.idOf(source),
    page,
  };
}

/** What a worker that starts now is sent first, but for configuration, clusters and files. */
function startState(
  { options, startVersion, serving, hub, checks }: SharedParts,
  sinks: readonly AuditSink[],
): Omit<WorkerStart, 'config' | 'clusters' | 'files'> {
  return {
    version: options.version,
    startVersion,
    serving: serving.current(),
    trust: hub?.access.trust.inForce(),
    checks: checks.map(found),
    sinks: acceptance(sinks),
  };
}

/** Checks and sinks have no events, so they are read at an interval and sent when they differ from the last time. */
function sendChanges({ options, checks, audit }: SharedParts, sinks: readonly AuditSink[], send: Team['send']): void {
  const sendChecks = onChange(
    () => checks.map(found),
    (now: readonly ReplicaCheck[]) => send({ kind: 'checks', checks: now }),
  );
  const sendSinks = onChange(
    () => acceptance(sinks),
    (accepting) => send({ kind: 'sinks', accepting }),
  );
  const timers = [setInterval(sendChecks, checksIntervalMs).unref()];
  if (audit !== undefined) timers.push(setInterval(sendSinks, sinksIntervalMs).unref());
  options.closers.push(() => {
    for (const timer of timers) clearInterval(timer);
  });
}

function found({ name, on, fault, note }: HealthCheck): ReplicaCheck {
  return { name, on, fault: fault(), note: note?.() };
}

function acceptance(sinks: readonly AuditSink[]): ReadonlyMap<AuditSink['name'], boolean> {
  return new Map(sinks.map(({ name, accepting }) => [name, accepting]));
}

/** A function that reads a value and sends it when it differs from the last one; the first call always sends. */
function onChange<T>(read: () => T, send: (now: T) => void): () => void {
  let last: T | undefined;
  return () => {
    const now = read();
    if (isDeepStrictEqual(now, last)) return;
    last = now;
    send(now);
  };
}
