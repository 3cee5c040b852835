// Puts a gateway of one process together from its configuration. Everything that can fail is done before the listener
// opens, so a gateway serves completely or does not start.
import { join } from 'node:path';
import { versionInfo } from '../api/version.ts';
import type { Config } from '../config/configuration.ts';
import { drain, flushMs } from '../open-streams/drain.ts';
import type { Log } from '../operations/log.ts';
import type { Operations } from '../operations/operations.ts';
import type { RunningTracing } from '../tracing/tracing.ts';
import { addressFault } from './address-fault.ts';
import { assembled } from './closing.ts';
import type { Closers } from './closing.ts';
import { bookmarkIntervalMs, makeFrontend } from './frontend.ts';
import type { Frontend } from './frontend.ts';
import { startImportsOf } from './imports.ts';
import { makeGatewayIndex } from './gateway-index.ts';
import type { GatewayIndex } from './gateway-index.ts';
import { openOperations, probeMembers, startSharedParts } from './shared-parts.ts';
import type { SharedParts } from './shared-parts.ts';
import type { Listener } from './tls-server.ts';

/** A gateway that serves. */
export interface Gateway {
  readonly url: string;
  readonly opsUrl: string;
  /** File with the certificate clients must trust; undefined when the operator brought a certificate. */
  readonly caFile: string | undefined;
  /** The one token of `--identity=self`, and the file it is kept in. */
  readonly selfToken: { readonly token: string; readonly file: string } | undefined;
  /** Resolves with one line about clusters that the index may not read; undefined when there is nothing to say. */
  readonly indexNote?: Promise<string | undefined> | undefined;
  /** Ends in good order; resolves when everything is closed. */
  drain(): Promise<void>;
  /** Ends now; requests under way are cut. */
  close(): void;
}

/**
 * Starts a gateway.
 * @throws ConfigurationError for a mistake in the configuration; Error with the system's code when an address is taken
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
  const parts = await startSharedParts({ config, log, version, closers, shuttingDown: () => unready });
  const index = startIndexOf(parts);
  const tracing = await startTracingOf(parts);
  const frontend = makeFrontend({
    ...parts,
    config,
    log,
    version,
    startVersion: undefined,
    tracing,
    hub: parts.hub?.client,
    index,
  });
  closers.push(() => frontend.close());
  const operations = await openOperations(parts, frontend.registry, frontend.checks);
  const listener = await openListener(parts, frontend, operations);
  probeMembers(parts);
  const imports = startImportsOf(parts, index);

  return {
    url: listener.url,
    opsUrl: operations.url,
    caFile: parts.serving.caFile,
    selfToken: parts.users.selfToken,
    indexNote: index?.startNote,
    async drain() {
      await drain({
        listener,
        openStreams: parts.openStreams,
        setUnready: () => (unready = true),
        setRefusing: () => frontend.refuse(),
        delayMs: config.shutdownDelayMs,
        graceMs: config.shutdownGraceMs,
      });
      await Promise.all([parts.audit?.flush(flushMs), tracing?.flush(flushMs), index?.close(), imports?.close()]);
      closeAll();
    },
    close: closeAll,
  };
}

/** Undefined when the configuration says that there is no index. */
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
    openStreams,
    bookmarkIntervalMs,
    timeScale: config.timeScale,
    version: () => versionInfo(version, store.list()),
    log,
  });
  closers.push(() => void index.close());
  return index;
}

/** Undefined when no traces are asked for; then OpenTelemetry is not even loaded. */
async function startTracingOf({ options }: SharedParts): Promise<RunningTracing | undefined> {
  const { config, log, version, closers } = options;
  if (config.tracing === undefined) return undefined;
  const { startTracing } = await import('../tracing/tracing.ts');
  const tracing = startTracing(config.tracing, { log, version });
  closers.unshift(() => tracing.close());
  return tracing;
}

/** A new certificate reaches both listeners. @throws AddressError when the address cannot be had */
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
  const { config, closers } = options;
  const listener = await frontend.open(shown).catch(addressFault('--listen', config.listen));
  closers.push(() => listener.close());
  return listener;
}
