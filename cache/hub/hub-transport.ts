// The connections to the hub for one trust and one client certificate: a pool for short requests, another for watches.
// Destroying an agent cuts requests under way. So after a rotation the old pools are retired: they finish their answers
// and take no new requests.
import { Agent } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity, createSecureContext, getCACertificates } from 'node:tls';
import type { HubAccess } from './hub-connection.ts';
import type { Credential } from '../model/records.ts';

/** Connections as one identity; replaced whole when trust or certificate change. */
export interface HubTransport {
  /** For answers read at once: bounded, so that a burst of reviews cannot open thousands of connections. */
  readonly short: Agent;
  /** For watches: one connection each, never waited for. */
  readonly long: Agent;
  serves(access: HubAccess, certificate: Credential['clientCertificate']): boolean;
  /** Closes connections nobody uses. */
  closeIdle(): void;
  /** Takes no connection back any more; those in use end with their answer. */
  retire(): void;
  destroy(): void;
}

const maxShortConnections = 64;
/** kube-apiserver closes idle connections after 90 s (apiserver `http.Server.IdleTimeout`); ours end before. */
const idleMs = 60_000;

/** Opens nothing before the first request. */
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
    // SNI is never an IP address (RFC 6066 section 3).
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

/** The roots of the operating system, or those that come with Node where it has none (a minimal container image). */
function systemRoots(): string[] {
  const system = getCACertificates('system');
  return system.length > 0 ? [...system, ...getCACertificates('extra')] : getCACertificates('default');
}
