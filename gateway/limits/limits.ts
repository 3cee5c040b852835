// Starts all limits of one gateway and shows them in metrics and readyz. A gateway that has reached its limits stays
// ready: if it became unready, its load would only move to the other replicas.
import type { Registry } from 'prom-client';
import { fullCollector, shrinkingCollector } from '../../routing/buffer-reclaim.ts';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import { AdmissionControl } from './admission.ts';
import type { Admission, Refusal } from './admission.ts';
import type { RequestAuthenticator } from '../../auth/callers/authenticate.ts';
import { heldShare, Holdings } from '../../http/client-holdings.ts';
import type { ClientHoldings } from '../../http/client-holdings.ts';
import type { BoundConnections } from './connection-bounds.ts';
import { guardLogins } from './failed-logins.ts';
import type { GuardedLogins } from './failed-logins.ts';
import { startHeapReturn } from './heap-return.ts';
import type { HealthCheck } from '../../api/health.ts';
import { by, registerRead, single } from '../operations/read-metric.ts';
import type { Aggregator } from '../operations/read-metric.ts';
import type { LimitsConfig } from '../../config/sections/limits-config.ts';
import { startMemoryCeiling } from './memory-ceiling.ts';
import type { MemoryCeiling } from './memory-ceiling.ts';
import { startSlowClients } from './slow-clients.ts';
import type { SlowClients } from './slow-clients.ts';

/** The limits, as the rest of the gateway uses them. */
export interface Limits {
  readonly admission: Admission;
  /** The authenticator, with limits on the guessing of credentials. */
  readonly authenticate: RequestAuthenticator;
  /** Limits the memory that clients make the process use before they have logged in. */
  readonly holdings: ClientHoldings;
  /** A health check that never fails. The text that it adds is shown by `readyz?verbose`. */
  readonly check: HealthCheck;
  /** Adds the metrics of the limits to a registry. */
  register(registry: Registry): void;
  /** Gives the limits the connection counts of the listener, once the listener exists. */
  setConnections(connections: BoundConnections): void;
  close(): void;
}

const refusals: readonly Refusal[] = ['queue-full', 'user-queue-full', 'queue-timeout', 'rate', 'streams', 'memory'];

/** Other parts of the gateway that the limits need. */
export interface LimitedParts {
  readonly openStreams: OpenStreams;
  readonly authenticate: RequestAuthenticator;
  /**
   * Called with true when the gateway begins to refuse requests because memory is short, and with false when it accepts
   * requests again. `share` is the used share of the usable memory; 1 means all of it.
   */
  readonly onMemory: (shedding: boolean, share: number) => void;
}

/** Starts the limits for requests, logins, slow clients and memory. */
export function startLimits(config: LimitsConfig, { openStreams, authenticate, onMemory }: LimitedParts): Limits {
  const admission = new AdmissionControl(config);
  const logins = guardLogins(authenticate);
  const slow = startSlowClients(openStreams, config.slowClientTimeoutMs);
  const memory = startMemoryCeiling({
    limitBytes: config.memoryBytes,
    collect: fullCollector(),
    endSlowest() {
      holdings.relieve();
      slow.endSlowest();
    },
    shed(shedding) {
      admission.shed(shedding ? 'the gateway is short of memory; ask again' : undefined);
      onMemory(shedding, memory.share);
    },
  });
  const holdings = new Holdings({
    budgetBytes: memory.usableBytes * heldShare,
    isProven: logins.isProven,
  });
  const heap = startHeapReturn({
    collect: shrinkingCollector(),
    isIdle: () => {
      const { reading, mutating } = admission.stats().inFlight;
      return reading + mutating === 0;
    },
  });
  let connections: BoundConnections = { open: 0, dropped: 0 };
  return {
    admission,
    authenticate: logins.authenticate,
    holdings,
    check: { name: 'limits', on: ['readyz'], fault: () => undefined, note: () => loadNote(admission, memory) },
    register(registry) {
      registerAdmissionMetrics(registry, admission);
      registerMemoryMetrics(registry, memory);
      registerClientMetrics(registry, { connections: () => connections, holdings, slow, logins });
    },
    setConnections: (next) => void (connections = next),
    close() {
      slow.close();
      memory.close();
      heap.close();
    },
  };
}

function loadNote(admission: Admission, memory: MemoryCeiling): string {
  const { inFlight, queued } = admission.stats();
  const { reading, mutating, streams } = inFlight;
  const percent = Math.round(memory.share * 100);
  return (
    `${reading} reading and ${mutating} changing requests under way, ${queued} waiting, ${streams} streams open; ` +
    `${percent} % of ${Math.round(memory.usableBytes / 1024 ** 2)} MiB used` +
    (memory.shedding ? ': new requests are refused until memory is free' : '')
  );
}

function gauge(registry: Registry, name: string, help: string, read: () => number, aggregator?: Aggregator): void {
  registerRead(registry, name, help, 'gauge', () => single(read()), aggregator);
}

function counter(registry: Registry, name: string, help: string, read: () => number): void {
  registerRead(registry, name, help, 'counter', () => single(read()));
}

function registerMemoryMetrics(registry: Registry, memory: MemoryCeiling): void {
  gauge(registry, 'portcullis_memory_share', 'Part of the usable memory that is used.', () => memory.share, 'max');
  gauge(
    registry,
    'portcullis_memory_shedding',
    '1 while new requests are refused for want of memory.',
    () => (memory.shedding ? 1 : 0),
    'max',
  );
}

interface ClientFigures {
  readonly connections: () => BoundConnections;
  readonly holdings: ClientHoldings;
  readonly slow: SlowClients;
  readonly logins: GuardedLogins;
}

function registerClientMetrics(registry: Registry, { connections, holdings, slow, logins }: ClientFigures): void {
  gauge(
    registry,
    'portcullis_client_connections',
    'Connections of clients, handshakes included.',
    () => connections().open,
  );
  counter(
    registry,
    'portcullis_client_connections_dropped_total',
    'Connections beyond the bounds, closed before the handshake.',
    () => connections().dropped,
  );
  gauge(
    registry,
    'portcullis_client_held_bytes',
    'Bytes of unfinished request heads, and of what else is kept of clients that have not logged in.',
    () => holdings.bytes,
  );
  counter(
    registry,
    'portcullis_clients_crowded_out_total',
    'Connections closed because such bytes were too many, or because memory was short and nobody had logged in on them.',
    () => holdings.closed,
  );
  counter(
    registry,
    'portcullis_slow_clients_ended_total',
    'Answers ended because their client took nothing.',
    () => slow.ended,
  );
  counter(
    registry,
    'portcullis_logins_held_back_total',
    'Requests refused because logins from their address or connection failed.',
    () => logins.refused(),
  );
}

function registerAdmissionMetrics(registry: Registry, admission: Admission): void {
  registerRead(registry, 'portcullis_admitted_requests', 'Seats and streams in use, by kind.', 'gauge', () =>
    by('kind', Object.entries(admission.stats().inFlight)),
  );
  gauge(registry, 'portcullis_queued_requests', 'Requests that wait for a free slot.', () => admission.stats().queued);
  registerRead(registry, 'portcullis_rejected_requests_total', 'Requests answered 429, by reason.', 'counter', () => {
    const { refused } = admission.stats();
    return by(
      'reason',
      refusals.map((reason) => [reason, refused.get(reason) ?? 0]),
    );
  });
}
