// Reads the definition of a collection, which names the types in it: a CollectionResource object, which administrators
// write into the configuration file or create on the hub.
import type { AskedType } from '../request/plan-question.ts';
import { mostTypes } from '../request/inner-path.ts';

/** The collections that are always there. No object can take their names. */
export const builtInCollections = ['any', 'workloads', 'kuberesources'] as const;

/** A collection that an administrator has defined, besides the built-in collections. */
export interface CollectionDefinition {
  readonly name: string;
  /** The types in the collection. The resource `*` means all resources of a group, and the group `*` every group. */
  readonly resourceTypes: readonly AskedType[];
}

const nameForm = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const groupForm = /^(\*|[a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$/;
const resourceForm = /^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$/;
const versionForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * Reads a definition.
 * @param name the name of the collection
 * @param resourceTypes the field `resourceTypes` of the definition: a list of `{group, version, kind, resource}`, in
 * which only `resource` is required
 * @throws Error that says what is wrong
 */
export function readDefinition(name: unknown, resourceTypes: unknown): CollectionDefinition {
  if (typeof name !== 'string' || !nameForm.test(name)) throw new Error('its name is no DNS subdomain');
  if ((builtInCollections as readonly string[]).includes(name))
    throw new Error(`the collection "${name}" is built in and cannot be defined`);
  if (!Array.isArray(resourceTypes) || resourceTypes.length === 0 || resourceTypes.length > mostTypes)
    throw new Error(`resourceTypes must name 1 to ${mostTypes} types`);
  return Object.freeze({ name, resourceTypes: resourceTypes.map(readType) });
}

function readType(value: unknown, index: number): AskedType {
  const { group = '', version, resource } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const at = `resourceTypes[${index}]`;
  if (typeof group !== 'string' || !groupForm.test(group)) throw new Error(`${at}.group is no API group`);
  if (typeof resource !== 'string' || !resourceForm.test(resource))
    throw new Error(`${at}.resource is no plural name in lower case, and not "*"`);
  if (version !== undefined && version !== '' && (typeof version !== 'string' || !versionForm.test(version)))
    throw new Error(`${at}.version is no version`);
  if (group === '*' && resource !== '*') throw new Error(`${at} has the group "*", which goes with the resource "*"`);
  return { group, resource, version: version === undefined || version === '' ? undefined : (version as string) };
}
