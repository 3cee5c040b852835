// What a request to the index means inside a cluster, when its path ends in a path of clusters; and whether the index
// answers it.
import type { Described } from './exchange.ts';
import { requestInfo } from './request-info.ts';
import type { RequestInfo } from './request-info.ts';
import type { InnerSurface } from './index-groups.ts';

/** The decoded segments of the path in a cluster, without Clusterpedia's `clusters/<name>` in front. */
export function innerSegments({ part, segments }: InnerSurface): readonly string[] {
  return part !== 'proxying' && segments[0] === 'clusters' ? segments.slice(2) : segments;
}

/** Verb and resource that the request has in a cluster. */
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
 * The path that the request has in a cluster, when it goes to one cluster or to all; undefined for a request that the
 * gateway answers itself.
 */
export function pathInCluster(
  state: Pick<Described, 'surface' | 'inbound' | 'target' | 'upgrade'>,
): { readonly path: string; readonly segments: readonly string[] } | undefined {
  const { surface, inbound } = state;
  if (surface.kind === 'member') return surface;
  if (surface.kind !== 'index' || surface.part !== 'proxying') return undefined;
  return isForIndex(innerInfo(state, surface), inbound.method) ? undefined : surface;
}
