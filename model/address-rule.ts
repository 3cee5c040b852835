// Decides which addresses a cluster may have if somebody other than the operator registered it. Easy to get wrong: a
// name may resolve to a different address each time (CVE-2020-8562). So the host in an object is checked when the
// object is read, and every resolved IP address is checked before the gateway connects to it.
import { addressBytes, isWithin, parseRange, readingsOf } from '../lib/text/ip-address.ts';
import type { AddressRange } from '../lib/text/ip-address.ts';

/** Decides whether the gateway may connect to an address of a cluster. */
export interface AddressRule {
  /** Whether the gateway must not connect to this IP address. True also for text that is not an IP address. */
  refuses(address: string): boolean;
  /**
   * Whether a host from an object is refused before name resolution: a refused IP address (IPv6 without brackets), or a
   * name such as `localhost` that is known to mean a refused address.
   */
  refusesHost(host: string): boolean;
}

/** Settings of the operator that change the default rule. */
export interface AddressRuleOptions {
  /** Addresses that are allowed even if they are in {@link neverMembers}. */
  readonly allowed: readonly AddressRange[];
  /** Addresses that are refused in addition; they take precedence over `allowed`. */
  readonly refused: readonly AddressRange[];
}

/**
 * Addresses of the gateway's own machine or network, where no API server of a cluster can be. Private ranges are not
 * listed, because many clusters are there.
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

/** Host names that are treated like the given address, whatever they resolve to. */
const namesOf: readonly (readonly [name: RegExp, address: string])[] = [
  [/^(?:.*\.)?localhost$|^localhost\.localdomain$|^ip6-(?:localhost|loopback)$/, '127.0.0.1'],
  [/^(?:metadata|metadata\.google\.internal|metadata\.goog)$/, '169.254.169.254'],
  [/^instance-data(?:\.[a-z0-9-]+)*\.internal$|^instance-data$/, '169.254.169.254'],
];

/** Makes the rule. With empty options it refuses exactly {@link neverMembers}. */
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
