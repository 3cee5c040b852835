// Puts one gateway together from its configuration: sources, authenticators, authorizer, chain, listeners. Easy to get wrong: everything that
// can fail is done before the listener opens, so that a gateway either serves completely or does not start.
import { join } from 'node:path';
import { createClusterStore } from '../cache/store.ts';
import { makeBufferReclaim, youngCollector } from '../routing/buffer-reclaim.ts';
import { makeOpenStreams } from '../routing/open-streams.ts';
import { makeConnections } from '../routing/target.ts';
import { makeTransport, transportParts } from '../routing/transport.ts';
import { addressFault } from './address-fault.ts';
import { startAudit } from './audit/audit.ts';
import { chain, run, selfChain } from './chain.ts';
import { makeChecks, staleInputs } from './checks.ts';
import type { Config } from './config.ts';
import { drain } from './drain.ts';
import { followRegistrations } from './ended-streams.ts';
import { makeGatewayIndex } from './gateway-index.ts';
import { startHub } from './hub.ts';
import { startLimits } from './limits/limits.ts';
import { askLive } from './api/index-live.ts';
import { makeLocalAnswers, versionInfo } from './api/local.ts';
import type { Log } from './log.ts';
import { makeMetrics } from './metrics.ts';
import { protectMetrics } from './metrics-protection.ts';
import { startOperations } from './operations.ts';
import { startOutgoingStreams } from './outgoing-streams.ts';
import { startOutgoingIdentities } from './outgoing.ts';
import { defaultProbeTiming, startProbe } from './probe.ts';
import { makeReloading } from './reloading.ts';
import type { Rooms } from './rooms.ts';
import { startListener } from './front/server.ts';
import type { TlsMaterial } from './front/server.ts';
import { startServingCertificate } from './serving.ts';
import { startSources } from './sources.ts';
import { startStreamReviews } from './stream-reviews.ts';
import { fixedTimes } from './time-scale.ts';
import { startAuthorizer, startUsers } from './users.ts';

/** A gateway that serves. */
export interface Gateway {
  readonly url: string;
  readonly opsUrl: string;
  /** File with the certificate clients must trust; undefined when the operator brought a certificate. */
  readonly caFile: string | undefined;
  /** The one token of `--identity=self`, and the file it is kept in. */
  readonly selfToken: { readonly token: string; readonly file: string } | undefined;
  /** Ends in good order; resolves when everything is closed. */
  drain(): Promise<void>;
  /** Ends now; requests under way are cut. */
  close(): void;
}

const bookmarkIntervalMs = 60_000;
/** How long the end of the process waits for a webhook; what it has not taken then waits on disk. */
const auditFlushMs = 3000;

/**
 * Starts a gateway.
 * @throws ConfigurationError for what the operator wrote; Error with the system's code when an address is taken
 */
export async function startGateway(config: Config, log: Log, version: string): Promise<Gateway> {
  const closers: (() => void)[] = [];
  const closeAll = (): void => {
    for (const close of closers.splice(0).toReversed()) close();
  };
  try {
    return await assemble(config, log, version, closers, closeAll);
  } catch (error) {
    closeAll();
    throw error;
  }
}

