// Builds the paths for lists and watches of a type. A filter that the API server supports becomes part of the path,
// which saves traffic. Others, such as several namespaces or names, are applied to the objects that arrive.
import type { ResourceType, TypeInfo } from '../types.ts';
import type { TypeFilter } from './sync-types.ts';

/**
 * The path, such as `/apis/apps/v1/deployments?…`. A single namespace becomes part of the path, and a single name a
 * field selector.
 * @param query further parameters
 */
export function typePath(
  { group, version, resource, namespaced }: Pick<TypeInfo, 'group' | 'version' | 'resource' | 'namespaced'>,
  { namespaces, names, labels }: TypeFilter,
  query: Readonly<Record<string, string>>,
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespaced && namespaces?.length === 1 ? `/namespaces/${encodeURIComponent(namespaces[0]!)}` : '';
  const parameters = new URLSearchParams({
    ...(labels === undefined ? {} : { labelSelector: labels }),
    ...(names?.length === 1 ? { fieldSelector: `metadata.name=${names[0]}` } : {}),
    ...query,
  });
  const text = parameters.toString();
  return `${root}${scope}/${resource}${text === '' ? '' : `?${text}`}`;
}

/**
 * Whether the filter accepts an object. It checks the namespaces and names that {@link typePath} could not put into the
 * path.
 */
export function passes(
  { namespaces, names }: TypeFilter,
  namespaced: boolean,
  object: { readonly namespace: string; readonly name: string },
): boolean {
  const inNamespace = namespaces === undefined || !namespaced || namespaces.includes(object.namespace);
  return inNamespace && (names === undefined || names.includes(object.name));
}

/** The name of a type as kubectl writes it, such as `pods` or `deployments.apps`. */
export function typeName({ group, resource }: ResourceType): string {
  return group === '' ? resource : `${resource}.${group}`;
}
