// Opens a tunnel to a member through the cluster's proxy: TCP or a Unix socket, TLS with a client certificate if the
// proxy needs them, then the tunnel. The client certificate and the headers for the proxy are never sent to the member,
// and the member's credential is never sent to the proxy.
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { checkServerIdentity, connect as openTls } from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { AddressRule } from '../../model/address-rule.ts';
import type { Endpoint, ProxyAddress, TlsTrust } from '../../model/records.ts';
import type { MemberLabel } from '../call/member-faults.ts';
import { proxyFault, ProxyRefusal } from './proxy-faults.ts';
import { once, openTcp, openUnix } from '../call/sockets.ts';
import type { Track } from '../call/sockets.ts';
import { makeTlsHold, UnreadableAuthority } from './tls-settings.ts';
import type { SharedTlsSettings, TlsHold } from './tls-settings.ts';
import { openTunnel } from './tunnel.ts';

/** Opens tunnels through one proxy to one endpoint. */
export interface ProxyDialer {
  /**
   * Opens a tunnel; the returned socket is connected to the member.
   * @throws GatewayError MEMBER_PROXY (rejects)
   */
  open(track: Track): Promise<Socket>;
  /** Gives up the shared TLS settings; to be called when the cluster was removed. */
  release(): void;
}

/**
 * Makes a dialer for one proxy; it opens and parses nothing yet.
 * @param trust TLS settings of the member. A proxy without a certificate authority of its own is verified with the
 * member's authority and the system's roots
 */
export function makeProxyDialer(
  proxy: ProxyAddress,
  endpoint: Endpoint,
  trust: TlsTrust,
  member: MemberLabel,
  addressRule?: AddressRule,
  tlsSettings?: SharedTlsSettings,
): ProxyDialer {
  const hold = makeTlsHold(tlsSettings);
  const verifiedName = proxy.tls?.serverName ?? proxy.host;

  async function secure(plain: Socket, track: Track): Promise<Socket> {
    const secured = openTls({
      socket: plain,
      secureContext: proxyContext(proxy, trust, hold),
      servername: isIP(verifiedName) === 0 ? verifiedName : '',
      ALPNProtocols: ['http/1.1'],
      checkServerIdentity: (_name, certificate) => checkServerIdentity(verifiedName, certificate),
    });
    track(secured);
    await once(secured, 'secureConnect');
    return secured;
  }

  return {
    async open(track) {
      try {
        const plain =
          proxy.scheme === 'unix'
            ? await openUnix(socketPathOf(proxy), track)
            : await openTcp(proxy.host, proxy.port, track, addressRule);
        const socket = proxy.scheme === 'https' ? await secure(plain, track) : plain;
        const early = await openTunnel(socket, proxy, endpoint);
        if (early.length > 0) socket.unshift(early);
        return socket;
      } catch (error) {
        throw proxyFault(error, proxy, member);
      }
    },
    release: () => hold.release(),
  };
}

function socketPathOf(proxy: ProxyAddress): string {
  if (proxy.socketPath?.startsWith('/') === true) return proxy.socketPath;
  throw new ProxyRefusal('the path of its socket is not absolute');
}

function proxyContext(proxy: ProxyAddress, trust: TlsTrust, hold: TlsHold): SecureContext {
  const { ca, cert, key } = proxy.tls ?? {};
  const authorities = [ca ?? trust.ca].filter((one) => one !== undefined);
  try {
    return hold.contextOf({ authorities, systemRoots: ca === undefined, clientCertificate: { cert, key } });
  } catch (error) {
    if (error instanceof UnreadableAuthority)
      throw new ProxyRefusal('the certificate authority configured for it is not a PEM certificate', { cause: error });
    throw new ProxyRefusal('the client certificate and key configured for it cannot be used', { cause: error });
  }
}
