// Lists the addresses that a request came through, in kube-apiserver's order (SourceIPs in
// k8s.io/apimachinery/pkg/util/net). Security: only the last address, that of the connection, is certain. The client
// may have invented the others.
import { isIP } from 'node:net';
import { headerValues } from '../../http/raw-headers.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';

/** Maximum number of addresses that are taken from X-Forwarded-For, so that a client cannot make events long. */
const maxForwarded = 32;

/**
 * The addresses for the field `sourceIPs` of an audit event.
 * @param peerAddress address of the connection, '' when unknown
 */
export function sourceIPs(headers: RawHeaders, peerAddress: string): readonly string[] {
  const addresses: string[] = [];
  const remote = plainAddress(peerAddress);
  const [forwarded] = headerValues(headers, 'x-forwarded-for');
  if (forwarded !== undefined) {
    for (const part of forwarded.split(',', maxForwarded)) {
      const address = plainAddress(part.trim());
      if (address !== '') addresses.push(address);
    }
  }
  const [realValue] = headerValues(headers, 'x-real-ip');
  if (realValue !== undefined) {
    const real = plainAddress(realValue.trim());
    if (real !== '' && !addresses.includes(real)) addresses.push(real);
  }
  if (remote !== '' && addresses.at(-1) !== remote) addresses.push(remote);
  return addresses;
}

/**
 * The address without an IPv6 zone; an IPv4 address in IPv6 form becomes plain IPv4. '' when the text is no address.
 */
function plainAddress(text: string): string {
  const address = text.startsWith('::ffff:') && isIP(text.slice(7)) === 4 ? text.slice(7) : text;
  return isIP(address) === 0 ? '' : (address.split('%', 1)[0] ?? '');
}
