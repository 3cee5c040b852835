// Reads IP addresses and ranges of them as bytes. Easy to get wrong: one address has many spellings, and an IPv6
// address can hold an IPv4 one that the system, or a translator on the way, will be talking to.
import { isIPv4, isIPv6 } from 'node:net';

/** Addresses that begin with the same bits. */
export interface AddressRange {
  /** 4 or 16. */
  readonly bytes: Buffer;
  /** How many leading bits count. */
  readonly prefixLength: number;
}

/** The 4 or 16 bytes of a literal (a zone is left out), undefined when it is none. */
export function addressBytes(literal: string): Buffer | undefined {
  if (isIPv4(literal)) return Buffer.from(literal.split('.').map(Number));
  return isIPv6(literal) ? ipv6Bytes(literal) : undefined;
}

/**
 * `10.0.0.0/8`, `fd00::/8`, or one address; undefined when it is neither, or when bits behind the prefix are set: a
 * typing error.
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

/** Whether the address is in the range; one of the other family never is. */
export function isWithin(address: Buffer, { bytes, prefixLength }: AddressRange): boolean {
  if (address.length !== bytes.length) return false;
  return bytes.every((byte, index) => ((byte ^ address[index]!) & maskAt(index, prefixLength)) === 0);
}

/**
 * Every address that a connection to this one may end at: itself, and the IPv4 address it holds when it is mapped or
 * compatible (RFC 4291 2.5.5), 6to4 (RFC 3056) or for a NAT64 (RFC 6052, the well-known prefix).
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

function maskAt(index: number, prefixLength: number): number {
  const bits = Math.min(8, Math.max(0, prefixLength - index * 8));
  return 0xff & ~(0xff >> bits);
}

/** The 16 bytes of an IPv6 literal that isIPv6 accepted, zone left out. */
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
