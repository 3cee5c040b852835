// From a cluster's name to what a request needs to reach it: record, credential, connections, breaker. The record is
// read once for each request, so that the credential of one record never goes to the address of another (rule "records
// swap whole").
import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../cache/model/errors.ts';
import type { ClusterRecord, ClusterSpec, Credential } from '../../cache/model/records.ts';
import { makeBreaker } from './breaker.ts';
import type { Breaker, BreakerLimits } from './breaker.ts';
import type { Transport, TransportStats } from './transport-types.ts';

/** Pooled connections of one cluster registration and the breaker that guards them. */
export interface Connection {
  readonly transport: Transport;
  readonly breaker: Breaker;
}

/** All connections, one entry a registration. */
export interface Connections {
  /**
   * The connections for this record and credential; a changed address or client certificate drains the old ones and
   * makes new.
   */
  of(spec: ClusterSpec, credential: Credential): Connection;
  /** The breaker of a registration, made when asked for the first time. */
  breaker(spec: ClusterSpec): Breaker;
  /** The cluster is gone: everything towards it is closed, its streams are cut. */
  drop(uid: string): void;
  stats(): readonly (readonly [clusterName: string, TransportStats, Breaker['state']])[];
  close(mode: 'drain' | 'abort'): void;
}

/** How a transport is made; `makeTransport` of transport.ts outside tests. */
export type TransportMaker = (spec: ClusterSpec, credential: Credential) => Transport;

/** Makes an empty set of connections. */
export function makeConnections(makeTransport: TransportMaker, breakerLimits?: BreakerLimits): Connections {
  return new ConnectionSet(makeTransport, breakerLimits);
}

interface Entry {
  readonly name: string;
  readonly breaker: Breaker;
  /** What the connection was made from. */
  spec: ClusterSpec;
  certificate: string;
  connection: Connection | undefined;
}

class ConnectionSet implements Connections {
  readonly #makeTransport: TransportMaker;
  readonly #breakerLimits: BreakerLimits | undefined;
  readonly #entries = new Map<string, Entry>();

  constructor(makeTransport: TransportMaker, breakerLimits: BreakerLimits | undefined) {
    this.#makeTransport = makeTransport;
    this.#breakerLimits = breakerLimits;
  }

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

  breaker(spec: ClusterSpec): Breaker {
    return this.#entryOf(spec).breaker;
  }

  drop(uid: string): void {
    const entry = this.#entries.get(uid);
    this.#entries.delete(uid);
    entry?.connection?.transport.close('abort');
  }

  stats(): ReturnType<Connections['stats']> {
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
 * Whether connections made for one record may serve the other. The parts are compared beside the key: a source that
 * leaves one of them out of the key (a fallback, the certificate of a tunnel) must not leave a cluster on old
 * connections.
 */
function sameConnections(one: ClusterSpec, other: ClusterSpec): boolean {
  const parts = ({ endpoint, tls, proxy, fallbacks = [] }: ClusterSpec): unknown => [endpoint, tls, proxy, fallbacks];
  return one.transportKey === other.transportKey && isDeepStrictEqual(parts(one), parts(other));
}

/** What one request needs of its cluster. */
export interface Target {
  readonly record: ClusterRecord;
  readonly credential: Credential;
  readonly connection: Connection;
}

/**
 * Finds the target of a request. Synchronous unless an exec plugin has to run.
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
      // Removed, moved or closed meanwhile: what was read does not hold any more, and connections of a cluster that is
      // gone would never be closed.
      getRecord(name)?.spec === spec
        ? { record, credential: ready, connection: connections.of(spec, ready) }
        : locate(name, getRecord, connections),
    );
  }
  return { record, credential, connection: connections.of(spec, credential) };
}
