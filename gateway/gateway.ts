// Puts one gateway together from its configuration: sources, authenticators, authorizer, chain, listeners. Easy to get wrong: everything that
// can fail is done before the listener opens, so that a gateway either serves completely or does not start.
import { GatewayError } from '../cache/errors.ts';
import { startKubeconfigSource } from '../cache/sources/kubeconfig.ts';
import { createClusterStore } from '../cache/store.ts';
import { makeOpenStreams } from '../routing/open-streams.ts';
import { makeConnections } from '../routing/target.ts';
import { makeTransport } from '../routing/transport.ts';
import { addressFault } from './address-fault.ts';
import { chain, run, selfChain } from './chain.ts';
import type { Config } from './config.ts';
import { drain } from './drain.ts';
import type { HealthCheck } from './health.ts';
import { makeLocalAnswers } from './local.ts';
import type { Log } from './log.ts';
import { makeMetrics } from './metrics.ts';
import { startOperations } from './operations.ts';
import { startOutgoingIdentities } from './outgoing.ts';
import { defaultProbeTiming, startProbe } from './probe.ts';
import { makeReloading } from './reloading.ts';
import type { Rooms } from './rooms.ts';
import { startListener } from './server.ts';
import type { TlsMaterial } from './server.ts';
import { startServingCertificate } from './serving.ts';
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
  const connections = makeConnections((spec, credential) =>
    makeTransport({
      clusterName: spec.name,
      endpoint: spec.endpoint!,
      tls: spec.tls,
      proxy: spec.proxy,
      clientCertificate: credential.clientCertificate,
    }),
  );
  closers.push(() => connections.close('abort'));
  store.subscribe(({ type, record }) => {
    if (type !== 'DELETED') return;
    const gone = new GatewayError('CLUSTER_NOT_FOUND', `cluster "${record.spec.name}" was removed`, {
      cluster: record.spec.name,
    });
    for (const stream of openStreams) if (stream.clusterUid === record.spec.uid) stream.abort(gone);
    connections.drop(record.spec.uid);
  });

  const source = await startKubeconfigSource({
    files: config.kubeconfigs,
    store,
    onProblem: ({ file, message }) => log.error({ file, fault: message }, 'a cluster source has a problem'),
    onRecovered: ({ file, message }) => log.info({ file, fault: message }, 'a problem of a cluster source is gone'),
  });
  closers.push(() => source.close());

  const users = await startUsers(config, reloading, log);
  const authorizer = await startAuthorizer(config, reloading);
  const outgoing = await startOutgoingIdentities(config.outgoing, reloading);
  const staleFiles = (): readonly { file: string; message: string }[] => [
    ...reloading.faults(),
    ...source.problems().filter(({ stale }) => stale),
  ];
  const checks: readonly HealthCheck[] = [
    { name: 'ping', on: ['livez', 'readyz'], fault: () => undefined },
    { name: 'shutdown', on: ['readyz'], fault: () => (unready ? 'the process is shutting down' : undefined) },
    {
      name: 'configuration',
      on: ['readyz'],
      // A bad edit leaves a gateway that works as before, so it is told and does not take the gateway out of service.
      fault: () => undefined,
      note: () =>
        [
          ...staleFiles().map(({ message }) => `bad edit, the last good state is kept: ${message}`),
          ...source.problems().flatMap(({ stale, message }) => (stale ? [] : [message])),
        ].join('; ') || undefined,
    },
    { name: 'clusters', on: ['readyz'], fault: () => undefined, note: () => availabilityNote(store.list()) },
  ];

  const metrics = makeMetrics({
    store,
    connections,
    openStreams,
    log,
    reloadFaults: () => [...new Set(staleFiles().map(({ file }) => file))],
    version,
  });
  const clusters = { store, identity: config.identity, openStreams, bookmarkIntervalMs };
  const rooms: Rooms = {
    authenticate: users.authenticate,
    authorizer,
    clusters: store,
    connections,
    outgoingIdentity: outgoing.identity,
    openStreams,
    metrics,
    log,
    answerLocally: makeLocalAnswers({ clusters, checks, version }),
    clusterDomain: config.clusterDomain,
    firstByteTimeoutMs: config.firstByteTimeoutMs,
    refusing: () => refusing,
  };

  const serving = await startServingCertificate(config, reloading);
  let clientCa = users.clientCa();
  const material = (): TlsMaterial => ({ ...serving.current(), clientCa });
  const steps = config.identity === 'self' ? selfChain : chain;
  const operations = await startOperations(config.opsListen, metrics.registry, checks).catch(
    addressFault('--ops-listen', config.opsListen),
  );
  closers.push(() => operations.close());
  const listener = await startListener(config.listen, material(), (arrival) => void run(steps, arrival, rooms)).catch(
    addressFault('--listen', config.listen),
  );
  closers.push(() => listener.close());
  serving.onChange(() => listener.setTls(material()));
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
    timing: { ...defaultProbeTiming, intervalMs: config.probeIntervalMs },
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
      closeAll();
    },
    close: closeAll,
  };
}

function availabilityNote(records: ReturnType<ReturnType<typeof createClusterStore>['list']>): string {
  const available = records.filter(({ status }) =>
    status.conditions.some(({ type, status: is }) => type === 'Available' && is === 'True'),
  );
  return `${available.length} of ${records.length} available`;
}
