// Where a request came from, in kube-apiserver's order (k8s.io/apimachinery/pkg/util/net SourceIPs). Easy to get wrong:
// all but the last may be invented by the client; only the last is the address of the connection.
import { isIP } from 'node:net';
import { headerValues } from '../../routing/forward/headers.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';

/** Addresses that would not fit on a line of a log. */
const maxForwarded = 32;

/** @param peerAddress of the connection, '' when unknown */
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

/** Without the IPv6 form of an IPv4 address and without a zone; '' for anything that is no address. */
function plainAddress(text: string): string {
  const address = text.startsWith('::ffff:') && isIP(text.slice(7)) === 4 ? text.slice(7) : text;
  return isIP(address) === 0 ? '' : (address.split('%', 1)[0] ?? '');
}
