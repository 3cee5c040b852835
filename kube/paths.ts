// Builds the paths and display names of resources that are watched on the hub, and names the RBAC rule without which
// the hub refuses the watch. Error messages show exactly this rule, so that an operator grants no more than needed.
import { isGroup, isLabel, isName } from '../lib/objects/api-names.ts';
import type { WatchedResource } from './types.ts';
import { shortened } from '../lib/text/shortened.ts';

/**
 * Thrown when a path would contain a group, version or name that Kubernetes does not allow. Such values may come from
 * objects that others wrote: a version such as `v1/namespaces/kube-system` would lead to another object than intended.
 */
export class UnusableName extends Error {
  override readonly name = 'UnusableName';
}

/** The path under which a version of an API group is served; '' is the core group. @throws UnusableName */
export function groupVersionPath(group: string, version: string): string {
  requireForm('API group', group, isGroup);
  requireForm('version', version, isLabel);
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/**
 * The path of the collection with its label and field selectors, and with the further parameters of `query`.
 * @throws UnusableName
 */
export function collectionPath(
  { group, version, resource, namespace, labelSelector, fieldSelector }: WatchedResource,
  query: Readonly<Record<string, string>>,
): string {
  const root = groupVersionPath(group, version);
  requireForm('type', resource, isLabel);
  if (namespace !== undefined) requireForm('namespace', namespace, isLabel);
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const parameters = new URLSearchParams({
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...query,
  });
  const text = parameters.toString();
  return `${root}${scope}/${resource}${text === '' ? '' : `?${text}`}`;
}

/**
 * The path of one object. An empty name is refused, since the path would mean the whole collection.
 * @throws UnusableName
 */
export function objectPath(type: Omit<WatchedResource, 'labelSelector' | 'fieldSelector'>, name: string): string {
  requireForm('name', name, isName);
  return `${collectionPath(type, {})}/${encodeURIComponent(name)}`;
}

/** The parts of a kind that make up paths; `resource` is the plural name. */
export interface PlacedType extends Pick<WatchedResource, 'group' | 'version' | 'resource'> {
  /** Whether the objects of the kind are in namespaces. */
  readonly namespaced: boolean;
}

/** The collection of a kind in a namespace; for kinds without namespaces `namespace` has no effect. */
export function collectionOf({
  kind: { group, version, resource, namespaced },
  namespace,
}: {
  readonly kind: PlacedType;
  readonly namespace: string;
}): WatchedResource {
  return { group, version, resource, ...(namespaced && { namespace }) };
}

/** The path of {@link collectionOf}, or of one object in it when `name` is given. @throws UnusableName */
export function pathOf(kind: PlacedType, namespace: string, name?: string): string {
  const type = collectionOf({ kind, namespace });
  return name === undefined ? collectionPath(type, {}) : objectPath(type, name);
}

function requireForm(what: string, text: string, isUsable: (text: string) => boolean): void {
  if (isUsable(text)) return;
  const shown = JSON.stringify(shortened(text, 100));
  throw new UnusableName(text === '' ? `the ${what} is empty` : `${shown} cannot be a ${what}`);
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
