// Reads an `Upgrade` header field: which protocol a request offers to change to, and whether it is one that the gateway
// changes to. An offer is no demand: a server may ignore it and answer as if it had not been made (RFC 9110 section
// 7.8). Many clients offer something with ordinary requests, such as `TLS/1.2` (RFC 2817) or `h2c`, and go on without.
//
// Only an offer of exactly one served protocol counts, as in kube-apiserver (apimachinery wsstream and httpstream
// compare the whole field). Out of a list such as `h2c, websocket` nothing is chosen: a client that gets no 101 goes on
// with HTTP/1.1, which is always right. A proxy in front that takes such a list for an upgrade would pass on the
// client's own bytes behind it, so the connection ends with the answer, and those bytes are never read as a request.
import { isOws, withoutEnds } from '../lib/text/text-ends.ts';

/** The two protocols that Kubernetes upgrades connections to (KEP-4006; RFC 6455; SPDY/3.1). */
export type UpgradeToken = 'websocket' | 'SPDY/3.1';

/**
 * The protocol that an `Upgrade` field offers, when it is the only one and is served; otherwise undefined.
 * @param field the value of the header; several lines joined with commas, as HTTP reads them
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

/** Whether a list of offers that as a whole is not served names a protocol that would be served alone. */
export function hidesServedUpgrade(field: string): boolean {
  return servedUpgrade(field) === undefined && field.split(',').some((item) => servedUpgrade(item) !== undefined);
}
