// Reads an `Upgrade` header field: which protocol the client offers to change to, and whether the gateway supports that
// protocol. A server may ignore the offer and answer as if the header were absent (RFC 9110 section 7.8). Many clients
// send an offer with ordinary requests, such as `TLS/1.2` (RFC 2817) or `h2c`, and accept that it is ignored.
//
// An offer counts only when it is exactly one supported protocol, as in kube-apiserver (apimachinery wsstream and
// httpstream compare the whole field). A list such as `h2c, websocket` is ignored, and the client goes on with
// HTTP/1.1. But a proxy in front of the gateway may take such a request for an upgrade and pass on whatever its client
// sends next. So the connection is closed after the answer, and these bytes are never read as a request.
import { isOws, withoutEnds } from '../lib/text/text-ends.ts';

/** The two protocols that Kubernetes upgrades connections to (KEP-4006; RFC 6455; SPDY/3.1). */
export type UpgradeToken = 'websocket' | 'SPDY/3.1';

/**
 * The protocol that an `Upgrade` field offers, when it is the only one and the gateway supports it; otherwise
 * undefined.
 * @param field the value of the header; several header lines joined with commas (RFC 9110 section 5.3)
 */
export function servedUpgrade(field: string): UpgradeToken | undefined {
  switch (withoutEnds(field, isOws).toLowerCase()) {
    case 'websocket':
      return 'websocket';
    case 'spdy/3.1':
      return 'SPDY/3.1';
    default:
      return undefined;
  }
}

/**
 * Whether the field is a list that contains a supported protocol, such as `h2c, websocket`. Such an offer is ignored,
 * but the connection must be closed after the answer.
 */
export function hidesServedUpgrade(field: string): boolean {
  return servedUpgrade(field) === undefined && field.split(',').some((item) => servedUpgrade(item) !== undefined);
}
