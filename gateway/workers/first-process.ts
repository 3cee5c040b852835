// A gateway with several workers, as its first process runs it: everything that watches, probes and writes is here and
// told to the workers, which answer the requests. Easy to get wrong: what changes while a worker starts must reach it,
// so its start message and all later ones go down one channel in order.
import { isDeepStrictEqual } from 'node:util';
import { createClusterStore } from '../../cache/model/store.ts';
import { addressFault } from '../start/address-fault.ts';
import { startAudit } from '../audit/audit.ts';
import type { AuditSink } from '../audit/sinks/sink.ts';
import { makeChecks, staleInputs } from '../operations/checks.ts';
import { assembled } from '../start/closing.ts';
import type { Closers } from '../start/closing.ts';
import type { Config } from '../config/configuration.ts';
import { flushMs } from '../open-streams/drain.ts';
import { makeWays } from '../start/frontend.ts';
import { probeTiming } from '../start/gateway.ts';
import type { Gateway } from '../start/gateway.ts';
import type { HealthCheck } from '../operations/health.ts';
import { startHub } from '../hub/hub.ts';
import type { Log } from '../operations/log.ts';
import { makeMetrics } from '../operations/metrics.ts';
import { protectMetrics } from '../operations/metrics-protection.ts';
import { startOperations } from '../operations/operations.ts';
import type { Operations } from '../operations/operations.ts';
import { startOutgoingIdentities } from '../start/outgoing.ts';
import { startProbe } from '../probe/probe.ts';
import { makeReloading } from '../start/reloading.ts';
import { startServingCertificate } from '../certificates/serving.ts';
import { startSources } from '../start/sources.ts';
import { startAuthorizer, startUsers } from '../start/users.ts';
import { makeAnswers } from './answers.ts';
import { makeClusterWriter } from './cluster-wire.ts';
import { startSupervisor } from './supervisor.ts';
import type { Supervisor } from './supervisor.ts';
import { startHandover } from './handover.ts';
import type { Handover } from './handover.ts';
import type { ReplicaCheck, ToWorker } from './messages.ts';
import { makeWorkersPage } from './metrics-page.ts';
import { tellClusters, tellProbed } from './broadcast.ts';
import { limitsOfWorker } from '../config/workers-config.ts';
import type { WorkerProcess } from './worker-process.ts';

/** How often it is looked whether checks found something else. */
const checksIntervalMs = 200;
/** The same of audit sinks: requests that may not go unrecorded are held back by it. */
const sinksIntervalMs = 50;
/** Beyond the grace, for what workers do after it. */
const endingMs = 5_000;

/**
 * Starts a gateway of `config.workers` workers.
 * @throws as `startGateway` does; Error when a worker cannot start
 */
export async function startWorkers(config: Config, log: Log, version: string): Promise<Gateway> {
  return await assembled((closers, closeAll) => assemble(config, log, version, closers, closeAll));
}

