// Which addresses count as one client: an IPv4 address, or the /64 an IPv6 address is in, because whoever has one
// address of it has all of them.
import { addressBytes } from '../../lib/text/ip-address.ts';

/** A key for {@link Map}s; the text itself where it is no address. */
export function addressKey(address: string): string {
  // The mapped form is how a listener on both families tells IPv4.
  const plain = address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
  if (!plain.includes(':')) return plain;
  return addressBytes(plain)?.toString('hex', 0, 8) ?? plain;
}
