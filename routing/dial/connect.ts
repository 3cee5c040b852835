// Opens a connection to the API server of one cluster: TCP, then the cluster's proxy if it has one, then TLS. A failed
// attempt is never repeated in a less secure way: not directly without the proxy, and not without verification of the
// certificate (rule "verification is never silently off" in docs/rules.md).
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { checkServerIdentity, connect as openTls } from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { GatewayError } from '../../model/errors.ts';
import type { AddressRule } from '../../model/address-rule.ts';
import { connectTimeoutMs } from '../../lib/limits.ts';
import { formatHostPort } from '../../lib/text/host-port.ts';
import type { Credential, Endpoint, ProxyAddress, TlsTrust } from '../../model/records.ts';
import { fail, memberFault } from '../call/member-faults.ts';
import type { MemberLabel } from '../call/member-faults.ts';
import { makeProxyDialer } from './proxy-connection.ts';
import type { ProxyDialer } from './proxy-connection.ts';
import { proxyLabel } from './proxy-faults.ts';
import { once, openTcp } from '../call/sockets.ts';
import type { Track } from '../call/sockets.ts';
import { makeTlsHold, UnreadableAuthority } from './tls-settings.ts';
import type { SharedTlsSettings, TlsHold } from './tls-settings.ts';

/** Where and how to connect to a cluster, from its cluster record and credential. */
export interface DialTarget {
  readonly clusterName: string;
  readonly endpoint: Endpoint;
  readonly tls: TlsTrust;
  readonly proxy: ProxyAddress | undefined;
  readonly clientCertificate: Credential['clientCertificate'];
  /**
   * Decides about every address, including that of the proxy, before anything is connected to it; undefined allows all
   * addresses.
   */
  readonly addressRule?: AddressRule | undefined;
  /**
   * Maximum time in milliseconds until the TLS handshake is complete; then dial() fails with MEMBER_TIMEOUT. Default
   * 5,000.
   */
  readonly timeoutMs?: number;
  /** SecureContexts that several clusters share; undefined when this cluster shares none. */
  readonly tlsSettings?: SharedTlsSettings | undefined;
}

/** Application protocols (ALPN) in order of preference. */
export type Protocols = readonly ('h2' | 'http/1.1')[];

/**
 * An open connection on which no request was sent yet. The socket keeps an error listener, so that an error on it
 * cannot crash the process.
 */
export interface Dialed {
  readonly socket: Socket;
  readonly protocol: 'h2' | 'http/1.1';
}

/**
 * Opens connections to one cluster. It keeps TLS settings and the TLS sessions that can be resumed; these are never
 * used for another cluster.
 */
export type Dialer = Pick<MemberDialer, keyof MemberDialer>;

/** Makes the dialer of one cluster record. It opens and parses nothing before the first dial(). */
export class MemberDialer {
  readonly member: MemberLabel;
  readonly #target: DialTarget;
  readonly #timeoutMs: number;
  readonly #hold: TlsHold;
  readonly #proxyDialer: ProxyDialer | undefined;
  /** The last TLS session for each list of protocols. Resuming one saves half of the handshake. */
  readonly #sessions = new Map<string, Buffer>();

  constructor(target: DialTarget) {
    const { clusterName, endpoint, tls, proxy, addressRule, tlsSettings } = target;
    this.member = {
      clusterName,
      address: `${endpoint.scheme}://${formatHostPort(endpoint)}`,
      verifiedName: tls.serverName ?? endpoint.host,
      ownAuthority: tls.ca !== undefined,
    };
    this.#target = target;
    this.#timeoutMs = target.timeoutMs ?? connectTimeoutMs;
    this.#hold = makeTlsHold(tlsSettings);
    if (proxy !== undefined) {
      this.#proxyDialer = makeProxyDialer(proxy, endpoint, tls, this.member, addressRule, tlsSettings);
    }
  }