async function assemble(
  config: Config,
  log: Log,
  version: string,
  closers: (() => void)[],
  closeAll: () => void,
): Promise<Gateway> {
  let unready = false;
  let refusing = false;
  const reloading = makeReloading(log);
  closers.push(() => reloading.close());
  const store = createClusterStore({
    onListenerError: (error) => log.error({ err: error }, 'a listener of the cluster store failed'),
  });
  const openStreams = makeOpenStreams();
  const onBody = makeBufferReclaim(youngCollector());
  const times = fixedTimes(config.timeScale);
  const connections = makeConnections(
    (spec, credential) =>
      makeTransport({
        ...transportParts(spec, credential),
        onBody,
        timeoutMs: times.connectTimeoutMs,
        limits: times.transport,
      }),
    times.breaker,
  );
  closers.push(() => connections.close('abort'));
  followRegistrations(store, openStreams, connections);

  const hub = config.hub === undefined ? undefined : await startHub(config.hub, log, version);
  if (hub !== undefined) closers.push(() => hub.close());
  const sources = await startSources(config, store, hub?.client, log);
  closers.push(() => sources.close());

  const users = await startUsers(config, reloading, log, hub?.access);
  closers.push(() => users.close());
  const authorizer = await startAuthorizer(config, reloading, hub?.access);
  const outgoing = await startOutgoingIdentities(config.outgoing, reloading);
  const checked = { reloading, sources, hub, users, shuttingDown: () => unready, clusters: () => store.list() };
  const limits = startLimits(config.limits, {
    openStreams,
    authenticate: users.authenticate,
    onMemory: (shedding, share) =>
      log.warn({ share }, shedding ? 'short of memory: new requests are refused' : 'memory is free again'),
  });
  closers.push(() => limits.close());
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
          version: versionInfo(version),
          log,
        });
  if (index !== undefined) closers.push(() => void index.close());
  const checks = [...makeChecks(checked), limits.check, ...(index === undefined ? [] : [index.check])];

  const metrics = makeMetrics({
    store,
    connections,
    openStreams,
    log,
    reloadFaults: () => [...new Set(staleInputs(checked).map(({ file }) => file))],
    version,
  });
  limits.register(metrics.registry);
  index?.register(metrics.registry);
  const { dataDir } = config;
  const audit = config.audit === undefined ? undefined : await startAudit(config.audit, { reloading, log, dataDir });
  // Closed after the listener: what its connections still tell is recorded.
  if (audit !== undefined) closers.unshift(() => audit.close());
  audit?.register(metrics.registry);
  const clusters = { store, identity: config.identity, openStreams, bookmarkIntervalMs };
  const streamReviews = startStreamReviews({
    authenticate: users.authenticate,
    authorizer,
    intervalMs: times.streamReviewIntervalMs,
    endExpired: config.limits.endExpiredStreams,
  });
  closers.push(() => streamReviews.close());
  const outgoingStreams = startOutgoingStreams(outgoing, store);
  closers.push(() => outgoingStreams.close());
  const rooms: Rooms = {
    authenticate: limits.authenticate,
    authorizer,
    admission: limits.admission,
    audit,
    clusters: store,
    connections,
    outgoingIdentity: outgoing.identity,
    outgoingStreams,
    openStreams,
    metrics,
    log,
    streamReviews,
    answerLocally: makeLocalAnswers({
      clusters,
      checks,
      version,
      clusterGatewayApi: config.hub?.clusterGatewayApi ?? false,
      hub: hub?.client,
      index: index && {
        answer: index.answer,
        live: (state, question) => askLive(state, rooms, config.identity, question),
      },
    }),
    clusterDomain: config.clusterDomain,
    firstByteTimeoutMs: config.firstByteTimeoutMs,
    refusing: () => refusing,
  };

  const serving = hub?.serving ?? (await startServingCertificate(config, reloading));
  let clientCa = users.clientCa();
  const material = (): TlsMaterial => ({ ...serving.current(), clientCa });
  const steps = config.identity === 'self' ? selfChain : chain;
  const protection =
    hub === undefined ? undefined : { tls: serving.current(), admit: protectMetrics(hub.access.metrics) };
  const operations = await startOperations(config.opsListen, metrics.registry, checks, protection).catch(
    addressFault('--ops-listen', config.opsListen),
  );
  closers.push(() => operations.close());
  const listener = await startListener(
    config.listen,
    material(),
    (arrival) => run(steps, arrival, rooms),
    times.clientLostMs,
    { total: config.limits.connections, perAddress: config.limits.addressConnections },
  ).catch(addressFault('--listen', config.listen));
  limits.setConnections(listener.connections);
  closers.push(() => listener.close());
  serving.onChange(() => {
    listener.setTls(material());
    operations.setTls(serving.current());
  });
  users.onClientCa(() => {
    clientCa = users.clientCa();
    listener.setTls(material());
  });
  closers.push(() => serving.close());
  const probe = startProbe({
    store,
    connections,
    identity: config.identity,
    clusterFault: outgoing.clusterFault,
    log,
    timing: { ...defaultProbeTiming, intervalMs: config.probeIntervalMs, timeoutMs: times.probeTimeoutMs },
  });
  closers.push(() => probe.close());

  return {
    url: listener.url,
    opsUrl: operations.url,
    caFile: serving.caFile,
    selfToken: users.selfToken,
    async drain() {
      await drain({
        listener,
        openStreams,
        setUnready: () => (unready = true),
        setRefusing: () => (refusing = true),
        delayMs: config.shutdownDelayMs,
        graceMs: config.shutdownGraceMs,
      });
      await Promise.all([audit?.flush(auditFlushMs), index?.close()]);
      closeAll();
    },
    close: closeAll,
  };
}
