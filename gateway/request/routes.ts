// Which surface a path belongs to. A path is matched segment by segment on the one parse (path.ts); what is not listed
// here is 404 and never forwarded.
import { GatewayError } from '../../cache/model/errors.ts';
import { apiGroups, gatewayGroup, gatewayVersion, proxyResources } from '../api/discovery/api-groups.ts';
import type { ServedGroup, ServedPlural, ServedSubresource } from '../api/discovery/api-groups.ts';
import { indexSurface } from '../api/index/index-groups.ts';
import type { IndexSurface } from '../api/index/index-groups.ts';
import { isForwardable } from '../api/index/index-subresources.ts';
import type { ParsedTarget } from './path.ts';
import { requestInfo } from './request-info.ts';

export { gatewayGroup, gatewayVersion } from '../api/discovery/api-groups.ts';

/** A resource with a `proxy` subresource, as people grant it with RBAC. */
export interface OuterResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

const clustersResource: OuterResource = { group: gatewayGroup, version: gatewayVersion, resource: 'clusters' };
/** The same for a subresource below Clusterpedia's path. `describe` compares with this object to see that it is one. */
export const clustersThroughIndex: OuterResource = { ...clustersResource };

/** The part of the gateway that answers, with what it needs of the path. */
export type Surface =
  | { readonly kind: 'health'; readonly check: 'livez' | 'readyz' | 'healthz'; readonly only: string | undefined }
  | { readonly kind: 'version' }
  | { readonly kind: 'discovery'; readonly document: 'api' | 'apis' | 'root' }
  | { readonly kind: 'discovery'; readonly document: 'group' | 'version'; readonly group: ServedGroup }
  | { readonly kind: 'openapi'; readonly document: 'v2' | 'v3' }
  | { readonly kind: 'openapi'; readonly document: 'v3-group'; readonly group: ServedGroup }
  | {
      /** Objects of our own. */
      readonly kind: 'resource';
      readonly group: ServedGroup;
      readonly plural: ServedPlural;
      readonly name: string | undefined;
      readonly subresource: ServedSubresource | undefined;
    }
  | IndexSurface
  | {
      readonly kind: 'member';
      readonly cluster: string;
      /** The API whose `proxy` subresource was called; a hub's RBAC is asked about it. */
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
  if (first === 'openapi') return openapiSurface(segments);
  if (first === 'api' && segments.length === 1) return { kind: 'discovery', document: 'api' };
  if (first === 'apis') return groupSurface(target);
  throw notFound();
}

/**
 * Whether the path has `*` for the cluster's name, below our own paths: every cluster the caller may reach. No cluster
 * can have that name (cache/model/cluster-names.ts); below other paths `*` is a cluster that does not exist.
 */
export function namesEveryCluster(surface: Surface): surface is Extract<Surface, { kind: 'member' }> {
  return (
    surface.kind === 'member' &&
    surface.cluster === '*' &&
    surface.outer.group === gatewayGroup &&
    surface.prefix !== ''
  );
}

function openapiSurface(segments: readonly string[]): Surface {
  const [, version, apis, name, groupVersion] = segments;
  if (segments.length === 2 && (version === 'v2' || version === 'v3')) return { kind: 'openapi', document: version };
  const group = apiGroups.find((each) => each.name === name);
  if (version === 'v3' && apis === 'apis' && group !== undefined && groupVersion === gatewayVersion) {
    if (segments.length === 5) return { kind: 'openapi', document: 'v3-group', group: group.name };
  }
  throw notFound();
}

/** Below `/apis`: documents and objects of the groups served here, and the proxy paths of those and of Karmada's. */
function groupSurface(target: ParsedTarget): Surface {
  const [, name, version, plural, object, subresource] = target.segments;
  if (name === undefined) return { kind: 'discovery', document: 'apis' };
  const resource = proxyResources.get(name);
  if (version === gatewayVersion && plural === resource && resource !== undefined && subresource === 'proxy') {
    return member(target, 4, { group: name, version, resource });
  }
  const index = indexSurface(target);
  if (index !== undefined) return subresourceBehind(target, index) ?? index;
  const group = apiGroups.find((each) => each.name === name);
  if (group === undefined) throw notFound();
  if (version === undefined) return { kind: 'discovery', document: 'group', group: group.name };
  if (version !== gatewayVersion) throw notFound();
  if (plural === undefined) return { kind: 'discovery', document: 'version', group: group.name };
  const found = group.resources.find((each) => each.plural === plural);
  const inner = found?.subresources.find((each) => each.name === subresource)?.name;
  if (found === undefined || inner === 'proxy' || target.segments.length > 6) throw notFound();
  if (subresource !== undefined && inner === undefined) throw notFound();
  return { kind: 'resource', group: group.name, plural: found.plural, name: object, subresource: inner };
}

/** A subresource below Clusterpedia's path of one cluster is a request to that cluster. */
function subresourceBehind(target: ParsedTarget, index: IndexSurface): Surface | undefined {
  if (index.part !== 'resources' || index.segments[0] !== 'clusters' || index.segments.length < 7) return undefined;
  const [, cluster, ...segments] = index.segments;
  const start = target.starts[6]!;
  const prefix = target.path.slice(0, start);
  // `*` is not a cluster, and an escaped spelling of our segments would shift where the member's path begins.
  if (cluster === '*' || prefix.includes('%') || !isForwardable(requestInfo('GET', segments, '', false)))
    return undefined;
  return {
    kind: 'member',
    cluster: cluster!,
    outer: clustersThroughIndex,
    path: target.path.slice(start),
    segments,
    prefix,
  };
}

function notFound(): GatewayError {
  return new GatewayError('NOT_FOUND', 'the server could not find the requested resource');
}

function member(target: ParsedTarget, nameAt: number, outer: OuterResource): Surface {
  const proxyAt = nameAt + 1;
  const start = target.starts[proxyAt]! + '/proxy'.length;
  // Clients in Go write `*` as %2A whatever they were given (net/url escapes it when a path is joined to the server's).
  const prefix = target.path.slice(0, start).replace(/\/%2A\/proxy$/i, '/*/proxy');
  // No client escapes our own segments, and an escaped spelling would shift where the member's path begins.
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
