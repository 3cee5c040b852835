// Which addresses a cluster may have that somebody other than the operator registered. Easy to get wrong: a name can
// resolve to another address at every connection (CVE-2020-8562). So the rule is applied when objects are read, and
// again to every address that is dialled.
import { addressBytes, isWithin, parseRange, readingsOf } from '../../lib/text/ip-address.ts';
import type { AddressRange } from '../../lib/text/ip-address.ts';

/** What a connection to a registered cluster is checked with. */
export interface AddressRule {
  /** Whether connections to an IP address are refused. Anything that is no IP address is refused. */
  refuses(address: string): boolean;
  /**
   * Whether a host as objects write it (a literal without brackets, or a name) is known to be refused before anything
   * is resolved.
   */
  refusesHost(host: string): boolean;
}

/** The operator's exceptions. */
export interface AddressRuleOptions {
  /** Allowed although they are among {@link neverMembers}. */
  readonly allowed: readonly AddressRange[];
  /** Refused as well; they win over `allowed`. */
  readonly refused: readonly AddressRange[];
}

/**
 * Addresses of the machine or network that the gateway runs in, which are no API server of a cluster. Private ranges
 * are not among them: members are there.
 */
export const neverMembers: readonly string[] = [
  '0.0.0.0/8', // this host: connect() takes it for loopback
  '127.0.0.0/8', // loopback: other processes of the pod or node, and our own operations listener
  '169.254.0.0/16', // link-local: metadata of most clouds, node-local DNS
  '100.100.100.200', // metadata, Alibaba Cloud
  '168.63.129.16', // wire server, Azure
  '192.0.0.192', // metadata, Oracle Cloud
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
  '::', // this host
  '::1', // loopback
  'fe80::/10', // link-local
  'ff00::/8', // multicast
  'fd00:ec2::254', // metadata, AWS
  'fd20:ce::254', // metadata, Google Cloud
  'fd00:42::42', // metadata, Scaleway
];

/** Names that mean such an address wherever they resolve, with that address. */
const namesOf: readonly (readonly [name: RegExp, address: string])[] = [
  [/^(?:.*\.)?localhost$|^localhost\.localdomain$|^ip6-(?:localhost|loopback)$/, '127.0.0.1'],
  [/^(?:metadata|metadata\.google\.internal|metadata\.goog)$/, '169.254.169.254'],
  [/^instance-data(?:\.[a-z0-9-]+)*\.internal$|^instance-data$/, '169.254.169.254'],
];

/** Makes the rule; without options it is that of {@link neverMembers}. */
export function makeAddressRule({ allowed, refused }: AddressRuleOptions): AddressRule {
  const never = neverMembers.map((text) => parseRange(text)!);
  const isIn = (readings: readonly Buffer[], ranges: readonly AddressRange[]): boolean =>
    readings.some((address) => ranges.some((range) => isWithin(address, range)));

  const refuses = (address: string): boolean => {
    const bytes = addressBytes(address);
    if (bytes === undefined) return true;
    const readings = readingsOf(bytes);
    return isIn(readings, refused) || (isIn(readings, never) && !isIn(readings, allowed));
  };
  return Object.freeze({
    refuses,
    refusesHost(host: string) {
      if (addressBytes(host) !== undefined) return refuses(host);
      const name = host.toLowerCase().replace(/\.$/, '');
      return namesOf.some(([form, address]) => form.test(name) && refuses(address));
    },
  });
}
