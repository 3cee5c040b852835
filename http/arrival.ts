// What a connection hands over for each request: the peer, the request, and the way to answer it.
import type { Inbound, InboundUpgrade } from './inbound.ts';

/** Who is at the other end of the socket. */
export interface Peer {
  readonly address: string;
  /** SNI the client sent, '' when none. */
  readonly serverName: string;
  /** DER chain, leaf first; [] when the client showed none. */
  readonly certificates: readonly Uint8Array[];
  /** What OpenSSL said at the handshake. It is never enough alone: certificates are judged again at every request. */
  readonly tlsAuthorized: boolean;
}

/** One request as it came. */
export interface Arrival {
  readonly inbound: Inbound;
  /** The same object again when the request carries an Upgrade header. */
  readonly upgradeInbound: InboundUpgrade | undefined;
  /** Host or `:authority`. */
  readonly host: string;
  readonly peer: Peer;
  /** Its one Audit-ID, where it was taken out of the headers while they were read. */
  readonly askedAuditId?: string | undefined;
  /** An HttpFault when the head was refused while it was read; nothing else of the request may be used then. */
  readonly headFault: unknown;
}