async function assemble(
  config: Config,
  log: Log,
  version: string,
  closers: Closers,
  closeAll: () => void,
): Promise<Gateway> {
  const workers = config.workers ?? 1;
  let unready = false;
  let supervisor: Supervisor | undefined;
  let operations: Operations | undefined;
  let handover: Handover | undefined;
  const tell = (message: ToWorker, except?: WorkerProcess): void => supervisor?.tell(message, except);

  const files = new Map<string, readonly string[]>();
  const reloading = makeReloading(log, (label, texts) => {
    files.set(label, texts);
    tell({ kind: 'file', label, texts });
  });
  closers.push(() => reloading.close());
  const store = createClusterStore({
    onListenerError: (error) => log.error({ err: error }, 'a listener of the cluster store failed'),
  });
  const startVersion = store.resourceVersion;
  // For the probe; requests go over the workers' own.
  const ways = makeWays(store, config);
  closers.push(() => ways.connections.close('abort'));
  const hub = config.hub === undefined ? undefined : await startHub(config.hub, log, version);
  if (hub !== undefined) closers.push(() => hub.close());
  const sources = await startSources(config, store, hub?.client, log);
  closers.push(() => sources.close());
  // Nobody asks these; they judge what the workers will be told.
  const users = await startUsers(config, reloading, log, hub?.access);
  closers.push(() => users.close());
  await startAuthorizer(config, reloading, hub?.access);
  const outgoing = await startOutgoingIdentities(config.outgoing, reloading);
  const { dataDir } = config;
  const audit = config.audit && (await startAudit(config.audit, { reloading, log, dataDir }));
  // Closed after the workers: what they have sent is recorded.
  if (audit !== undefined) closers.unshift(() => audit.close());
  const serving = hub?.serving ?? (await startServingCertificate(config, reloading));
  closers.push(() => serving.close());

  const checked = { reloading, sources, hub, users, shuttingDown: () => unready, clusters: () => store.list() };
  const checks = makeChecks(checked);
  const reloadFaults = (): readonly string[] => [...new Set(staleInputs(checked).map(({ file }) => file))];
  const { registry } = makeMetrics({ ...ways, store, log, reloadFaults, version });
  audit?.register(registry);
  const sinks = audit?.sinks ?? [];
  const page = makeWorkersPage(registry, () => supervisor);

  const writer = makeClusterWriter(store);
  closers.push(() => writer.close());
  const clusters = tellClusters(store, writer, tell);
  closers.push(() => clusters.close());
  const workerConfig: Config = { ...config, limits: limitsOfWorker(config.limits, workers) };
  supervisor = startSupervisor({
    workers,
    log,
    start() {
      // What was not told yet is in the snapshot, and would be told again.
      clusters.flush();
      return {
        config: workerConfig,
        version,
        startVersion,
        clusters: writer.snapshot(),
        files,
        serving: serving.current(),
        trust: hub?.access.trust.inForce(),
        checks: checks.map(found),
        sinks: acceptance(sinks),
      };
    },
    onMessage: makeAnswers({ hub: hub?.client, credentials: writer, sinks, tell }),
    onReady: () => handover?.flush(),
    onLost: (metrics) => page.keep(metrics),
    onUnsent: (sockets) => {
      for (const socket of sockets) handover?.giveAgain(socket);
    },
  });
  const running = supervisor;
  closers.push(() => running.close());
  hub?.access.trust.onInForce(() => {
    const data = hub.access.trust.inForce();
    if (data !== undefined) tell({ kind: 'trust', data });
  });
  serving.onChange(() => {
    tell({ kind: 'serving', pair: serving.current() });
    operations?.setTls(serving.current());
  });
  const tellChecks = onChange(
    () => checks.map(found),
    (now: readonly ReplicaCheck[]) => tell({ kind: 'checks', checks: now }),
  );
  const tellSinks = onChange(
    () => acceptance(sinks),
    (accepting) => tell({ kind: 'sinks', accepting }),
  );
  const timers = [setInterval(tellChecks, checksIntervalMs).unref()];
  if (audit !== undefined) timers.push(setInterval(tellSinks, sinksIntervalMs).unref());
  closers.push(() => {
    for (const timer of timers) clearInterval(timer);
  });

  await running.ready;

  const protection =
    hub === undefined ? undefined : { tls: serving.current(), admit: protectMetrics(hub.access.metrics) };
  operations = await startOperations(config.opsListen, page, checks, protection).catch(
    addressFault('--ops-listen', config.opsListen),
  );
  const { url: opsUrl, close: closeOperations } = operations;
  closers.push(closeOperations);
  handover = await startHandover(config.listen, {
    taker: () => running.idlest()?.take,
    maxWaiting: config.limits.connections,
  }).catch(addressFault('--listen', config.listen));
  const frontend = handover;
  closers.push(() => frontend.close());
  const findings = tellProbed(tell, ({ credential }) => {
    const id = credential?.kind === 'exec' ? writer.idOf(credential) : undefined;
    if (id !== undefined) tell({ kind: 'forget-credential', id });
  });
  closers.push(() => findings.close());
  const probe = startProbe({
    store,
    connections: ways.connections,
    identity: config.identity,
    clusterFault: outgoing.clusterFault,
    log,
    timing: probeTiming(config),
    findings,
  });
  closers.push(() => probe.close());

  return {
    url: frontend.url,
    opsUrl,
    caFile: serving.caFile,
    selfToken: undefined,
    async drain() {
      unready = true;
      tell({ kind: 'unready' });
      if (config.shutdownDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, config.shutdownDelayMs));
      frontend.close();
      await running.drain(config.shutdownGraceMs + endingMs);
      await audit?.flush(flushMs);
      closeAll();
    },
    close: closeAll,
  };
}

function found({ name, on, fault, note }: HealthCheck): ReplicaCheck {
  return { name, on, fault: fault(), note: note?.() };
}

function acceptance(sinks: readonly AuditSink[]): ReadonlyMap<AuditSink['name'], boolean> {
  return new Map(sinks.map(({ name, accepting }) => [name, accepting]));
}

/** A look that tells what is other than at the last one; the first tells in any case. */
function onChange<T>(read: () => T, tell: (now: T) => void): () => void {
  let last: T | undefined;
  return () => {
    const now = read();
    if (isDeepStrictEqual(now, last)) return;
    last = now;
    tell(now);
  };
}
