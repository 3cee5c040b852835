// Kubernetes' CEL libraries of IP addresses and CIDR ranges (apiserver/pkg/cel/library/ip.go, cidr.go). They refuse
// IPv6 zones, IPv4-mapped IPv6 addresses, and leading zeros.
import { isIPv4, isIPv6 } from 'node:net';
import { addressBytes, isWithin, maskAt } from '../../../lib/text/ip-address.ts';
import { KubernetesValue } from './equality.ts';
import type { Library } from './library.ts';
import { CelFault, noOverload } from './steps.ts';

/** An IP address. */
export class Address extends KubernetesValue {
  static readonly typeName = 'net.IP';
  /** 4 bytes for IPv4, 16 for IPv6. */
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    super();
    this.bytes = bytes;
  }

  override equals(other: this): boolean {
    return this.bytes.equals(other.bytes);
  }

  /** The address in canonical form (RFC 5952 for IPv6). */
  override toString(): string {
    return textOf(this.bytes);
  }
}

/** A CIDR range: an address and the length of its prefix. */
export class Range extends KubernetesValue {
  static readonly typeName = 'net.CIDR';
  readonly bytes: Buffer;
  readonly length: number;

  constructor(bytes: Buffer, length: number) {
    super();
    this.bytes = bytes;
    this.length = length;
  }

  override equals(other: this): boolean {
    return this.bytes.equals(other.bytes) && this.length === other.length;
  }

  override toString(): string {
    return `${textOf(this.bytes)}/${this.length}`;
  }

  /** The range with all bits behind the prefix cleared. */
  masked(): Range {
    const kept = this.bytes.map((byte, i) => byte & maskAt(i, this.length));
    return new Range(Buffer.from(kept), this.length);
  }

  contains(bytes: Buffer): boolean {
    return isWithin(bytes, { bytes: this.bytes, prefixLength: this.length });
  }
}

function textOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const words = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2));
  const [from, to] = longestZeros(words);
  const written = (some: readonly number[]): string => some.map((word) => word.toString(16)).join(':');
  if (to - from < 2) return written(words);
  return `${written(words.slice(0, from))}::${written(words.slice(to))}`;
}

/** Index of the first word in the longest run of zeros, and index after its last word. */
function longestZeros(words: readonly number[]): [number, number] {
  let [from, to, start] = [0, 0, 0];
  for (const [i, word] of [...words, 1].entries()) {
    if (word === 0) continue;
    if (i - start > to - from) [from, to] = [start, i];
    start = i + 1;
  }
  return [from, to];
}

/**
 * Parses an IP address. @throws CelFault when the text is no address, or is an address that Kubernetes' `ip()` refuses
 */
function parseAddress(text: string): Address {
  const bytes = bytesOf(text);
  if (typeof bytes === 'string') {
    const quoted = JSON.stringify(text);
    throw new CelFault(
      `IP Address ${quoted} parse error during conversion from string: ParseAddr(${quoted}): ${bytes}`,
    );
  }
  if (text.includes('%')) throw new CelFault(`IP address ${JSON.stringify(text)} with zone value is not allowed`);
  if (isMapped(bytes)) throw mapped(text);
  return new Address(bytes);
}

/** Returns the bytes of an IP address, or, when the text is no address, the reason in the words of Go's net/netip. */
function bytesOf(text: string): Buffer | string {
  if (isIPv4(text) || isIPv6(text)) return addressBytes(text)!;
  if (!/[.:]/.test(text)) return text.includes('%') ? 'missing IPv6 address' : 'unable to parse IP';
  if (!/^[^:]*\./.test(text)) return 'each colon-separated field must have at least one digit';
  const fields = text.split('.');
  if (fields.some((field) => field === '')) return 'IPv4 field must have at least one digit';
  if (fields.length !== 4) return `IPv4 address too ${fields.length < 4 ? 'short' : 'long'}`;
  if (fields.some((field) => !/^\d+$/.test(field))) return 'unexpected character';
  return fields.some((field) => /^0\d/.test(field))
    ? 'IPv4 field has octet with leading zero'
    : 'IPv4 field has value >255';
}

function isMapped(bytes: Buffer): boolean {
  return bytes.length === 16 && bytes.subarray(0, 12).toString('hex') === '00000000000000000000ffff';
}

function mapped(text: string): CelFault {
  return new CelFault(`IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`);
}

