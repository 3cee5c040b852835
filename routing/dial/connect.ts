// Opens a connection to the API server of one cluster: TCP, the cluster's proxy if it has one, then TLS. Easy to get
// wrong: a fault must never lead to a weaker attempt; there is no fallback from the proxy to direct, nor from a
// verified to an unverified certificate.
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { checkServerIdentity, connect as openTls } from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { AddressRule } from '../../cache/model/address-rule.ts';
import { connectTimeoutMs } from '../../lib/limits.ts';
import type { Credential, Endpoint, ProxyAddress, TlsTrust } from '../../cache/model/records.ts';
import { fail, memberFault } from '../members/member-faults.ts';
import type { MemberLabel } from '../members/member-faults.ts';
import { makeProxyDialer } from './proxy-connection.ts';
import { proxyLabel } from './proxy-faults.ts';
import { once, openTcp } from './sockets.ts';
import type { Track } from './sockets.ts';
import { makeTlsHold, UnreadableAuthority } from './tls-settings.ts';
import type { SharedTlsSettings, TlsHold } from './tls-settings.ts';

/** Where and how to connect: parts of a cluster record. */
export interface DialTarget {
  readonly clusterName: string;
  readonly endpoint: Endpoint;
  readonly tls: TlsTrust;
  readonly proxy: ProxyAddress | undefined;
  readonly clientCertificate: Credential['clientCertificate'];
  /** Asked about every address before it is connected to, that of the proxy included; undefined: any will do. */
  readonly addressRule?: AddressRule | undefined;
  /** Longest wait for everything up to a finished TLS handshake; default 5 s. */
  readonly timeoutMs?: number;
  /** What equal clusters share; absent: with nobody. */
  readonly tlsSettings?: SharedTlsSettings | undefined;
}

/** Application protocols in order of preference. */
export type Protocols = readonly ('h2' | 'http/1.1')[];

/**
 * A connection ready for its first request. An error listener stays on the socket, so that it can never crash the
 * process.
 */
export interface Dialed {
  readonly socket: Socket;
  readonly protocol: 'h2' | 'http/1.1';
}

/**
 * Opens connections to one cluster; keeps what they have in common: the TLS settings, and the sessions to resume, which
 * are no other cluster's.
 */
export interface Dialer {
  readonly member: MemberLabel;
  /** Rejects with a GatewayError; after `signal` fired, with MEMBER_UNAVAILABLE. */
  dial(protocols: Protocols, signal?: AbortSignal): Promise<Dialed>;
  /** The cluster is left: what it shares with others is theirs alone. What is under way may still dial. */
  release(): void;
}

/** Makes the dialer of one cluster record. Nothing is opened or parsed before the first dial. */
export function makeDialer(target: DialTarget): Dialer {
  const { clusterName, endpoint, tls, proxy } = target;
  const timeoutMs = target.timeoutMs ?? connectTimeoutMs;
  const verifiedName = tls.serverName ?? endpoint.host;
  const member: MemberLabel = {
    clusterName,
    address: `${endpoint.scheme}://${bracketed(endpoint.host)}:${endpoint.port}`,
    verifiedName,
    ownAuthority: tls.ca !== undefined,
  };
  const hold = makeTlsHold(target.tlsSettings);
  const proxyDialer =
    proxy === undefined
      ? undefined
      : makeProxyDialer(proxy, endpoint, tls, member, target.addressRule, target.tlsSettings);
  /** The last TLS session of each protocol list; resuming one spares half of the handshake. */
  const sessions = new Map<string, Buffer>();

  async function startTls(socket: Socket, protocols: Protocols, track: Track): Promise<Dialed> {
    const sessionKey = protocols.join();
    const secured = openTls({
      socket,
      secureContext: memberContext(target, member, hold),
      // SNI is never an IP address (RFC 6066 section 3).
      servername: isIP(verifiedName) === 0 ? verifiedName : '',
      ALPNProtocols: [...protocols],
      session: sessions.get(sessionKey),
      rejectUnauthorized: !tls.insecure,
      checkServerIdentity: (_name, certificate) => checkServerIdentity(verifiedName, certificate),
    });
    secured.on('session', (session: Buffer) => sessions.set(sessionKey, session));
    track(secured);
    try {
      await once(secured, 'secureConnect');
    } catch (error) {
      sessions.delete(sessionKey);
      throw memberFault(error, member, 'tls');
    }
    return { socket: secured, protocol: secured.alpnProtocol === 'h2' ? 'h2' : 'http/1.1' };
  }

  async function open(protocols: Protocols, track: Track): Promise<Dialed> {
    if (endpoint.scheme === 'https') memberContext(target, member, hold);
    const socket =
      proxyDialer === undefined
        ? await openTcp(endpoint.host, endpoint.port, track, target.addressRule).catch((error: unknown) => {
            throw memberFault(error, member, 'connect');
          })
        : await proxyDialer.open(track);
    if (endpoint.scheme === 'http') return { socket, protocol: 'http/1.1' };
    return startTls(socket, protocols, track);
  }

  function dial(protocols: Protocols, signal?: AbortSignal): Promise<Dialed> {
    return new Promise((resolve, reject) => {
      const opened: Socket[] = [];
      let over = false;
      const settle = (): boolean => {
        if (over) return false;
        over = true;
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        return true;
      };
      const giveUp = (error: unknown): void => {
        if (!settle()) return;
        for (const socket of opened) socket.destroy();
        reject(memberFault(error, member, 'connect'));
      };
      const onAbort = (): void => giveUp(fail('MEMBER_UNAVAILABLE', 'the connection was given up', member, undefined));
      const timer = setTimeout(() => {
        const through = proxy === undefined ? '' : ` through ${proxyLabel(proxy)}`;
        const waited = `no connection to ${member.address}${through} within ${timeoutMs / 1000} s`;
        giveUp(fail('MEMBER_TIMEOUT', waited, member, undefined));
      }, timeoutMs);
      signal?.addEventListener('abort', onAbort);
      if (signal?.aborted === true) {
        onAbort();
        return;
      }
      const track = (socket: Socket): void => {
        socket.on('error', ignore);
        opened.push(socket);
        if (over) socket.destroy();
      };
      open(protocols, track).then((dialed) => {
        if (settle()) resolve(dialed);
      }, giveUp);
    });
  }

  return {
    member,
    dial,
    release() {
      hold.release();
      proxyDialer?.release();
    },
  };
}

function memberContext(target: DialTarget, member: MemberLabel, hold: TlsHold): SecureContext {
  const { clientCertificate, tls } = target;
  try {
    return hold.contextOf({
      authorities: tls.ca === undefined ? [] : [tls.ca],
      // Without verification no roots are needed, and to read those of the system takes a tenth of a second.
      systemRoots: tls.ca === undefined && !tls.insecure,
      clientCertificate,
    });
  } catch (error) {
    if (error instanceof UnreadableAuthority)
      throw fail('MEMBER_TLS', 'the certificate authority of the cluster is not a PEM certificate', member, error);
    throw fail('MEMBER_CREDENTIAL', "the cluster's client certificate and key cannot be used", member, error);
  }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function ignore(): void {}
