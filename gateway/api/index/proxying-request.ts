// What a request by Karmada's path `proxying/<name>/proxy/…` means inside a cluster, and whether the index answers it.
import type { Described } from '../../exchange.ts';
import { requestInfo } from '../../request/request-info.ts';
import type { RequestInfo } from '../../request/request-info.ts';
import type { ProxyingSurface } from './index-groups.ts';

/**
 * Verb and resource that the request has in a cluster, read from the part of the path behind `proxying/<name>/proxy`.
 */
export function innerInfo(
  { inbound, target, upgrade }: Pick<Described, 'inbound' | 'target' | 'upgrade'>,
  { segments }: ProxyingSurface,
): RequestInfo {
  return requestInfo(inbound.method, segments, target.query, upgrade !== undefined);
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