/** Parses a CIDR range. @throws CelFault when the text is no range, or is a range that Kubernetes' `cidr()` refuses */
function parseRange(text: string): Range {
  const outer = 'network address parse error during conversion from string: ';
  const fault = (words: string): CelFault =>
    new CelFault(`${outer}${outer}netip.ParsePrefix(${JSON.stringify(text)}): ${words}`);
  const slash = text.lastIndexOf('/');
  if (slash < 0) throw fault("no '/'");
  const [literal, length] = [text.slice(0, slash), text.slice(slash + 1)];
  const bytes = bytesOf(literal);
  if (typeof bytes === 'string') throw fault(`ParseAddr(${JSON.stringify(literal)}): ${bytes}`);
  if (literal.includes('%')) throw fault('IPv6 zones cannot be present in a prefix');
  if (!/^(?:0|[1-9]\d{0,9})$/.test(length)) throw fault(`bad bits after slash: ${JSON.stringify(length)}`);
  if (Number(length) > bytes.length * 8) throw fault('prefix length out of range');
  if (isMapped(bytes)) throw new CelFault(`${outer}${mapped(text).message}`);
  return new Range(bytes, Number(length));
}

function holds(parse: (text: string) => unknown): (text: string) => boolean {
  return (text) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };
}

/** Registers `ip`, `isIP`, `ip.isCanonical`, `cidr`, `isCIDR` and the methods of addresses and ranges. */
export function addAddresses(library: Library): void {
  const { add, addType, addNamespace } = library;
  const [address, range] = [Address.typeName, Range.typeName];
  addType(address, Address);
  addType(range, Range);
  addNamespace('ip', 'IPNamespace');
  add(`ip(string): ${address}`, parseAddress);
  const isAddress = holds(parseAddress);
  add('isIP(string): bool', isAddress);
  add('IPNamespace.isCanonical(string): bool', (_: unknown, text: string) => String(parseAddress(text)) === text);
  add(`${address}.family(): int`, ({ bytes }: Address) => (bytes.length === 4 ? 4n : 6n));
  for (const [name, is] of Object.entries(kinds)) add(`${address}.${name}(): bool`, ({ bytes }: Address) => is(bytes));
  add(`cidr(string): ${range}`, parseRange);
  add('isCIDR(string): bool', holds(parseRange));
  add(`${range}.ip(): ${address}`, ({ bytes }: Range) => new Address(bytes));
  add(`${range}.prefixLength(): int`, ({ length }: Range) => BigInt(length));
  add(`${range}.masked(): ${range}`, (one: Range) => one.masked());
  add(`${range}.containsIP(string): bool`, (one: Range, text: string) => {
    // For a text that is no IP address, Kubernetes' error is just "no such overload".
    if (!isAddress(text)) throw noOverload();
    return one.contains(parseAddress(text).bytes);
  });
  add(`${range}.containsIP(${address}): bool`, (one: Range, other: Address) => one.contains(other.bytes));
  const includes = (one: Range, other: Range): boolean => one.length <= other.length && one.contains(other.bytes);
  add(`${range}.containsCIDR(string): bool`, (one: Range, text: string) => includes(one, parseRange(text)));
  add(`${range}.containsCIDR(${range}): bool`, includes);
  for (const type of [address, range]) add(`string(${type}): string`, String);
}

/** The methods that tell the kind of an address, with the definitions of Go's net/netip. */
const kinds: Readonly<Record<string, (bytes: Buffer) => boolean>> = {
  isUnspecified: (bytes) => bytes.every((byte) => byte === 0),
  isLoopback,
  isLinkLocalMulticast: (bytes) =>
    bytes.length === 4 ? bytes.readUIntBE(0, 3) === 0xe0_00_00 : bytes[0] === 0xff && (bytes[1]! & 0x0f) === 0x02,
  isLinkLocalUnicast,
  isGlobalUnicast: (bytes) => {
    const isBroadcast = bytes.length === 4 && bytes.every((byte) => byte === 0xff);
    const isMulticast = bytes.length === 4 ? (bytes[0]! & 0xf0) === 0xe0 : bytes[0] === 0xff;
    const isZero = bytes.every((byte) => byte === 0);
    return !isBroadcast && !isMulticast && !isZero && !isLoopback(bytes) && !isLinkLocalUnicast(bytes);
  },
};

function isLoopback(bytes: Buffer): boolean {
  return bytes.length === 4 ? bytes[0] === 127 : bytes.every((byte, i) => byte === (i === 15 ? 1 : 0));
}

function isLinkLocalUnicast(bytes: Buffer): boolean {
  return bytes.length === 4 ? bytes[0] === 169 && bytes[1] === 254 : bytes[0] === 0xfe && (bytes[1]! & 0xc0) === 0x80;
}
