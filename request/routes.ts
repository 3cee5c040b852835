// Decides which part of the gateway answers a path. The path is matched segment by segment, as path.ts parsed it. A
// path that no route in this file matches is answered 404 and never sent to a cluster.
import { GatewayError } from '../model/errors.ts';
import { apiGroups, gatewayGroup, gatewayVersion, proxyResources } from './api-groups.ts';
import type { ServedGroup, ServedPlural, ServedSubresource } from './api-groups.ts';
import { indexSurface, karmadaSearchGroup } from './index-groups.ts';
import type { IndexSurface } from './index-groups.ts';
import { isForwardable } from './index-subresources.ts';
import type { ParsedTarget } from './path.ts';
import { requestInfo } from './request-info.ts';

export { gatewayGroup, gatewayVersion } from './api-groups.ts';

/**
 * A resource whose `proxy` subresource leads to clusters, such as `clusters`. RBAC rules name this resource to allow
 * the use of clusters.
 */
export interface OuterResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** The gateway's own resource for clusters: RBAC rules for `clusters/proxy` allow requests to a cluster. */
export const clustersResource: OuterResource = { group: gatewayGroup, version: gatewayVersion, resource: 'clusters' };
/**
 * Marks requests for subresources of pods, nodes and services below Clusterpedia's path. Its fields equal those of
 * `clustersResource`, but it is a different object, so that gateway/steps/describe.ts can recognise such requests by
 * `===`.
 */
export const clustersThroughIndex: OuterResource = { ...clustersResource };

/** The part of the gateway that answers a request, with the data from the path that this part needs. */
export type Surface =
  | { readonly kind: 'health'; readonly check: 'livez' | 'readyz' | 'healthz'; readonly only: string | undefined }
  | { readonly kind: 'version' }
  | { readonly kind: 'self-review' }
  | {
      /** The console, below /console/. */
      readonly kind: 'console';
      /** The part of the path behind `/console/`. */
      readonly path: string;
    }
  | { readonly kind: 'discovery'; readonly document: 'api' | 'apis' | 'root' }
  | { readonly kind: 'discovery'; readonly document: 'group' | 'version'; readonly group: ServedGroup }
  | { readonly kind: 'openapi'; readonly document: 'v2' | 'v3' }
  | { readonly kind: 'openapi'; readonly document: 'v3-group'; readonly group: ServedGroup }
  | {
      /** Objects that the gateway serves itself, such as `clusters`. */
      readonly kind: 'resource';
      readonly group: ServedGroup;
      readonly plural: ServedPlural;
      readonly name: string | undefined;
      readonly subresource: ServedSubresource | undefined;
    }
  | IndexSurface
  | {
      /** Karmada's ResourceRegistry objects, which are stored on the hub. */
      readonly kind: 'registries';
      readonly name: string | undefined;
      readonly subresource: 'status' | undefined;
    }
  | {
      readonly kind: 'member';
      readonly cluster: string;
      /** The resource whose `proxy` subresource was requested. RBAC on a hub is asked whether the caller may use it. */
      readonly outer: OuterResource;
      /** Path on the cluster with a leading slash, byte for byte as received. */
      readonly path: string;
      /** Decoded segments of `path`. */
      readonly segments: readonly string[];
      /**
       * The part of the URL before the path on the cluster, for example `/clusters/prod/proxy`; '' when the cluster has
       * a host name of its own.
       */
      readonly prefix: string;
      /**
       * Whether the request came to a host name of this cluster alone. Otherwise its answers share the origin of the
       * gateway and of all other clusters in a browser.
       */
      readonly hasOwnOrigin: boolean;
    };

const health: ReadonlySet<string> = new Set(['livez', 'readyz', 'healthz']);

/**
 * Finds the part of the gateway that answers.
 * @param hostCluster name of the cluster when the request came to the host `<name>.<cluster-domain>`; otherwise
 * undefined
 * @throws GatewayError NOT_FOUND when no part answers this path
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
      hasOwnOrigin: true,
    };
  }
  const first = segments[0];
  if (first === undefined) return { kind: 'discovery', document: 'root' };
  if (first === 'clusters' && segments.length >= 3 && segments[2] === 'proxy')
    return member(target, 1, clustersResource);
  if (health.has(first) && segments.length <= 2) {
    return { kind: 'health', check: first as 'livez', only: segments[1] };
  }
  if (first === 'console') return { kind: 'console', path: segments.slice(1).join('/') };
  if (first === 'version' && segments.length === 1) return { kind: 'version' };
  if (first === 'metrics' && segments[1] === 'fleet' && segments.length === 2) return { kind: 'index', part: 'fleet' };
  if (first === 'openapi') return openapiSurface(segments);
  if (first === 'api' && segments.length === 1) return { kind: 'discovery', document: 'api' };
  if (first === 'apis') return groupSurface(target);
  throw notFound();
}

/**
 * Whether the path has `*` in place of a cluster's name, below `/clusters` or the gateway's own API group. Such a
 * request is for every cluster that the caller may reach. No cluster can be called `*` (model/cluster-names.ts).
 */
