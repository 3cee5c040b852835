// Paths of lists and watches of a type. A filter that the API server can apply saves bytes on the wire. One that it
// cannot apply (several namespaces or names) is applied here, or rows that nobody chose would be kept.
import type { ResourceType, TypeInfo } from '../types.ts';
import type { TypeFilter } from './sync-types.ts';

/** `/apis/apps/v1/deployments` with namespace and selectors, where one of each is asked for, and `query`. */
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

/** Whether an object that the member sent is kept: what {@link typePath} could not ask for. */
export function passes(
  { namespaces, names }: TypeFilter,
  namespaced: boolean,
  object: { readonly namespace: string; readonly name: string },
): boolean {
  const inNamespace = namespaces === undefined || !namespaced || namespaces.includes(object.namespace);
  return inNamespace && (names === undefined || names.includes(object.name));
}

/** `pods`, `deployments.apps`: as kubectl writes a type. */
export function typeName({ group, resource }: ResourceType): string {
  return group === '' ? resource : `${resource}.${group}`;
}
