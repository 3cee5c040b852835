// The connections to the hub for one trust configuration and one client certificate: one pool for short requests, one
// for watches. When trust or certificate change, the old pools are retired: running requests finish, and no new ones
// start on them. (Destroying an agent would cut running requests.)
import { Agent } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity, createSecureContext } from 'node:tls';
import { systemRoots } from '../../lib/system-roots.ts';
import type { HubAccess } from './hub-connection.ts';
import type { Credential } from '../model/records.ts';

/**
 * Connection pools with one trust and one client certificate. They never change; a new transport replaces the old one.
 */
export interface HubTransport {
  /**
   * The pool for requests whose answer is read at once. At most 64 connections, so that a burst of reviews cannot open
   * thousands.
   */
  readonly short: Agent;
  /**
   * The pool for watches. Each watch has a connection of its own, and there is no limit, so a watch never waits for a
   * free one.
   */
  readonly long: Agent;
  serves(access: HubAccess, certificate: Credential['clientCertificate']): boolean;
  /** Closes the idle connections of both pools. */
  closeIdle(): void;
  /** Closes idle connections, and closes the others as soon as their answer ends. */
  retire(): void;
  destroy(): void;
}

const maxShortConnections = 64;
/**
 * How long an idle connection is kept. kube-apiserver closes idle connections after 90 s (apiserver
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
