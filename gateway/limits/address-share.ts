// Decides which addresses count as one client: an IPv4 address, or the /64 network of an IPv6 address, because a host
// usually has all addresses of its /64.
import { addressBytes } from '../../lib/text/ip-address.ts';

/** The key of one client in a {@link Map}; the text itself when it is no address. */
export function addressKey(address: string): string {
  // A listener on both families shows an IPv4 address in the mapped form.
  const plain = address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
  if (!plain.includes(':')) return plain;
  return addressBytes(plain)?.toString('hex', 0, 8) ?? plain;
}