export function namesEveryCluster(surface: Surface): surface is Extract<Surface, { kind: 'member' }> {
  return (
    surface.kind === 'member' &&
    surface.cluster === '*' &&
    surface.outer.group === gatewayGroup &&
    !surface.hasOwnOrigin
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

/**
 * Paths below `/apis`: documents and objects of the API groups that the gateway serves, and the proxy paths of these
 * groups and of Karmada's.
 */
function groupSurface(target: ParsedTarget): Surface {
  const [, name, version, plural, object, subresource] = target.segments;
  if (name === undefined) return { kind: 'discovery', document: 'apis' };
  const resource = proxyResources.get(name);
  if (version === gatewayVersion && plural === resource && resource !== undefined && subresource === 'proxy') {
    return member(target, 4, { group: name, version, resource });
  }
  if (name === 'authentication.k8s.io' && version === 'v1' && plural === 'selfsubjectreviews' && object === undefined) {
    return { kind: 'self-review' };
  }
  const index = indexSurface(target);
  if (index !== undefined) return subresourceBehind(target, index) ?? index;
  if (name === karmadaSearchGroup && version === gatewayVersion && plural === 'resourceregistries')
    return registriesSurface(target);
  return apiGroupSurface(target);
}

/** Documents and objects of the API groups that the gateway serves from memory. */
function apiGroupSurface({ segments }: ParsedTarget): Surface {
  const [, name, version, plural, object, subresource] = segments;
  const group = apiGroups.find((each) => each.name === name);
  if (group === undefined) throw notFound();
  if (version === undefined) return { kind: 'discovery', document: 'group', group: group.name };
  if (version !== gatewayVersion) throw notFound();
  if (plural === undefined) return { kind: 'discovery', document: 'version', group: group.name };
  const found = group.resources.find((each) => each.plural === plural);
  const inner = found?.subresources.find((each) => each.name === subresource)?.name;
  if (found === undefined || inner === 'proxy' || segments.length > 6) throw notFound();
  if (subresource !== undefined && inner === undefined) throw notFound();
  return { kind: 'resource', group: group.name, plural: found.plural, name: object, subresource: inner };
}

function registriesSurface({ segments }: ParsedTarget): Surface {
  const [, , , , name, subresource] = segments;
  if (segments.length > 6 || (subresource !== undefined && subresource !== 'status')) throw notFound();
  return { kind: 'registries', name, subresource };
}

/**
 * Turns a request for a subresource below Clusterpedia's path of one cluster (such as pods/log) into a request to this
 * cluster; undefined for other paths.
 */
function subresourceBehind(target: ParsedTarget, index: IndexSurface): Surface | undefined {
  if (index.part !== 'resources' || index.segments[0] !== 'clusters' || index.segments.length < 7) return undefined;
  const [, cluster, ...segments] = index.segments;
  const start = target.starts[6]!;
  const prefix = target.path.slice(0, start);
  // `*` is not one cluster. If the prefix had percent escapes, it would have another length than the decoded prefix,
  // and the path on the cluster would be cut out at the wrong position.
  if (cluster === '*' || prefix.includes('%') || !isForwardable(requestInfo('GET', segments, '', false)))
    return undefined;
  return {
    kind: 'member',
    cluster: cluster!,
    outer: clustersThroughIndex,
    path: target.path.slice(start),
    segments,
    prefix,
    hasOwnOrigin: false,
  };
}

function notFound(): GatewayError {
  return new GatewayError('NOT_FOUND', 'the server could not find the requested resource');
}

function member(target: ParsedTarget, nameAt: number, outer: OuterResource): Surface {
  const proxyAt = nameAt + 1;
  const start = target.starts[proxyAt]! + '/proxy'.length;
  // Clients written in Go always send `*` as %2A (net/url escapes it when it joins paths).
  const prefix = target.path.slice(0, start).replace(/\/%2A\/proxy$/i, '/*/proxy');
  // No client escapes this part of the path. If the prefix had percent escapes, it would have another length than the
  // decoded prefix, and the path on the cluster would be cut out at the wrong position.
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
    hasOwnOrigin: false,
  };
}
