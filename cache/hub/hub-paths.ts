// Builds the paths and display names of resources that are watched on the hub, and names the RBAC rule without which
// the hub refuses the watch. Error messages show exactly this rule, so that an operator grants no more than needed.
import type { WatchedResource } from './hub-types.ts';

/** The path of the collection with its label and field selectors, and with the further parameters of `query`. */
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

/**
 * The name of a watched resource in messages, such as `managedclusters.cluster.open-cluster-management.io`, with its
 * namespace and selectors if it has any.
 */
export function resourceLabel(resource: WatchedResource): string {
  const name = resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
  const where = resource.namespace === undefined ? '' : ` in namespace ${resource.namespace}`;
  const selectors = [resource.labelSelector, resource.fieldSelector].filter((one) => one !== undefined);
  return `${name}${where}${selectors.length === 0 ? '' : ` (${selectors.join(', ')})`}`;
}

/** The RBAC rule that lets the gateway list and watch the resource, in words for an operator. */
export function missingRule(resource: WatchedResource): string {
  const { group, namespace } = resource;
  const kind = namespace === undefined ? 'ClusterRole' : `Role in namespace ${namespace}`;
  return `a ${kind} with apiGroups ["${group}"], resources ["${resource.resource}"], verbs ["list", "watch"]`;
}

/** A key that is equal for equal resources, so that two sources of the same resource can share one reflector. */
export function resourceKey(resource: WatchedResource): string {
  const { group, version, namespace, labelSelector, fieldSelector } = resource;
  return JSON.stringify([group, version, resource.resource, namespace, labelSelector, fieldSelector]);
}
