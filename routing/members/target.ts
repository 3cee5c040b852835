// Looks up everything that a request to a cluster needs: record, credential, connections, breaker. Refuses clusters
// that are not registered, with 404. The record is read once per request, so that the credential of one record is never
// sent to the address of another (rule "records swap whole" in docs/rules.md).
import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterRecord, ClusterSpec, Credential } from '../../model/records.ts';
import { makeBreaker } from '../call/breaker.ts';
import type { Breaker, BreakerLimits } from '../call/breaker.ts';
import type { Transport, TransportStats } from '../call/transport-types.ts';

/** The pooled connections of one cluster record and its circuit breaker. */
export interface Connection {
  readonly transport: Transport;
  readonly breaker: Breaker;
}

/** Makes all connections to one cluster; outside tests it is `makeTransport` of ../pools/transport.ts. */
export type TransportMaker = (spec: ClusterSpec, credential: Credential) => Transport;

/** Makes an empty set of connections. */
export function makeConnections(makeTransport: TransportMaker, breakerLimits?: BreakerLimits): Connections {
  return new ConnectionSet(makeTransport, breakerLimits);
}

interface Entry {
  readonly name: string;
  readonly breaker: Breaker;
  /** The record and the client certificate from which `connection` was made. */
  spec: ClusterSpec;
  certificate: string;
  connection: Connection | undefined;
}

/** The connections to all clusters, by the UID of the cluster record. */
export type Connections = Pick<ConnectionSet, keyof ConnectionSet>;

class ConnectionSet {
  readonly #makeTransport: TransportMaker;
  readonly #breakerLimits: BreakerLimits | undefined;
  readonly #entries = new Map<string, Entry>();

  constructor(makeTransport: TransportMaker, breakerLimits: BreakerLimits | undefined) {
    this.#makeTransport = makeTransport;
    this.#breakerLimits = breakerLimits;
  }

  /**
   * Returns the connections for this record and credential. When address, TLS settings or client certificate have
   * changed, new connections are made, and the old ones are closed when their requests end.
   */
  of(spec: ClusterSpec, credential: Credential): Connection {
    const entry = this.#entryOf(spec);
    const certificate = credential.clientCertificate?.cert ?? '';
    const isSame = entry.certificate === certificate && (entry.spec === spec || sameConnections(entry.spec, spec));
    entry.spec = spec;
    if (entry.connection !== undefined && isSame) return entry.connection;
    entry.connection?.transport.close('drain');
    entry.certificate = certificate;
    entry.breaker.succeed();
    entry.connection = { transport: this.#makeTransport(spec, credential), breaker: entry.breaker };
    return entry.connection;
  }

  /** Returns the breaker of a cluster, which is made at the first call. */
  breaker(spec: ClusterSpec): Breaker {
    return this.#entryOf(spec).breaker;
  }

  /** Closes all connections to a removed cluster, which cuts its running requests. */
  drop(uid: string): void {
    const entry = this.#entries.get(uid);
    this.#entries.delete(uid);
    entry?.connection?.transport.close('abort');
  }

  stats(): readonly (readonly [clusterName: string, TransportStats, Breaker['state']])[] {
    return [...this.#entries.values()].flatMap(({ name, connection, breaker }) =>
      connection === undefined ? [] : [[name, connection.transport.stats(), breaker.state] as const],
    );
  }

  close(mode: 'drain' | 'abort'): void {
    for (const { connection } of this.#entries.values()) connection?.transport.close(mode);
    this.#entries.clear();
  }

  #entryOf(spec: ClusterSpec): Entry {
    const known = this.#entries.get(spec.uid);
    if (known !== undefined) return known;
    const { name } = spec;
    const breaker = makeBreaker(name, this.#breakerLimits);
    const entry: Entry = { name, breaker, spec, certificate: '', connection: undefined };
    this.#entries.set(spec.uid, entry);
    return entry;
  }
}

/**
 * Whether connections that were made for one record may be used for the other. Beside `transportKey`, in which each
 * source sums up these settings, the settings themselves are compared. If a source forgot one of them in its key (a
 * fallback endpoint, the certificate of a tunnel), the cluster would otherwise keep its old connections.
 */
function sameConnections(one: ClusterSpec, other: ClusterSpec): boolean {
  const parts = ({ endpoint, tls, proxy, fallbacks = [] }: ClusterSpec): unknown => [endpoint, tls, proxy, fallbacks];
  return one.transportKey === other.transportKey && isDeepStrictEqual(parts(one), parts(other));
}

/** Everything that one request needs to reach its cluster. */
export interface Target {
  readonly record: ClusterRecord;
  readonly credential: Credential;
  readonly connection: Connection;
}

/**
 * Finds the target of a request; returns a promise only when an exec plugin has to run.
 * @throws GatewayError CLUSTER_NOT_FOUND, CLUSTER_UNUSABLE (with the record's problem), MEMBER_CREDENTIAL
 */
export function locate(
  name: string,
  getRecord: (name: string) => ClusterRecord | undefined,
  connections: Connections,
): Target | Promise<Target> {
  const record = getRecord(name);
  if (record === undefined) {
    throw new GatewayError('CLUSTER_NOT_FOUND', `cluster "${name}" not found`, {
      cluster: name,
      kind: 'clusters',
      group: 'gateway.portcullis.io',
      name,
    });
  }
  const { spec } = record;
  if (spec.problem !== undefined || spec.endpoint === undefined || spec.credential === undefined) {
    const why = spec.problem ?? { reason: 'InvalidConfiguration', message: 'it has no address or no credential' };
    throw new GatewayError('CLUSTER_UNUSABLE', `cluster "${name}" cannot be used (${why.reason}): ${why.message}`, {
      cluster: name,
    });
  }
  const credential = spec.credential.current();
  if (credential instanceof Promise) {
    return credential.then((ready) =>
      // The record may have changed or been removed while the plugin ran. The credential then does not belong to the
      // new record, and connections made for a removed cluster would never be closed.
      getRecord(name)?.spec === spec
        ? { record, credential: ready, connection: connections.of(spec, ready) }
        : locate(name, getRecord, connections),
    );
  }
  return { record, credential, connection: connections.of(spec, credential) };
}
