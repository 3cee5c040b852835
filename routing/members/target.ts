// From a cluster's name to what a request needs to reach it: record, credential, connections, breaker. Easy to get
// wrong: the record is read once; a request must never mix the credential of one record with the address of another.
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
  interface Entry {
    readonly name: string;
    readonly breaker: Breaker;
    /** What the connection was made from. */
    spec: ClusterSpec;
    certificate: string;
    connection: Connection | undefined;
  }
  const entries = new Map<string, Entry>();

  const entryOf = (spec: ClusterSpec): Entry => {
    let entry = entries.get(spec.uid);
    if (entry === undefined) {
      entry = {
        name: spec.name,
        breaker: makeBreaker(spec.name, breakerLimits),
        spec,
        certificate: '',
        connection: undefined,
      };
      entries.set(spec.uid, entry);
    }
    return entry;
  };

  return {
    of(spec, credential) {
      const entry = entryOf(spec);
      const certificate = credential.clientCertificate?.cert ?? '';
      if (
        entry.connection !== undefined &&
        entry.certificate === certificate &&
        (entry.spec === spec || sameConnections(entry.spec, spec))
      ) {
        entry.spec = spec;
        return entry.connection;
      }
      entry.connection?.transport.close('drain');
      entry.spec = spec;
      entry.certificate = certificate;
      entry.breaker.succeed();
      entry.connection = { transport: makeTransport(spec, credential), breaker: entry.breaker };
      return entry.connection;
    },
    breaker: (spec) => entryOf(spec).breaker,
    drop(uid) {
      const entry = entries.get(uid);
      entries.delete(uid);
      entry?.connection?.transport.close('abort');
    },
    stats: () =>
      [...entries.values()].flatMap((entry) =>
        entry.connection === undefined
          ? []
          : [[entry.name, entry.connection.transport.stats(), entry.breaker.state] as const],
      ),
    close(mode) {
      for (const entry of entries.values()) entry.connection?.transport.close(mode);
      entries.clear();
    },
  };
}

/**
 * Whether connections made for one record may serve the other. The parts are compared beside the key: a source that
 * forgets one of them (a fallback, the certificate of a tunnel) must not leave a cluster on connections it no longer
 * says.
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
