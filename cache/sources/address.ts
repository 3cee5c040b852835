// Parses the two addresses of a kubeconfig cluster, `server` and `proxy-url`. Everything unusual is refused. A URL
// parser would silently repair dot segments, numeric hosts and backslashes, and the gateway would connect to a host
// that nobody wrote.
import { isIPv4, isIPv6 } from 'node:net';
import type { Endpoint, ProxyAddress } from '../../model/records.ts';
import { unusable } from './unusable.ts';

const urlShape =
  /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(?:([^/?#@]*)@)?(\[[^\]/?#@]*\]|[^/?#@:[\]]*)(?::(\d{0,6}))?(\/[^?#]*)?(\?[^#]*)?(#.*)?$/;

/** A URL in its parts. `port` is undefined when the URL has none; `userinfo` is still percent-encoded. */
interface Parts {
  readonly scheme: string;
  readonly userinfo: string | undefined;
  readonly host: string;
  readonly port: number | undefined;
  readonly path: string;
}

/** A host name or IP address with or without a port, which may end in a slash. */
const hostAndPort = /^(?:\[[^\]/?#@]*\]|[^/?#@:[\]]+)(?::\d{1,6})?\/?$/;

/**
 * Parses `clusters[].cluster.server`. The default port is 443 for https and 80 for http. `basePath` has no trailing
 * slash.
 * @param field name of the field that holds the text, for messages
 * @param defaultScheme of an address that is a host, or a host and a port, as `DefaultServerURL` of client-go takes it:
 *   https where a certificate authority is given or verification is off, else http. Without it, such an address is
 *   refused.
 * @throws GatewayError CLUSTER_UNUSABLE with the reason; the message does not contain the address
 */
export function parseServer(text: string, field = 'server', defaultScheme?: Endpoint['scheme']): Endpoint {
  if (text === '') throw unusable(`the cluster has no ${field}`);
  const isBare = defaultScheme !== undefined && hostAndPort.test(text);
  const parts = split(field, isBare ? `${defaultScheme}://${text}` : text);
  if (parts.userinfo !== undefined) throw unusable(`${field} must not hold a user name or password`);
  if (parts.scheme !== 'https' && parts.scheme !== 'http')
    throw unusable(`${field} must start with https:// or http://`);
  const port = parts.port ?? (parts.scheme === 'https' ? 443 : 80);
  return { scheme: parts.scheme, host: parts.host, port, basePath: parseBasePath(field, parts.path) };
}

/**
 * Parses `clusters[].cluster.proxy-url`. The default port is 80 for http, 443 for https and 1080 for socks5. `socks5h`
 * is read as `socks5`: as in Go, the proxy always resolves the host name.
 * @param field name of the field that holds the text, for messages
 * @throws GatewayError CLUSTER_UNUSABLE with the reason; the message does not contain the address, which may include a
 * password
 */
export function parseProxy(text: string, field = 'proxy-url'): ProxyAddress {
  const parts = split(field, text);
  const scheme = parts.scheme === 'socks5h' ? 'socks5' : parts.scheme;
  if (scheme !== 'http' && scheme !== 'https' && scheme !== 'socks5') {
    throw unusable(`${field} must start with http://, https:// or socks5://`);
  }
  if (parts.path !== '' && parts.path !== '/') throw unusable(`${field} must not have a path`);
  const port = parts.port ?? { http: 80, https: 443, socks5: 1080 }[scheme];
  return {
    scheme,
    host: parts.host,
    port,
    userinfo: parts.userinfo === undefined ? undefined : decode(field, parts.userinfo),
  };
}

/** Whether the text has the form of a host name or an IP address, so that a certificate can be valid for it. */
export function isServerName(name: string): boolean {
  return /^[A-Za-z0-9_.:-]{1,254}$/.test(name);
}

function split(field: string, text: string): Parts {
  if (/[^\x21-\x7e]|\\/.test(text)) {
    throw unusable(
      `${field} contains a space, backslash, control or non-ASCII character (write host names in punycode)`,
    );
  }
  const match = urlShape.exec(text);
  if (match === null) throw unusable(`${field} is not a URL of the form https://host:port`);
  const [, scheme = '', userinfo, host = '', portText, path = '', query, fragment] = match;
  if (query !== undefined || fragment !== undefined) throw unusable(`${field} must not have a query or fragment`);
  return {
    scheme: scheme.toLowerCase(),
    userinfo,
    host: parseHost(field, host),
    port: parsePort(field, portText),
    path,
  };
}

function parseHost(field: string, host: string): string {
  if (host.startsWith('[')) {
    const literal = host.slice(1, -1);
    if (!isIPv6(literal) || literal.includes('%')) throw unusable(`${field} has an invalid IPv6 address`);
    return literal;
  }
  if (isIPv4(host)) return host;
  const labels = (host.endsWith('.') ? host.slice(0, -1) : host).split('.');
  const valid = labels.every((label) => /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/.test(label));
  if (!valid || host.length > 254) throw unusable(`${field} has an invalid host name`);
  // Resolvers read `2130706433`, `127.1` and `0x7f.0.0.1` as 127.0.0.1, which a person who reads the kubeconfig would
  // not notice.
  if (/^(?:\d+|0[xX][0-9A-Fa-f]*)$/.test(labels.at(-1) ?? '')) throw unusable(`${field} has an invalid IPv4 address`);
  return host;
}

function parsePort(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (!/^[1-9]\d*$/.test(text) || port > 65_535) throw unusable(`${field} has an invalid port`);
  return port;
}

function parseBasePath(field: string, path: string): string {
  const trimmed = path.endsWith('/') ? path.slice(0, -1) : path;
  if (trimmed === '') return '';
  if (!/^(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$/.test(trimmed)) {
    throw unusable(`the path of ${field} contains a character that must be percent-encoded`);
  }
  for (const segment of trimmed.slice(1).split('/')) {
    const plain = segment.replaceAll(/%2e/gi, '.');
    if (plain === '' || plain === '.' || plain === '..' || /%2f|%5c/i.test(segment)) {
      throw unusable(`the path of ${field} must not have empty or dot segments or encoded slashes`);
    }
  }
  return trimmed;
}

function decode(field: string, userinfo: string): { readonly username: string; readonly password: string } {
  const colon = userinfo.indexOf(':');
  const username = colon === -1 ? userinfo : userinfo.slice(0, colon);
  const password = colon === -1 ? '' : userinfo.slice(colon + 1);
  try {
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    throw unusable(`the user name or password of ${field} is not percent-encoded properly`);
  }
}
