// Starts a gateway of one process from its configuration. Everything that can fail is done before the listener for
// clients opens, so a gateway either serves completely or does not start.
import { join } from 'node:path';
import { versionInfo } from '../../api/version.ts';
import type { Config } from '../../config/configuration.ts';
import { drain, flushMs } from '../open-streams/drain.ts';
import type { Log } from '../../lib/log.ts';
import type { Operations } from '../parts/operations.ts';
import type { RunningTracing } from '../tracing/tracing.ts';
import { addressFault } from '../parts/address-fault.ts';
import { assembled } from '../parts/closing.ts';
import { bookmarkIntervalMs, makeFrontend } from './frontend.ts';
import type { Frontend } from './frontend.ts';
import type { Host } from '../parts/host.ts';
import { startHubCollections } from '../hub/hub-collections.ts';
import type { CollectionDefinition } from '../../search/collections/definitions.ts';
import { startImportsOf, startProfilesOf } from '../controllers/imports.ts';
import { startJoinsOf } from '../controllers/joins.ts';
import { startTenantsOf } from '../controllers/tenants.ts';
import { startWorksOf } from '../controllers/works.ts';
import { makeGatewayIndex } from '../parts/gateway-index.ts';
import type { GatewayIndex } from '../parts/gateway-index.ts';
import { openOperations, probeMembers, startSharedParts } from '../parts/shared-parts.ts';
import type { SharedParts, StartOptions } from '../parts/shared-parts.ts';
import type { Listener } from '../listener/tls-server.ts';

/** A running gateway: of one process, or of a first process with its workers. */
export interface Gateway {
  readonly url: string;
  readonly opsUrl: string;
  /**
   * File with the CA certificate that clients must trust. Undefined when there is no such file: the operator gave a
   * certificate, or replicas share one through the hub.
   */
  readonly caFile: string | undefined;
  /** The only token of `--identity=self`, and the file that holds it; undefined in other modes. */
  readonly selfToken: { readonly token: string; readonly file: string } | undefined;
  /** Resolves with a line that names clusters which forbid the index to read; with undefined when there are none. */
  readonly indexNote?: Promise<string | undefined> | undefined;
  /** Shuts down in good order; resolves when everything is closed. */
  drain(): Promise<void>;
  /** Ends at once, without waiting: running requests are cut. */
  close(): void;
}

/** A gateway that runs in this process and has no workers of its own; a worker is such a gateway, too. */
export interface OwnGateway extends Gateway {
  /** Whether all checks of readyz pass. */
  isReady(): boolean;
}

/**
 * Starts a gateway.
 * @throws ConfigurationError (rejects) for a mistake in the configuration; AddressError when an address is in use
 */
export async function startGateway(config: Config, log: Log, version: string, host?: Host): Promise<OwnGateway> {
  return await assembled((closers, closeAll) => assemble({ config, log, version, host, closers }, closeAll));
}

async function assemble(given: Omit<StartOptions, 'shuttingDown'>, closeAll: () => void): Promise<OwnGateway> {
  const { config, log, version, closers, host } = given;
  let unready = false;
  const shuttingDown = (): boolean => unready || host?.isEnding() === true;
  const parts = await startSharedParts({ ...given, shuttingDown });
  const index = startIndexOf(parts);
  const tracing = await startTracingOf(parts);
  const frontend = makeFrontend({
    ...parts,
    config,
    log,
    version,
    tracing,
    hub: parts.hub?.client,
    index,
  });
  closers.push(() => frontend.close());
  const operations = await openOperations(parts, frontend.registry, frontend.checks);
  const listener = await openListener(parts, frontend, operations);
  probeMembers(parts);
  const imports = startImportsOf(parts, index);
  const works = startWorksOf(parts, frontend.registry);
  const profiles = startProfilesOf(parts);
  const joins = startJoinsOf(parts, frontend.registry);
  const tenants = startTenantsOf(parts, frontend.registry);

  return {
    url: listener.url,
    opsUrl: operations.url,
    caFile: parts.serving.caFile,
    selfToken: parts.users.selfToken,
    indexNote: index?.startNote,
    isReady: () => frontend.checks.every(({ on, fault }) => !on.includes('readyz') || fault() === undefined),
    async drain() {
      await drain({
        listener,
        openStreams: parts.openStreams,
        setUnready: () => (unready = true),
        setRefusing: () => frontend.refuse(),
        delayMs: config.shutdownDelayMs,
        graceMs: config.shutdownGraceMs,
      });
      await Promise.all([
        parts.audit?.flush(flushMs),
        tracing?.flush(flushMs),
        index?.close(),
        imports?.close(),
        profiles?.close(),
        works?.close(),
        joins?.close(),
        tenants?.close(),
      ]);
      closeAll();
    },
    close: closeAll,
  };
}

/** Makes the index; undefined when the configuration switches it off. */
function startIndexOf(parts: SharedParts): GatewayIndex | undefined {
  const { options, store, sources, connections, authorizer, outgoing, openStreams } = parts;
  const { config, log, version, closers } = options;
  if (config.index === undefined) return undefined;
  const index = makeGatewayIndex(config.index, {
    folder: config.index.folder ?? join(config.dataDir, 'index'),
    records: store,
    sources,
    connections,
    identity: config.identity,
    authorizer,
    outgoing: outgoing.identity,
    outgoingGeneration: outgoing.generation,
    openStreams,
    bookmarkIntervalMs,
    timeScale: config.timeScale,
    peers: options.host?.indexPeers,
    version: () => versionInfo(version, store.list()),
    collections: startCollectionsOf(parts),
    log,
  });
  closers.push(() => void index.close());
  return index;
}

/** Returns the collections of the configuration file and, if configured, those that objects of the hub define. */
function startCollectionsOf({ options, hub }: SharedParts): () => readonly CollectionDefinition[] {
  const { config, log, closers } = options;
  const own = config.index?.collections ?? [];
  if (hub === undefined || config.hub?.collections === undefined) return () => own;
  const ofHub = startHubCollections(hub.client, log);
  closers.push(() => ofHub.close());
  return () => [...own, ...ofHub.current()];
}

/** Starts tracing; undefined when tracing is not configured. The code of OpenTelemetry is then not loaded at all. */
async function startTracingOf({ options }: SharedParts): Promise<RunningTracing | undefined> {
  const { config, log, version, closers } = options;
  if (config.tracing === undefined) return undefined;
  const { startTracing } = await import('../tracing/tracing.ts');
  const tracing = startTracing(config.tracing, { log, version });
  closers.unshift(() => tracing.close());
  return tracing;
}

/**
 * Opens the listener for clients. When the serving certificate changes, the operations listener gets the new one as
 * well.
 * @throws AddressError (rejects) when the address cannot be used
 */
async function openListener(
  { options, serving }: SharedParts,
  frontend: Frontend,
  operations: Operations,
): Promise<Listener> {
  const shown = {
    current: () => serving.current(),
    onChange: (changed: () => void) =>
      serving.onChange(() => {
        changed();
        operations.setTls(serving.current());
      }),
  };
  const { config, closers, host } = options;
  const listener = await frontend.open(shown, host?.connections).catch(addressFault('--listen', config.listen));
  closers.push(() => listener.close());
  return listener;
}
