// The parts of a gateway that exist before its listener for clients: clusters, users, rules and certificates, the
// operations listener, and the health probe.
import type { Registry } from 'prom-client';
import { createClusterStore } from '../../model/store.ts';
import type { ClusterStore } from '../../model/store.ts';
import type { Authorizer } from '../../auth/rules/authorize.ts';
import { startAudit } from '../audit/audit.ts';
import type { RunningAudit } from '../audit/audit.ts';
import { startServingCertificate } from '../certificates/serving.ts';
import type { Serving } from '../certificates/serving.ts';
import type { Config } from '../../config/configuration.ts';
import { fixedTimes } from './fixed-times.ts';
import { startHub } from '../hub/hub.ts';
import type { Hub } from '../hub/hub.ts';
import { LeaseFaults } from '../../controllers/leader/lease-faults.ts';
import { makeChecks, staleInputs } from './checks.ts';
import type { HealthCheck } from '../../api/health.ts';
import type { Log } from '../../lib/log.ts';
import { protectMetrics } from '../operations/metrics-protection.ts';
import { startOperations } from './operations.ts';
import type { Operations } from './operations.ts';
import { defaultProbeTiming, startProbe } from '../probe/probe.ts';
import { addressFault } from './address-fault.ts';
import type { Closers } from './closing.ts';
import type { Host } from './host.ts';
import { makeMemberConnections } from './member-connections.ts';
import type { MemberConnections } from './member-connections.ts';
import { startOutgoingIdentities } from '../users/outgoing.ts';
import type { OutgoingIdentities } from '../users/outgoing.ts';
import { makeReloading } from '../../config/reloading.ts';
import { startSources } from './sources.ts';
import type { Sources } from './sources.ts';
import { startAuthorizer, startUsers } from '../users/users.ts';
import type { Users } from '../users/users.ts';

/** Options of {@link startSharedParts}. */
export interface StartOptions {
  readonly config: Config;
  readonly log: Log;
  readonly version: string;
  /** Each part that is started adds a function to this list, which stops the part. */
  readonly closers: Closers;
  /** True once the process is ending, so that readyz must fail. */
  readonly shuttingDown: () => boolean;
  /** The services of the first process for this worker; undefined for a gateway of one process. */
  readonly host: Host | undefined;
}

/** The parts of a gateway that {@link startSharedParts} has started. */
export interface SharedParts extends MemberConnections {
  readonly options: StartOptions;
  readonly store: ClusterStore;
  readonly hub: Hub | undefined;
  readonly sources: Sources;
  readonly users: Users;
  readonly authorizer: Authorizer;
  readonly outgoing: OutgoingIdentities;
  /** The audit log; undefined when nothing is audited. */
  readonly audit: RunningAudit | undefined;
  readonly serving: Serving;
  readonly checks: readonly HealthCheck[];
  /** Why this replica cannot use its Leases: the controllers report it here, and a health check shows it. */
  readonly leases: LeaseFaults;
  /**
   * Files and objects on the hub whose last change was invalid, so that their previous valid content is still in use.
   */
  reloadFaults(): readonly string[];
}

/**
 * Starts the parts of a gateway, each after the parts that it needs.
 * @throws ConfigurationError (rejects) for a mistake in the configuration; GatewayError HUB_UNAVAILABLE as `startHub`
 * does
 */
export async function startSharedParts(options: StartOptions): Promise<SharedParts> {
  const { config, log, version, closers, shuttingDown, host } = options;
  const reloading = makeReloading(log);
  closers.push(() => reloading.close());
  const store = createClusterStore({
    onListenerError: (error) => log.error({ err: error }, 'a listener of the cluster store failed'),
  });
  const members = makeMemberConnections(store, config);
  closers.push(() => members.connections.close('abort'));
  const hub = config.hub === undefined ? undefined : await startHub(config.hub, { log, version, exec: host?.plugins });
  if (hub !== undefined) closers.push(() => hub.close());
  const sources = await startSources(config, store, hub?.client, log, host?.plugins);
  closers.push(() => sources.close());
  const users = await startUsers(config, reloading, log, hub?.access);
  closers.push(() => users.close());
  const authorizer = await startAuthorizer(config, reloading, hub?.access);
  const outgoing = await startOutgoingIdentities(config.outgoing, reloading);
  const auditParts = { reloading, log, dataDir: config.dataDir, sinks: host?.auditSinks };
  const audit = config.audit === undefined ? undefined : await startAudit(config.audit, auditParts);
  // The audit log is closed last, because closing connections still produces audit events.
  if (audit !== undefined) closers.unshift(() => audit.close());
  const serving = hub?.serving ?? (await startServingCertificate(config, reloading));
  closers.push(() => serving.close());
  const leases = new LeaseFaults();
  const checked = { reloading, sources, hub, users, shuttingDown, clusters: () => store.list(), leases };
  return {
    ...members,
    options,
    store,
    hub,
    sources,
    users,
    authorizer,
    outgoing,
    audit,
    serving,
    checks: makeChecks(checked),
    leases,
    reloadFaults: () => [...new Set(staleInputs(checked).map(({ file }) => file))],
  };
}

/**
 * Opens the listener for metrics and health checks.
 * @throws AddressError (rejects) when the address cannot be used
 */
export async function openOperations(
  { options, hub, serving }: SharedParts,
  registry: Registry,
  checks: readonly HealthCheck[],
): Promise<Operations> {
  const { config, host } = options;
  const { opsListen } = config;
  const protection =
    hub === undefined ? undefined : { tls: serving.current(), admit: protectMetrics(hub.access.metrics) };
  const page = host === undefined ? registry : host.metricsPage(registry);
  const operations = await startOperations(opsListen, page, checks, protection, host?.openOperations).catch(
    addressFault('--ops-listen', opsListen),
  );
  options.closers.push(() => operations.close());
  return operations;
}

/** Starts the regular probes of all clusters. */
export function probeMembers({ options, store, connections, outgoing }: SharedParts): void {
  const { config, log, closers } = options;
  const { probeTimeoutMs } = fixedTimes(config.timeScale);
  const probe = startProbe({
    store,
    connections,
    identity: config.identity,
    clusterFault: outgoing.clusterFault,
    log,
    timing: { ...defaultProbeTiming, intervalMs: config.probeIntervalMs, timeoutMs: probeTimeoutMs },
  });
  closers.push(() => probe.close());
}
