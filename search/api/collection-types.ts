// Decides which types a collection contains. The built-in collections are those of Clusterpedia: `workloads`,
// `kuberesources`, and `any`, whose types the request names. CollectionResource objects define further collections.
import { isLabel } from '../../lib/objects/api-names.ts';
import { GatewayError } from '../../model/errors.ts';
import type { Parameters } from '../../query/parameters.ts';
import { typeKey } from '../../query/types.ts';
import type { ResourceType } from '../../query/types.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CollectionDefinition } from '../collections/definitions.ts';
import { mostTypes } from '../request/inner-path.ts';
import type { AskedType } from '../request/plan-question.ts';

const workloads: readonly AskedType[] = ['deployments', 'daemonsets', 'statefulsets'].map((resource) => ({
  group: 'apps',
  resource,
  version: undefined,
}));
/** API groups that belong to Kubernetes itself. Every group that ends with `.k8s.io` does, too. */
const builtInGroups: ReadonlySet<string> = new Set(['', 'apps', 'batch', 'autoscaling', 'policy', 'extensions']);

/** The types of a collection: named one by one, or by their group. */
export interface CollectionTypes {
  /** Types that the collection or the request names one by one. */
  readonly named: readonly AskedType[];
  /** Groups that are named as a whole, each written as a type with the resource `*`. */
  readonly groups: readonly ResourceType[];
  /** Returns those of the indexed types that belong to the named groups. */
  readonly members: (indexed: readonly ResourceType[]) => readonly AskedType[];
  /** True for a collection that is not built in. Such a collection exists even when none of its types is indexed. */
  readonly isOwn?: boolean;
}

/** All types of a collection, given those that are indexed. */
export function typesOf({ named, members }: CollectionTypes, indexed: readonly ResourceType[]): readonly AskedType[] {
  return distinctTypes([...members(indexed), ...named]);
}

const noMembers: CollectionTypes['members'] = () => [];

/**
 * The types of the collection `name`.
 * @param own collections that are defined beside the built-in ones
 * @returns undefined when there is no such collection
 * @throws GatewayError BAD_REQUEST when the parameters `groups` or `resources` are invalid
 */
export function collectionTypes(
  name: string,
  parameters: Parameters,
  own: readonly CollectionDefinition[],
): CollectionTypes | undefined {
  switch (name) {
    case 'workloads':
      return { named: workloads, groups: [], members: noMembers };
    case 'kuberesources':
      return { named: [], groups: [{ group: name, resource: '*' }], members: builtIn };
    case 'any':
      return anyTypes(parameters);
    default: {
      const definition = own.find((each) => each.name === name);
      return definition && ownTypes(definition);
    }
  }
}

function ownTypes({ resourceTypes }: CollectionDefinition): CollectionTypes {
  const wide = resourceTypes.filter(({ resource }) => resource === '*');
  return {
    named: distinctTypes(resourceTypes.filter(({ resource }) => resource !== '*')),
    groups: wide.map(({ group }) => ({ group, resource: '*' })),
    members: (indexed) => wide.flatMap((each) => typesOfGroup(each, indexed)),
    isOwn: true,
  };
}

function builtIn(indexed: readonly ResourceType[]): readonly AskedType[] {
  return indexed
    .filter(({ group }) => builtInGroups.has(group) || group.endsWith('.k8s.io'))
    .map((type) => ({ ...type, version: undefined }));
}

function anyTypes(parameters: Parameters): CollectionTypes {
  const groups = parameters.all('groups').flatMap((text) => text.split(','));
  // An empty `groups=` means the core group.
  const isCore = parameters.names.includes('groups') && groups.length === 0;
  const resources = parameters.all('resources').flatMap((text) => text.split(','));
  if (!isCore && groups.length === 0 && resources.length === 0)
    throw new GatewayError('BAD_REQUEST', 'the collection "any" needs groups= or resources=');
  if (groups.length + resources.length > mostTypes)
    throw new GatewayError('BAD_REQUEST', `groups= and resources= name more than ${mostTypes} types`);
  const texts = (isCore ? [''] : groups).map((text) => text.trim());
  const ofGroups = texts.map(readGroup);
  return {
    named: distinctTypes(resources.map((text) => readResource(text.trim()))),
    groups: texts.map((group) => ({ group, resource: '*' })),
    members: (indexed) => ofGroups.flatMap((group) => typesOfGroup(group, indexed)),
  };
}

interface AskedGroup {
  readonly group: string;
  readonly version: string | undefined;
}

/** Parses an element of `groups`: `apps` or `apps/v1`; '', `/` or `/v1` for the core group; `*` for every group. */
function readGroup(text: string): AskedGroup {
  const [group = '', version, ...behind] = text.split('/');
  if (behind.length > 0)
    throw new GatewayError('BAD_REQUEST', `groups: "${text.slice(0, 60)}" is not GROUP or GROUP/VERSION`);
  return { group, version: version || undefined };
}

function typesOfGroup({ group, version }: AskedGroup, indexed: readonly ResourceType[]): readonly AskedType[] {
  return indexed.filter((type) => group === '*' || type.group === group).map((type) => ({ ...type, version }));
}

/** Parses an element of `resources`: `apps/deployments`, `apps/v1/deployments`, `/v1/pods`, `/pods` or `pods`. */
function readResource(text: string): AskedType {
  const parts = text.split('/');
  const resource = parts.at(-1) ?? '';
  if (!isLabel(resource) || parts.length > 3)
    throw new GatewayError(
      'BAD_REQUEST',
      `resources: "${text.slice(0, 60)}" is not GROUP/RESOURCE or GROUP/VERSION/RESOURCE`,
    );
  return {
    group: parts.length > 1 ? parts[0]! : '',
    version: parts.length === 3 ? parts[1] || undefined : undefined,
    resource,
  };
}

/** All types in the index, each once, sorted by name. */
export function indexedTypes({ all }: Catalog): readonly ResourceType[] {
  const byKey = new Map(all.map(({ type }) => [typeKey(type), { group: type.group, resource: type.resource }]));
  return [...byKey.values()].toSorted((one, other) => (typeKey(one) < typeKey(other) ? -1 : 1));
}

/** Removes duplicates. When a type occurs in several versions, the last one counts. */
export function distinctTypes(types: readonly AskedType[]): readonly AskedType[] {
  return [...new Map(types.map((type) => [typeKey(type), type])).values()];
}
