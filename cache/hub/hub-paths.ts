// Paths and names of what is watched on the hub, and the RBAC rule that a watch needs. The rule in an error is exactly
// the missing one, so that an operator does not grant too much.
import type { WatchedResource } from './hub-types.ts';

/** Path of the collection with its selectors and `query`. */
export function collectionPath(
  { group, version, resource, namespace, labelSelector, fieldSelector }: WatchedResource,
  query: Readonly<Record<string, string>>,
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const parameters = new URLSearchParams({
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...query,
  });
  const text = parameters.toString();
  return `${root}${scope}/${resource}${text === '' ? '' : `?${text}`}`;
}

/** `managedclusters.cluster.open-cluster-management.io`, with namespace and selectors where there are any. */
export function resourceLabel(resource: WatchedResource): string {
  const name = resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
  const where = resource.namespace === undefined ? '' : ` in namespace ${resource.namespace}`;
  const selectors = [resource.labelSelector, resource.fieldSelector].filter((one) => one !== undefined);
  return `${name}${where}${selectors.length === 0 ? '' : ` (${selectors.join(', ')})`}`;
}

/** Which rule lets the gateway watch it, for a person who writes RBAC. */
export function missingRule(resource: WatchedResource): string {
  const { group, namespace } = resource;
  const kind = namespace === undefined ? 'ClusterRole' : `Role in namespace ${namespace}`;
  return `a ${kind} with apiGroups ["${group}"], resources ["${resource.resource}"], verbs ["list", "watch"]`;
}

/** Equal for equal resources, so that sources that watch the same share a reflector. */
export function resourceKey(resource: WatchedResource): string {
  const { group, version, namespace, labelSelector, fieldSelector } = resource;
  return JSON.stringify([group, version, resource.resource, namespace, labelSelector, fieldSelector]);
}
