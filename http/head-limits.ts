// How long a request head may be. Reading a head costs CPU and memory before the caller is known, so a client that has
// not logged in gets a lower limit.
import type { Peer } from './arrival.ts';
import type { Holding } from './client-holdings.ts';
import { HttpFault } from './http-fault.ts';
import { maxHeaderBytes, maxHeaderPairs } from '../lib/limits.ts';

/** The largest request head that is accepted. */
export interface HeadLimits {
  readonly bytes: number;
  /** Maximum number of header fields in the head. */
  readonly pairs: number;
}

/**
 * The limits for a client that has logged in, or whose certificate the TLS handshake verified. The size is that of
 * kube-apiserver.
 */
export const headLimits: HeadLimits = { bytes: maxHeaderBytes, pairs: maxHeaderPairs };

/**
 * The limits for every other client. There is room for the longest accepted token (64 KiB), the same token as a
 * WebSocket subprotocol, and the longest request target. Long lists of groups come only from front proxies, which show
 * a certificate.
 */
export const strangerHeadLimits: HeadLimits = { bytes: 192 * 1024, pairs: 2_000 };

/**
 * The limits that apply to the next request head on a connection. A certificate that the TLS handshake verified is
 * enough for the higher limits, because a front proxy may name a user in thousands of groups in its first request.
 */
export function headLimitsOf(peer: Peer, holding: Holding): HeadLimits {
  return holding.isProven() || peer.tlsAuthorized ? headLimits : strangerHeadLimits;
}

/** Makes the fault for a request head that exceeds `limits`. */
export function headTooLarge(limits: HeadLimits): HttpFault {
  const text =
    limits.bytes < headLimits.bytes
      ? `larger than ${limits.bytes / 1024} KiB or ${limits.pairs} header fields, the limit before a login on this connection`
      : `larger than 1 MiB or ${limits.pairs} header fields`;
  return new HttpFault('HEADERS_TOO_LARGE', `the request head is ${text}`);
}