  /**
   * Opens a connection.
   * @throws GatewayError (rejects) that says what failed; MEMBER_UNAVAILABLE after `signal` was aborted
   */
  dial(protocols: Protocols, signal?: AbortSignal): Promise<Dialed> {
    const attempt = new DialAttempt(this.member, (track) => this.#open(protocols, track));
    return attempt.run(this.#timeoutMs, () => this.#timeout(), signal);
  }

  /**
   * Gives up the shared TLS settings; to be called when the cluster was removed. Requests that are still running may
   * open connections afterwards.
   */
  release(): void {
    this.#hold.release();
    this.#proxyDialer?.release();
  }

  #timeout(): GatewayError {
    const { proxy } = this.#target;
    const through = proxy === undefined ? '' : ` through ${proxyLabel(proxy)}`;
    const waited = `no connection to ${this.member.address}${through} within ${this.#timeoutMs / 1000} s`;
    return fail('MEMBER_TIMEOUT', waited, this.member, undefined);
  }

  async #open(protocols: Protocols, track: Track): Promise<Dialed> {
    const { endpoint } = this.#target;
    // The client certificate is read before anything is connected to, so that an unusable one is reported as such.
    if (endpoint.scheme === 'https') memberContext(this.#target, this.member, this.#hold);
    const socket = await (this.#proxyDialer === undefined ? this.#openDirect(track) : this.#proxyDialer.open(track));
    if (endpoint.scheme === 'http') return { socket, protocol: 'http/1.1' };
    return this.#startTls(socket, protocols, track);
  }

  async #openDirect(track: Track): Promise<Socket> {
    const { endpoint, addressRule } = this.#target;
    try {
      return await openTcp(endpoint.host, endpoint.port, track, addressRule);
    } catch (error) {
      throw memberFault(error, this.member, 'connect');
    }
  }

  async #startTls(socket: Socket, protocols: Protocols, track: Track): Promise<Dialed> {
    const { verifiedName } = this.member;
    const sessionKey = protocols.join();
    const secured = openTls({
      socket,
      secureContext: memberContext(this.#target, this.member, this.#hold),
      // An IP address must not be sent as SNI (RFC 6066 section 3).
      servername: isIP(verifiedName) === 0 ? verifiedName : '',
      ALPNProtocols: [...protocols],
      session: this.#sessions.get(sessionKey),
      rejectUnauthorized: !this.#target.tls.insecure,
      checkServerIdentity: (_name, certificate) => checkServerIdentity(verifiedName, certificate),
    });
    secured.on('session', (session: Buffer) => this.#sessions.set(sessionKey, session));
    track(secured);
    try {
      await once(secured, 'secureConnect');
    } catch (error) {
      this.#sessions.delete(sessionKey);
      throw memberFault(error, this.member, 'tls');
    }
    return { socket: secured, protocol: secured.alpnProtocol === 'h2' ? 'h2' : 'http/1.1' };
  }
}

/**
 * One attempt to connect. It ends with a connection, a failure, its deadline or an abort by its caller, whichever comes
 * first.
 */
class DialAttempt {
  readonly #member: MemberLabel;
  readonly #open: (track: Track) => Promise<Dialed>;
  readonly #result = Promise.withResolvers<Dialed>();
  readonly #sockets: Socket[] = [];
  readonly #onAbort = (): void =>
    this.#giveUp(fail('MEMBER_UNAVAILABLE', 'connecting was cancelled', this.#member, undefined));
  #signal: AbortSignal | undefined;
  #timer: NodeJS.Timeout | undefined;
  #over = false;

  constructor(member: MemberLabel, open: (track: Track) => Promise<Dialed>) {
    this.#member = member;
    this.#open = open;
  }

  run(timeoutMs: number, timeout: () => GatewayError, signal: AbortSignal | undefined): Promise<Dialed> {
    this.#signal = signal;
    this.#timer = setTimeout(() => this.#giveUp(timeout()), timeoutMs);
    signal?.addEventListener('abort', this.#onAbort);
    if (signal?.aborted === true) this.#onAbort();
    else {
      this.#open((socket) => this.#track(socket)).then(
        (dialed) => {
          if (this.#settle()) this.#result.resolve(dialed);
        },
        (error: unknown) => this.#giveUp(error),
      );
    }
    return this.#result.promise;
  }

  #track(socket: Socket): void {
    socket.on('error', ignore);
    this.#sockets.push(socket);
    if (this.#over) socket.destroy();
  }

  #giveUp(error: unknown): void {
    if (!this.#settle()) return;
    for (const socket of this.#sockets) socket.destroy();
    this.#result.reject(memberFault(error, this.#member, 'connect'));
  }

  #settle(): boolean {
    if (this.#over) return false;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
    return true;
  }
}

function memberContext(target: DialTarget, member: MemberLabel, hold: TlsHold): SecureContext {
  const { clientCertificate, tls } = target;
  try {
    return hold.contextOf({
      authorities: tls.ca === undefined ? [] : [tls.ca],
      // Without verification no root certificates are needed; reading those of the system takes a tenth of a second.
      systemRoots: tls.ca === undefined && !tls.insecure,
      clientCertificate,
    });
  } catch (error) {
    if (error instanceof UnreadableAuthority)
      throw fail('MEMBER_TLS', 'the certificate authority of the cluster is not a PEM certificate', member, error);
    throw fail('MEMBER_CREDENTIAL', "the cluster's client certificate and key cannot be used", member, error);
  }
}

function ignore(): void {}
