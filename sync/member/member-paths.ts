// Builds the paths for lists and watches of a type. A filter that the API server supports becomes part of the path,
// which saves traffic. Other filters, such as several namespaces or names, are applied to the objects that arrive.
import type { ResourceType, TypeInfo } from '../../query/types.ts';
import type { TypeFilter } from './sync-types.ts';

/**
 * The most names that one field selector excludes. Objects with further excluded names are dropped when they arrive.
 */
const mostExcluded = 100;

/**
 * The path, such as `/apis/apps/v1/deployments?…`. A single namespace becomes part of the path. A single name, and
 * excluded names and namespaces, become a field selector.
 * @param query further parameters
 */
export function typePath(
  { group, version, resource, namespaced }: Pick<TypeInfo, 'group' | 'version' | 'resource' | 'namespaced'>,
  { namespaces, names, labels, notNamespaces = [], notNames = [] }: TypeFilter,
  query: Readonly<Record<string, string>>,
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespaced && namespaces?.length === 1 ? `/namespaces/${encodeURIComponent(namespaces[0]!)}` : '';
  const fields = [
    ...(names?.length === 1 ? [`metadata.name=${names[0]}`] : []),
    ...(namespaced ? notNamespaces.slice(0, mostExcluded).map((name) => `metadata.namespace!=${name}`) : []),
    ...notNames.slice(0, mostExcluded).map((name) => `metadata.name!=${name}`),
  ];
  const parameters = new URLSearchParams({
    ...(labels === undefined ? {} : { labelSelector: labels }),
    ...(fields.length === 0 ? {} : { fieldSelector: fields.join() }),
    ...query,
  });
  const text = parameters.toString();
  return `${root}${scope}/${resource}${text === '' ? '' : `?${text}`}`;
}

/**
 * Whether the filter accepts an object. It checks the namespaces and names, those too that {@link typePath} has put
 * into the path.
 */
export function passes(
  { namespaces, names, notNamespaces, notNames }: TypeFilter,
  namespaced: boolean,
  object: { readonly namespace: string; readonly name: string },
): boolean {
  const inNamespace =
    !namespaced ||
    ((namespaces === undefined || namespaces.includes(object.namespace)) &&
      notNamespaces?.includes(object.namespace) !== true);
  return (
    inNamespace && (names === undefined || names.includes(object.name)) && notNames?.includes(object.name) !== true
  );
}

/** The name of a type as kubectl writes it, such as `pods` or `deployments.apps`. */
export function typeName({ group, resource }: ResourceType): string {
  return group === '' ? resource : `${resource}.${group}`;
}
