// How long a request head may be. Reading one costs CPU and memory before anybody knows who asks, so a client that has
// not logged in gets less than one that has.
import type { Peer } from './arrival.ts';
import type { Holding } from './client-holdings.ts';
import { HttpFault } from './http-fault.ts';
import { maxHeaderBytes, maxHeaderPairs } from '../lib/limits.ts';

/** The most that one head may hold. */
export interface HeadLimits {
  readonly bytes: number;
  /** Fields. */
  readonly pairs: number;
}

/** Of a client that has logged in, or has shown a certificate that the listener verified: as kube-apiserver. */
export const headLimits: HeadLimits = { bytes: maxHeaderBytes, pairs: maxHeaderPairs };

/**
 * Of anybody else. There is room for the longest token that is looked at (64 KiB), the same as a WebSocket subprotocol,
 * and the longest request target; a user's groups come with the certificate of a front proxy.
 */
export const strangerHeadLimits: HeadLimits = { bytes: 192 * 1024, pairs: 2_000 };

/** A certificate that the handshake verified is enough: front proxies name users in thousands of groups at once. */
export function headLimitsOf(peer: Peer, holding: Holding): HeadLimits {
  return holding.isProven() || peer.tlsAuthorized ? headLimits : strangerHeadLimits;
}

/** @returns the refusal of a head that holds more */
export function headTooLarge(limits: HeadLimits): HttpFault {
  const text =
    limits.bytes < headLimits.bytes
      ? `over ${limits.bytes / 1024} KiB or ${limits.pairs} fields, the most before a login on this connection`
      : `over 1 MiB or ${limits.pairs} fields`;
  return new HttpFault('HEADERS_TOO_LARGE', `the request head is ${text}`);
}
