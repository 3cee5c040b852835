// Parses IP addresses and ranges (CIDR) into bytes. Easy to get wrong: one address can be written in many ways, and an
// IPv6 address can embed an IPv4 address that the connection really goes to.
import { isIPv4, isIPv6 } from 'node:net';

/** A range of addresses that share a prefix. */
export interface AddressRange {
  /** An address in the range: 4 bytes for IPv4, 16 for IPv6. */
  readonly bytes: Buffer;
  /** Number of leading bits that all addresses of the range share. */
  readonly prefixLength: number;
}

/**
 * The 4 or 16 bytes of an IP address; undefined when the text is not an address. An IPv6 zone such as `%eth0` is
 * ignored.
 */
export function addressBytes(literal: string): Buffer | undefined {
  if (isIPv4(literal)) return Buffer.from(literal.split('.').map(Number));
  return isIPv6(literal) ? ipv6Bytes(literal) : undefined;
}

/**
 * Parses `10.0.0.0/8`, `fd00::/8` or a single address. Undefined when the text is not valid, or when bits after the
 * prefix are set, which is likely a typing error.
 */
export function parseRange(text: string): AddressRange | undefined {
  const [literal = '', length, ...rest] = text.split('/');
  const bytes = literal.includes('%') ? undefined : addressBytes(literal);
  if (bytes === undefined || rest.length > 0) return undefined;
  if (length !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const prefixLength = length === undefined ? bytes.length * 8 : Number(length);
  if (prefixLength > bytes.length * 8) return undefined;
  const range = { bytes, prefixLength };
  const first = Buffer.from(bytes.map((byte, index) => byte & maskAt(index, prefixLength)));
  return first.equals(bytes) ? range : undefined;
}

/** Whether the address is in the range; false when one is IPv4 and the other IPv6. */
export function isWithin(address: Buffer, { bytes, prefixLength }: AddressRange): boolean {
  if (address.length !== bytes.length) return false;
  return bytes.every((byte, index) => ((byte ^ address[index]!) & maskAt(index, prefixLength)) === 0);
}

/**
 * All addresses that a connection to this address may really reach: the address itself, and the IPv4 address that is
 * embedded in it, if any. IPv4 is embedded in mapped and compatible addresses (RFC 4291 section 2.5.5), 6to4 (RFC 3056)
 * and NAT64 with the well-known prefix (RFC 6052).
 */
export function readingsOf(address: Buffer): readonly Buffer[] {
  if (address.length === 4) return [address];
  for (const { range, at } of holdingIpv4) {
    if (isWithin(address, range)) return [address, address.subarray(at, at + 4)];
  }
  return [address];
}

const holdingIpv4 = [
  { range: { bytes: ipv6Bytes('::ffff:0:0'), prefixLength: 96 }, at: 12 },
  { range: { bytes: ipv6Bytes('::'), prefixLength: 96 }, at: 12 },
  { range: { bytes: ipv6Bytes('64:ff9b::'), prefixLength: 96 }, at: 12 },
  { range: { bytes: ipv6Bytes('2002::'), prefixLength: 16 }, at: 2 },
] as const;

/** The bits of one byte of an address that belong to a prefix. */
export function maskAt(index: number, prefixLength: number): number {
  const bits = Math.min(8, Math.max(0, prefixLength - index * 8));
  return 0xff & ~(0xff >> bits);
}

/** The 16 bytes of an IPv6 address without its zone. `literal` must have passed Node's isIPv6(). */
export function ipv6Bytes(literal: string): Buffer {
  let text = literal.split('%')[0]!;
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  if (dotted !== null) {
    const [a, b, c, d] = dotted.slice(2).map(Number) as [number, number, number, number];
    text = `${dotted[1]}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [front, back] = text.split('::') as [string, string | undefined];
  const words = (part: string | undefined): string[] => (part === undefined || part === '' ? [] : part.split(':'));
  const before = words(front);
  const after = words(back);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const bytes = Buffer.alloc(16);
  [...before, ...zeros, ...after].forEach((word, index) => bytes.writeUInt16BE(Number.parseInt(word, 16), index * 2));
  return bytes;
}
