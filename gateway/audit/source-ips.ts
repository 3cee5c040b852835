// Lists the addresses a request came from, in kube-apiserver's order (k8s.io/apimachinery/pkg/util/net SourceIPs). Only
// the last is the address of the connection; the client may have invented the others.
import { isIP } from 'node:net';
import { headerValues } from '../../routing/forward/headers.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';

/** Addresses taken from X-Forwarded-For at most, to keep events short. */
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

/** The address without the IPv6 form of IPv4 and without a zone; '' when the text is no address. */
function plainAddress(text: string): string {
  const address = text.startsWith('::ffff:') && isIP(text.slice(7)) === 4 ? text.slice(7) : text;
  return isIP(address) === 0 ? '' : (address.split('%', 1)[0] ?? '');
}
