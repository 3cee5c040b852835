// For a request to the index whose path ends in the path of a Kubernetes API, such as `/api/v1/pods`: which verb and
// resource that path means, and whether the index or a cluster answers the request.
import type { Described } from './exchange.ts';
import { requestInfo } from './request-info.ts';
import type { RequestInfo } from './request-info.ts';
import type { InnerSurface } from './index-groups.ts';

/**
 * The decoded segments of the Kubernetes path at the end of the URL, for example `api/v1/pods`. Clusterpedia's
 * `clusters/<name>`, which may stand before it, is left out.
 */
export function innerSegments({ part, segments }: InnerSurface): readonly string[] {
  return part !== 'proxying' && segments[0] === 'clusters' ? segments.slice(2) : segments;
}

/** Verb and resource of the Kubernetes path at the end of the URL. */
export function innerInfo(
  { inbound, target, upgrade }: Pick<Described, 'inbound' | 'target' | 'upgrade'>,
  surface: InnerSurface,
): RequestInfo {
  return requestInfo(inbound.method, innerSegments(surface), target.query, upgrade !== undefined);
}

/**
 * Whether the index answers this request itself; otherwise a cluster does. The first parameter is the result of {@link
 * innerInfo}.
 */
export function isForIndex({ isResource, subresource, verb }: RequestInfo, method: string): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  return !isResource || (subresource === '' && (verb === 'get' || verb === 'list' || verb === 'watch'));
}

/**
 * The path to request from a cluster, when one cluster or all clusters answer the request; undefined when the gateway
 * or its index answers.
 */
export function pathInCluster(
  state: Pick<Described, 'surface' | 'inbound' | 'target' | 'upgrade'>,
): { readonly path: string; readonly segments: readonly string[] } | undefined {
  const { surface, inbound } = state;
  if (surface.kind === 'member') return surface;
  if (surface.kind !== 'index' || surface.part !== 'proxying') return undefined;
  return isForIndex(innerInfo(state, surface), inbound.method) ? undefined : surface;
}
