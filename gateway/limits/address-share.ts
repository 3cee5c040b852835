// Decides which addresses count as one client: an IPv4 address, or the /64 network of an IPv6 address, because a host
// usually has all addresses of its /64.
import { addressBytes } from '../../lib/text/ip-address.ts';

/**
 * A key that is the same for all addresses of one client, for use in a {@link Map}. A text that is no address is
 * returned unchanged.
 */
export function addressKey(address: string): string {
  // A socket that listens for both IPv4 and IPv6 shows an IPv4 address as `::ffff:192.0.2.1`.
  const plain = address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
  if (!plain.includes(':')) return plain;
  return addressBytes(plain)?.toString('hex', 0, 8) ?? plain;
}
