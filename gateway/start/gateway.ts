// Puts one gateway together from its configuration: sources, authenticators, authorizer, chain, listeners. Easy to get
// wrong: everything that can fail is done before the listener opens, so that a gateway either serves completely or does
// not start.
import { join } from 'node:path';
import { createClusterStore } from '../../cache/model/store.ts';
import { addressFault } from './address-fault.ts';
import { startAudit } from '../audit/audit.ts';
import { versionInfo } from '../api/version.ts';
import { makeChecks, staleInputs } from '../operations/checks.ts';
import type { Config } from '../config/configuration.ts';
import { bookmarkIntervalMs, makeFrontend, makeWays } from './frontend.ts';
import { assembled } from './closing.ts';
import type { Closers } from './closing.ts';
import { drain, flushMs } from '../open-streams/drain.ts';
import { makeGatewayIndex } from './gateway-index.ts';
import { startHub } from '../hub/hub.ts';
import type { Log } from '../operations/log.ts';
import { protectMetrics } from '../operations/metrics-protection.ts';
import { startOperations } from '../operations/operations.ts';
import { startOutgoingIdentities } from './outgoing.ts';
import { defaultProbeTiming, startProbe } from '../probe/probe.ts';
import type { ProbeTiming } from '../probe/probe.ts';
import { makeReloading } from './reloading.ts';
import { startServingCertificate } from '../certificates/serving.ts';
import { startSources } from './sources.ts';
import { fixedTimes } from '../config/time-scale.ts';
import { startAuthorizer, startUsers } from './users.ts';

/** A gateway that serves. */
export interface Gateway {
  readonly url: string;
  readonly opsUrl: string;
  /** File with the certificate clients must trust; undefined when the operator brought a certificate. */
  readonly caFile: string | undefined;
  /** The one token of `--identity=self`, and the file it is kept in. */
  readonly selfToken: { readonly token: string; readonly file: string } | undefined;
  /** One line about clusters that the index may not read, once that is known; absent when there is nothing to tell. */
  readonly indexNote?: Promise<string | undefined> | undefined;
  /** Ends in good order; resolves when everything is closed. */
  drain(): Promise<void>;
  /** Ends now; requests under way are cut. */
  close(): void;
}

/**
 * Starts a gateway.
 * @throws ConfigurationError for what the operator wrote; Error with the system's code when an address is taken
 */
export async function startGateway(config: Config, log: Log, version: string): Promise<Gateway> {
  return await assembled((closers, closeAll) => assemble(config, log, version, closers, closeAll));
}

async function assemble(
  config: Config,
  log: Log,
  version: string,
  closers: Closers,
  closeAll: () => void,
): Promise<Gateway> {
  let unready = false;
  const reloading = makeReloading(log);
  closers.push(() => reloading.close());
  const store = createClusterStore({
    onListenerError: (error) => log.error({ err: error }, 'a listener of the cluster store failed'),
  });
  const ways = makeWays(store, config);
  const { connections, openStreams } = ways;
  closers.push(() => connections.close('abort'));

  const hub = config.hub === undefined ? undefined : await startHub(config.hub, log, version);
  if (hub !== undefined) closers.push(() => hub.close());
  const sources = await startSources(config, store, hub?.client, log);
  closers.push(() => sources.close());

  const users = await startUsers(config, reloading, log, hub?.access);
  closers.push(() => users.close());
  const authorizer = await startAuthorizer(config, reloading, hub?.access);
  const outgoing = await startOutgoingIdentities(config.outgoing, reloading);
  const checked = { reloading, sources, hub, users, shuttingDown: () => unready, clusters: () => store.list() };
  const index =
    config.index === undefined
      ? undefined
      : makeGatewayIndex(config.index, {
          folder: config.index.folder ?? join(config.dataDir, 'index'),
          records: store,
          sources,
          connections,
          identity: config.identity,
          authorizer,
          outgoing: outgoing.identity,
          openStreams,
          bookmarkIntervalMs,
          timeScale: config.timeScale,
          version: () => versionInfo(version, store.list()),
          log,
        });
  if (index !== undefined) closers.push(() => void index.close());
  const { dataDir } = config;
  const audit = config.audit === undefined ? undefined : await startAudit(config.audit, { reloading, log, dataDir });
  // Closed after the listener: what its connections still tell is recorded.
  if (audit !== undefined) closers.unshift(() => audit.close());
  const tracing = config.tracing && (await loadTracing()).startTracing(config.tracing, { log, version });
  if (tracing !== undefined) closers.unshift(() => tracing.close());
  const frontend = makeFrontend({
    ...ways,
    config,
    log,
    version,
    store,
    users,
    authorizer,
    outgoing,
    audit,
    tracing,
    hub: hub?.client,
    index,
    checks: makeChecks(checked),
    reloadFaults: () => [...new Set(staleInputs(checked).map(({ file }) => file))],
  });
  closers.push(() => frontend.close());

  const serving = hub?.serving ?? (await startServingCertificate(config, reloading));
  const protection =
    hub === undefined ? undefined : { tls: serving.current(), admit: protectMetrics(hub.access.metrics) };
  const operations = await startOperations(config.opsListen, frontend.registry, frontend.checks, protection).catch(
    addressFault('--ops-listen', config.opsListen),
  );
  closers.push(() => operations.close());
  const shown = {
    current: () => serving.current(),
    onChange: (changed: () => void) =>
      serving.onChange(() => {
        changed();
        operations.setTls(serving.current());
      }),
  };
  const listener = await frontend.open(shown).catch(addressFault('--listen', config.listen));
  closers.push(() => listener.close());
  closers.push(() => serving.close());
  const probe = startProbe({
    store,
    connections,
    identity: config.identity,
    clusterFault: outgoing.clusterFault,
    log,
    timing: probeTiming(config),
  });
  closers.push(() => probe.close());

  return {
    url: listener.url,
    opsUrl: operations.url,
    caFile: serving.caFile,
    selfToken: users.selfToken,
    indexNote: index?.startNote,
    async drain() {
      await drain({
        listener,
        openStreams,
        setUnready: () => (unready = true),
        setRefusing: () => frontend.refuse(),
        delayMs: config.shutdownDelayMs,
        graceMs: config.shutdownGraceMs,
      });
      await Promise.all([audit?.flush(flushMs), tracing?.flush(flushMs), index?.close()]);
      closeAll();
    },
    close: closeAll,
  };
}

/** On use: who does not trace shall not pay for OpenTelemetry. */
function loadTracing(): Promise<typeof import('../tracing/tracing.ts')> {
  return import('../tracing/tracing.ts');
}

/** How often members are probed, by the configuration. */
export function probeTiming(config: Pick<Config, 'probeIntervalMs' | 'timeScale'>): ProbeTiming {
  const { probeTimeoutMs } = fixedTimes(config.timeScale);
  return { ...defaultProbeTiming, intervalMs: config.probeIntervalMs, timeoutMs: probeTimeoutMs };
}
