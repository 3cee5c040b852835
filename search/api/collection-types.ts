// Which types Clusterpedia's collections are of: `workloads`, `kuberesources`, and `any` with the types it is asked
// for.
import { GatewayError } from '../../cache/model/errors.ts';
import type { Parameters } from '../query/parameters.ts';
import { typeKey } from '../types.ts';
import type { ResourceType } from '../types.ts';
import type { Catalog } from './catalog.ts';
import { mostTypes } from './inner-path.ts';
import type { AskedType } from './plan-question.ts';

const workloads: readonly AskedType[] = ['deployments', 'daemonsets', 'statefulsets'].map((resource) => ({
  group: 'apps',
  resource,
  version: undefined,
}));
/** Groups that kube-apiserver itself serves; any of `*.k8s.io` is one, too. */
const builtInGroups: ReadonlySet<string> = new Set(['', 'apps', 'batch', 'autoscaling', 'policy', 'extensions']);

export const collectionNames = ['any', 'workloads', 'kuberesources'] as const;

/** What a collection is of. */
export interface CollectionTypes {
  /** Types that the question or the collection names. */
  readonly named: readonly AskedType[];
  /** Groups it names, as types that stand for all of theirs. */
  readonly groups: readonly ResourceType[];
  /** Types of these groups among those the index has. */
  readonly members: (indexed: readonly ResourceType[]) => readonly AskedType[];
}

const noMembers: CollectionTypes['members'] = () => [];

/**
 * @returns undefined for a collection that is none
 * @throws GatewayError BAD_REQUEST for groups and resources that cannot be read
 */
export function collectionTypes(name: string, parameters: Parameters): CollectionTypes | undefined {
  switch (name) {
    case 'workloads':
      return { named: workloads, groups: [], members: noMembers };
    case 'kuberesources':
      return { named: [], groups: [{ group: name, resource: '*' }], members: builtIn };
    case 'any':
      return anyTypes(parameters);
    default:
      return undefined;
  }
}

function builtIn(indexed: readonly ResourceType[]): readonly AskedType[] {
  return indexed
    .filter(({ group }) => builtInGroups.has(group) || group.endsWith('.k8s.io'))
    .map((type) => ({ ...type, version: undefined }));
}

function anyTypes(parameters: Parameters): CollectionTypes {
  const groups = parameters.all('groups').flatMap((text) => text.split(','));
  // `groups=` alone stands for the core group.
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

/** `apps`, `apps/v1`, `''`, `/` or `/v1` for core, `*` for every group. */
function readGroup(text: string): AskedGroup {
  const [group = '', version, ...behind] = text.split('/');
  if (behind.length > 0)
    throw new GatewayError('BAD_REQUEST', `groups: "${text.slice(0, 60)}" is not GROUP or GROUP/VERSION`);
  return { group, version: version || undefined };
}

function typesOfGroup({ group, version }: AskedGroup, indexed: readonly ResourceType[]): readonly AskedType[] {
  return indexed.filter((type) => group === '*' || type.group === group).map((type) => ({ ...type, version }));
}

/** `apps/deployments`, `apps/v1/deployments`, `/v1/pods`, `/pods`, and `pods`. */
function readResource(text: string): AskedType {
  const parts = text.split('/');
  const resource = parts.at(-1) ?? '';
  if (resource === '' || parts.length > 3)
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

/** Types the index has, each once, in the order of their names. */
export function indexedTypes({ all }: Catalog): readonly ResourceType[] {
  const byKey = new Map(all.map(({ type }) => [typeKey(type), { group: type.group, resource: type.resource }]));
  return [...byKey.values()].toSorted((one, other) => (typeKey(one) < typeKey(other) ? -1 : 1));
}

/** Each type once, in the version that is named last. */
export function distinctTypes(types: readonly AskedType[]): readonly AskedType[] {
  return [...new Map(types.map((type) => [typeKey(type), type])).values()];
}
