// What a connection hands over for each request: the peer, the request, and the way to answer it.
import type { Inbound, InboundUpgrade } from './inbound.ts';

/** What is known about the client of a connection: its address and its TLS handshake. */
export interface Peer {
  readonly address: string;
  /** Server name (SNI) that the client sent in its TLS handshake; '' when it sent none. */
  readonly serverName: string;
  /** The client's certificates in DER, its own first, then its issuers; empty when it showed none. */
  readonly certificates: readonly Uint8Array[];
  /**
   * Whether OpenSSL verified the client's certificate at the handshake. Never enough alone: the certificate may have
   * expired since, so it is checked again at every request.
   */
  readonly tlsAuthorized: boolean;
}

/** One request of a client, as it was received. */
export interface Arrival {
  readonly inbound: Inbound;
  /** The same object as `inbound` when the request offers an upgrade that is served; otherwise undefined. */
  readonly upgradeInbound: InboundUpgrade | undefined;
  /** The Host header, or `:authority` over HTTP/2; '' for a request of HTTP/1.0 without Host. */
  readonly host: string;
  readonly peer: Peer;
  /**
   * Value of the client's Audit-ID header over HTTP/2, where the parser removes it from the headers; undefined for none
   * or several. Over HTTP/1.1 it is undefined and the header stays among the headers.
   */
  readonly askedAuditId?: string | undefined;
  /**
   * An HttpFault when the request head is not valid; every other field but `peer` and `inbound` is then meaningless.
   * Undefined for a valid head.
   */
  readonly headFault: unknown;
}
