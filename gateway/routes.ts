// Which surface a path belongs to. Easy to get wrong: a path is matched segment by segment on the one parse (path.ts), and what is not
// listed here is 404, never forwarded.
import { GatewayError } from '../cache/errors.ts';
import type { ParsedTarget } from './path.ts';

/** Our own API group (DESIGN section 3). */
export const gatewayGroup = 'gateway.portcullis.io';
export const gatewayVersion = 'v1alpha1';

/** A resource with a `proxy` subresource, as people grant it with RBAC. */
export interface OuterResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

const clustersResource: OuterResource = { group: gatewayGroup, version: gatewayVersion, resource: 'clusters' };

/** Who answers. */
export type Surface =
  | { readonly kind: 'health'; readonly check: 'livez' | 'readyz' | 'healthz'; readonly only: string | undefined }
  | { readonly kind: 'version' }
  | { readonly kind: 'discovery'; readonly document: 'api' | 'apis' | 'group' | 'version' | 'root' }
  | { readonly kind: 'openapi'; readonly document: 'v2' | 'v3' | 'v3-group' }
  | { readonly kind: 'clusters'; readonly name: string | undefined }
  | {
      readonly kind: 'member';
      readonly cluster: string;
      /** The API whose `proxy` subresource was called: what a hub's RBAC is asked about. */
      readonly outer: OuterResource;
      /** Path for the member with a leading slash, byte-exact as received. */
      readonly path: string;
      /** Decoded segments of that path. */
      readonly segments: readonly string[];
      /** Path below which the member appears to this client, '' when it has the whole host. */
      readonly prefix: string;
    };

const health: ReadonlySet<string> = new Set(['livez', 'readyz', 'healthz']);

/**
 * @param hostCluster name of the cluster when the request came to `<name>.<cluster-domain>`
 * @throws GatewayError NOT_FOUND when nothing of ours is there
 */
export function route(target: ParsedTarget, hostCluster: string | undefined): Surface {
  const { segments } = target;
  if (hostCluster !== undefined) {
    return {
      kind: 'member',
      cluster: hostCluster,
      outer: clustersResource,
      path: target.path,
      segments,
      prefix: '',
    };
  }
  const first = segments[0];
  if (first === undefined) return { kind: 'discovery', document: 'root' };
  if (first === 'clusters' && segments.length >= 3 && segments[2] === 'proxy')
    return member(target, 1, clustersResource);
  if (health.has(first) && segments.length <= 2) {
    return { kind: 'health', check: first as 'livez', only: segments[1] };
  }
  if (first === 'version' && segments.length === 1) return { kind: 'version' };
  if (first === 'openapi') {
    if (segments[1] === 'v2' && segments.length === 2) return { kind: 'openapi', document: 'v2' };
    if (segments[1] === 'v3' && segments.length === 2) return { kind: 'openapi', document: 'v3' };
    if (segments.slice(1).join('/') === `v3/apis/${gatewayGroup}/${gatewayVersion}`) {
      return { kind: 'openapi', document: 'v3-group' };
    }
  }
  if (first === 'api' && segments.length === 1) return { kind: 'discovery', document: 'api' };
  if (first === 'apis') {
    if (segments.length === 1) return { kind: 'discovery', document: 'apis' };
    if (segments[1] === gatewayGroup) {
      if (segments.length === 2) return { kind: 'discovery', document: 'group' };
      if (segments[2] === gatewayVersion) {
        if (segments.length === 3) return { kind: 'discovery', document: 'version' };
        if (segments[3] === 'clusters') {
          if (segments.length <= 5) return { kind: 'clusters', name: segments[4] };
          if (segments[5] === 'proxy') return member(target, 4, clustersResource);
        }
      }
    }
  }
  throw new GatewayError('NOT_FOUND', 'the server could not find the requested resource');
}

function member(target: ParsedTarget, nameAt: number, outer: OuterResource): Surface {
  const proxyAt = nameAt + 1;
  const start = target.starts[proxyAt]! + '/proxy'.length;
  const prefix = target.path.slice(0, start);
  // An escaped spelling of our own segments is nobody's habit, and would shift where the member's path begins.
  if (prefix.includes('%') || !prefix.endsWith('/proxy')) {
    throw new GatewayError('BAD_PATH', 'the path up to "/proxy" must not hold percent escapes');
  }
  const path = target.path.slice(start);
  return {
    kind: 'member',
    cluster: target.segments[nameAt]!,
    outer,
    path: path === '' ? '/' : path,
    segments: target.segments.slice(proxyAt + 1),
    prefix,
  };
}
