// Decides about redirects in answers of a cluster (docs/rules.md, "No redirects"). Redirects are refused, except those
// of applications behind the API server's own proxy: their Location is changed to a path below the gateway's prefix for
// the cluster. Security: a Location to another host would send the client and its credential to that host
// (CVE-2022-3172).
import type { Endpoint } from '../model/records.ts';
import { applicationOffset } from './path.ts';
import type { Surface } from './routes.ts';

/**
 * Makes a function that turns the Location header of a cluster's answer into one for the client. The function returns
 * undefined when the redirect must be refused.
 */
export function locationRewriter(
  surface: Extract<Surface, { kind: 'member' }>,
  endpoint: Endpoint,
): (location: string) => string | undefined {
  return (location) => {
    if (applicationOffset(surface.segments) < 0) return undefined;
    if (/[\u0000-\u0020\u007f-\uffff\\]/.test(location)) return undefined;
    const path = pathOf(location, endpoint);
    if (path === undefined || /(?:^|\/)(?:\.|%2e){1,2}(?:[/?#;]|$)/i.test(path)) return undefined;
    if (!path.startsWith('/')) return path;
    const inner = path.startsWith(`${endpoint.basePath}/`) ? path.slice(endpoint.basePath.length) : path;
    const moved = surface.prefix + inner;
    // When the cluster has a host name of its own, the prefix is '' and the Location begins with the application's
    // path. A path such as "//evil/x" would then lead to another host.
    return moved.startsWith('//') ? undefined : moved;
  };
}

/** The path and query of a Location header; undefined when the Location leads to another host than the cluster. */
function pathOf(location: string, endpoint: Endpoint): string | undefined {
  if (location.startsWith('//')) return undefined;
  const absolute = /^([a-z][a-z0-9+.-]*):(.*)$/i.exec(location);
  if (absolute === null) return location;
  if (absolute[1]!.toLowerCase() !== endpoint.scheme || !absolute[2]!.startsWith('//')) return undefined;
  const rest = absolute[2]!.slice(2);
  const end = rest.search(/[/?#]/);
  const authority = (end < 0 ? rest : rest.slice(0, end)).toLowerCase();
  const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host.toLowerCase();
  const defaultPort = endpoint.scheme === 'https' ? 443 : 80;
  const same = authority === `${host}:${endpoint.port}` || (endpoint.port === defaultPort && authority === host);
  if (!same) return undefined;
  const path = end < 0 ? '' : rest.slice(end);
  return path.startsWith('/') ? path : `/${path}`;
}
