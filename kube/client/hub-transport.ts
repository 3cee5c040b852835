// The connections to the hub for one trust configuration and one client certificate: one pool for short requests, one
// for watches. When the trusted certificate authorities or the client certificate change, the old pools are retired:
// running requests finish, and no new requests use these pools. (Destroying an agent would cut running requests.)
import { Agent } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity, createSecureContext } from 'node:tls';
import { systemRoots } from '../../lib/system-roots.ts';
import type { HubAccess } from './connection.ts';
import type { Credential } from '../../model/records.ts';

/**
 * Connection pools with one trust and one client certificate. They never change; a new transport replaces the old one.
 */
export interface HubTransport {
  /**
   * The pool for requests whose answer is read at once. It has at most 64 connections; further requests wait for a free
   * one. So a burst of TokenReviews cannot open thousands of connections.
   */
  readonly short: Agent;
  /**
   * The pool for watches. Each watch has a connection of its own, and there is no limit, so a watch never waits for a
   * free one.
   */
  readonly long: Agent;
  /** Whether the transport was made for this address, trust and client certificate, so that it can be used for them. */
  serves(access: HubAccess, certificate: Credential['clientCertificate']): boolean;
  /** Closes the idle connections of both pools. */
  closeIdle(): void;
  /** Closes idle connections at once, and every other connection as soon as its answer ends. */
  retire(): void;
  /** Closes all connections at once, also those with a running request. */
  destroy(): void;
}

/** Maximum number of connections of the pool `short`; requests beyond it wait. */
const maxShortConnections = 64;
/**
 * How many milliseconds an idle connection is kept. kube-apiserver closes idle connections after 90 s (apiserver
 * `http.Server.IdleTimeout`), so the client must close them earlier.
 */
const idleMs = 60_000;

/** Makes the connection pools for requests and watches. No connection is opened before the first request. */
export function makeHubTransport(access: HubAccess, certificate: Credential['clientCertificate']): HubTransport {
  const { endpoint, tls } = access;
  const verifiedName = tls.serverName ?? endpoint.host;
  const options = {
    keepAlive: true,
    timeout: idleMs,
    secureContext: createSecureContext({
      ca: tls.ca ?? (tls.insecure ? [] : systemRoots()),
      ...(certificate === undefined ? {} : { cert: certificate.cert, key: certificate.key }),
      minVersion: 'TLSv1.2',
    }),
    // SNI must not be an IP address (RFC 6066 section 3).
    ...(isIP(verifiedName) === 0 ? { servername: verifiedName } : {}),
    rejectUnauthorized: !tls.insecure,
    checkServerIdentity: (_name: string, peer: Parameters<typeof checkServerIdentity>[1]) =>
      checkServerIdentity(verifiedName, peer),
  };
  const short = new Agent({ ...options, maxSockets: maxShortConnections, maxFreeSockets: maxShortConnections });
  const long = new Agent({ ...options, maxFreeSockets: 4 });
  const agents = [short, long];

  function closeIdle(): void {
    for (const agent of agents) for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
  }

  return {
    short,
    long,
    serves: (other, its) =>
      other.transportKey === access.transportKey && its?.cert === certificate?.cert && its?.key === certificate?.key,
    closeIdle,
    retire() {
      for (const agent of agents) agent.maxFreeSockets = 0;
      closeIdle();
    },
    destroy() {
      for (const agent of agents) agent.destroy();
    },
  };
}
