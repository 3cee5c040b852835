// The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY give for an address, by the rules of Go's
// golang.org/x/net/http/httpproxy, which kubectl and client-go follow.
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a request goes. `host` is a name or an IP address without brackets. */
export interface Destination {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}

/**
 * Returns the URL of the proxy for the address; undefined when no variable names one, or NO_PROXY excepts the address.
 * Loopback addresses and `localhost` never use a proxy. As in Go, a value without a scheme means http. The returned URL
 * is not checked further.
 */
export function environmentProxy({ scheme, host, port }: Destination, environment: Environment): string | undefined {
  const proxy = valueOf(environment, `${scheme}_proxy`);
  if (proxy === '' || isExcepted(host, port, valueOf(environment, 'no_proxy'))) return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** Does the same as {@link environmentProxy} for a URL of http or https. */
export function environmentProxyOf(url: URL, environment: Environment): string | undefined {
  const scheme = url.protocol === 'http:' ? 'http' : 'https';
  const port = Number(url.port) || { http: 80, https: 443 }[scheme];
  return environmentProxy({ scheme, host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port }, environment);
}

/**
 * The value of a variable. The lower-case name takes precedence over the upper-case one; an empty value counts as not
 * set.
 */
function valueOf(environment: Environment, name: string): string {
  return environment[name] || environment[name.toUpperCase()] || '';
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

function isExcepted(host: string, port: number, exceptions: string): boolean {
  if (host === 'localhost' || (isIP(host) !== 0 && has(loopback, host))) return true;
  return exceptions
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && covers(entry, host.toLowerCase(), port));
}

/**
 * Whether one entry of NO_PROXY covers the host. An entry is `*`, a network (CIDR), or an address or domain, which may
 * have a port.
 */
function covers(entry: string, host: string, port: number): boolean {
  if (entry === '*') return true;
  const [, base = '', bits] = /^([^/]*)\/(\d{1,3})$/.exec(entry) ?? [];
  if (isIP(base) !== 0 && Number(bits) <= (isIPv6(base) ? 128 : 32)) {
    const network = new BlockList();
    network.addSubnet(base, Number(bits), familyOf(base));
    return isIP(host) !== 0 && has(network, host);
  }
  const { name, only } = withPort(entry);
  if (name === '' || (only !== '' && only !== String(port))) return false;
  if (isIP(name) !== 0) {
    const address = new BlockList();
    address.addAddress(name, familyOf(name));
    return isIP(host) !== 0 && has(address, host);
  }
  if (isIP(host) !== 0) return false;
  const domain = name.startsWith('*.') ? name.slice(1) : name;
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

function withPort(entry: string): { readonly name: string; readonly only: string } {
  const [, bracketed, plain, only] = /^(?:\[([^\]]*)\]|([^:[\]]*)):([^:]*)$/.exec(entry) ?? [];
  return only === undefined ? { name: entry, only: '' } : { name: bracketed ?? plain ?? '', only };
}

/** Whether the list contains the address. An IPv4-mapped IPv6 address is also looked up in the IPv4 networks. */
function has(list: BlockList, address: string): boolean {
  return list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
