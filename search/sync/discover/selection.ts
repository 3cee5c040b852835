// Which resources of which clusters are indexed: configuration, PediaCluster fields, a label on the cluster. RBAC
// objects, namespaces and CRDs are followed of every indexed cluster, since rights are decided by them; they are served
// only where they are chosen.
import type { ClusterSpec } from '../../../cache/model/records.ts';
import { parseLabelSelector } from '../../query/selectors/label-selector.ts';
import type { LabelRequirement } from '../../query/list-query.ts';
import { typeKey, type ResourceType, type TypeInfo, type TypeKey } from '../../types.ts';
import { negotiateVersions } from './discovery.ts';
import type { TypeFilter } from '../sync-types.ts';

/** One entry of a list of resources. */
export interface ResourceChoice {
  /** `*`: any group. */
  readonly group: string;
  /** `*`: all of the group that can be followed. */
  readonly resource: string;
  /** Empty: whatever is kept; of custom resources only. */
  readonly versions: readonly string[];
  readonly filter: TypeFilter;
}

/** What of one cluster is indexed. */
export interface ClusterChoice {
  readonly resources: readonly ResourceChoice[];
  readonly allCustomResources: boolean;
  /** They are the default, not named: what a cluster does not have is not missed. */
  readonly isDefault?: boolean;
}

/** What is indexed. Undefined for a cluster that is not. */
export type Selection = (cluster: ClusterSpec) => ClusterChoice | undefined;

/** A type to follow. */
export interface ChosenType {
  readonly type: TypeInfo;
  readonly isChosen: boolean;
  readonly filter: TypeFilter;
}

const rbac = 'rbac.authorization.k8s.io';

/** Followed of every indexed cluster, whole. */
export const rightsTypes: readonly ResourceType[] = [
  ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map((resource) => ({ group: rbac, resource })),
  { group: '', resource: 'namespaces' },
  { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
];
const rightsKeys: ReadonlySet<TypeKey> = new Set(rightsTypes.map(typeKey));

/** Indexed unless something else is said: common workload, configuration and RBAC kinds; no Secrets. */
export const defaultResources: readonly string[] = [
  'pods',
  'services',
  'configmaps',
  'nodes',
  'namespaces',
  'serviceaccounts',
  'persistentvolumes',
  'persistentvolumeclaims',
  'resourcequotas',
  'limitranges',
  'replicationcontrollers',
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'replicasets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'ingresses.networking.k8s.io',
  'networkpolicies.networking.k8s.io',
  'horizontalpodautoscalers.autoscaling',
  'poddisruptionbudgets.policy',
  'storageclasses.storage.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  `roles.${rbac}`,
  `rolebindings.${rbac}`,
  `clusterroles.${rbac}`,
  `clusterrolebindings.${rbac}`,
];

/** Types that change without end and are seldom asked for: only by name, never by `*`. */
const unasked: ReadonlySet<TypeKey> = new Set(['events.', 'events.events.k8s.io', 'leases.coordination.k8s.io']);

/** On any cluster: its resources divided by `_` (a label's value has no commas), `all`, or `none`. */
export const resourcesLabel = 'search.portcullis.io/resources';

/**
 * Reads entries such as `pods`, `deployments.apps`, `*.apps`, `*`, `pods{namespaces=a b;labels=app in (web);names=x}`.
 * @throws Error whose message names the entry
 */
export function parseResources(entries: readonly string[]): readonly ResourceChoice[] {
  return entries.map((entry) => {
    const form = /^(\*|[a-z0-9][-a-z0-9]*)(?:\.([a-z0-9][-a-z0-9.]*|\*))?(?:\{(.*)\})?$/.exec(entry.trim());
    if (form === null) throw new Error(`"${entry}" is no resource: write RESOURCE or RESOURCE.GROUP, or "*" for all`);
    const [, resource, group, filter] = form;
    return {
      resource: resource!,
      group: group ?? (resource === '*' ? '*' : ''),
      versions: [],
      filter: filter === undefined ? {} : parseFilter(entry, filter),
    };
  });
}

/** Those that a configuration names; the common ones where it names only patterns. */
export function namedResources(resources: readonly string[] = defaultResources): readonly ResourceType[] {
  const named = parseResources(resources).filter(({ group, resource }) => resource !== '*' && group !== '*');
  return named.length > 0 ? named : parseResources(defaultResources);
}

/** Divides a list at its commas, but not inside of `{…}`. */
export function splitResources(text: string): readonly string[] {
  return [...text.matchAll(/(?:[^,{]|\{[^}]*\}?)+/g)].map(([entry]) => entry.trim()).filter((entry) => entry !== '');
}

function parseFilter(entry: string, text: string): TypeFilter {
  const filter: { -readonly [Key in keyof TypeFilter]: TypeFilter[Key] } = {};
  for (const part of text.split(';')) {
    const [, key, value = ''] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(part) ?? [];
    if (key === 'labels' && value !== '') {
      parseLabelSelector(value);
      filter.labels = value;
    } else if ((key === 'namespaces' || key === 'names') && value !== '') filter[key] = value.split(/\s+/);
    else throw new Error(`"${entry}": in braces stand namespaces=, names= or labels=, divided by ";"`);
  }
  return filter;
}

/**
 * The selection of the configuration, which a cluster's own label or PediaCluster fields replace for that cluster.
 * @param clusters names divided by commas, or a label selector; undefined: all
 * @throws Error for what cannot be read
 */
export function makeSelection(resources: readonly string[] | undefined, clusters: string | undefined): Selection {
  const choice: ClusterChoice = {
    resources: parseResources(resources ?? defaultResources),
    allCustomResources: false,
    isDefault: resources === undefined,
  };
  const isMeant = clusterTest(clusters);
  const ofLabel = new Map<string, ClusterChoice | undefined>();
  return (cluster) => {
    if (!isMeant(cluster)) return undefined;
    const label = cluster.labels[resourcesLabel];
    if (label !== undefined && label !== '') {
      if (!ofLabel.has(label)) ofLabel.set(label, labelChoice(label));
      return ofLabel.get(label);
    }
    const { indexing } = cluster;
    if (indexing === undefined) return choice;
    return {
      resources: indexing.resources.map((each) => ({ ...each, filter: {} })),
      allCustomResources: indexing.allCustomResources,
    };
  };
}

function labelChoice(label: string): ClusterChoice | undefined {
  if (label === 'none') return undefined;
  const entries = label === 'all' ? ['*'] : label.split('_').filter((entry) => entry !== '');
  try {
    return { resources: parseResources(entries), allCustomResources: false };
  } catch {
    // A label that cannot be read must not choose more than it says: nothing beside what rights need.
    return { resources: [], allCustomResources: false };
  }
}

function clusterTest(clusters: string | undefined): (cluster: ClusterSpec) => boolean {
  if (clusters === undefined || clusters.trim() === '') return () => true;
  if (/[=!()<>]/.test(clusters)) {
    const requirements = parseLabelSelector(clusters);
    return ({ labels }) => requirements.every((requirement) => holds(requirement, labels));
  }
  const names = new Set(clusters.split(',').map((name) => name.trim()));
  return ({ name }) => names.has(name);
}

/** labels.Requirement.Matches. */
function holds({ key, operator, values }: LabelRequirement, labels: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  if (operator === 'In') return value !== undefined && values.includes(value);
  if (operator === 'NotIn') return value === undefined || !values.includes(value);
  if (value === undefined || !/^[+-]?\d+$/.test(value)) return false;
  const [one, other] = [BigInt(value.replace('+', '')), BigInt(values[0]!.replace('+', ''))];
  return operator === 'Gt' ? one > other : one < other;
}

/** What of a member's types is followed, and what was asked for by name and cannot be. */
export function chooseTypes(
  types: ReadonlyMap<TypeKey, TypeInfo>,
  choice: ClusterChoice,
): {
  readonly chosen: readonly ChosenType[];
  readonly refused: readonly { readonly resource: string; readonly message: string }[];
} {
  const refused: { readonly resource: string; readonly message: string }[] = [];
  const chosen: ChosenType[] = [];
  for (const [key, type] of types) {
    const isForRights = rightsKeys.has(key);
    const found = choiceFor(type, choice);
    if (found === undefined) {
      if (isForRights) chosen.push({ type, isChosen: false, filter: {} });
      continue;
    }
    const negotiated = negotiateVersions(type, found.versions);
    if (typeof negotiated === 'string') refused.push({ resource: key, message: negotiated });
    // Rights are decided by all of them or wrongly.
    else chosen.push({ type: negotiated, isChosen: true, filter: isForRights ? {} : found.filter });
  }
  for (const named of choice.resources) {
    const { group, resource } = named;
    if (choice.isDefault === true || resource === '*' || group === '*' || types.has(typeKey(named))) continue;
    if ([...types.values()].some((type) => isNamed(type, named))) continue;
    refused.push({
      resource: typeKey({ group, resource }),
      message: 'the cluster does not serve it with list and watch',
    });
  }
  return { chosen, refused };
}

function choiceFor(type: TypeInfo, { resources, allCustomResources }: ClusterChoice): ResourceChoice | undefined {
  const named = resources.find((choice) => isNamed(type, choice));
  if (named !== undefined) return named;
  if (unasked.has(typeKey(type))) return undefined;
  const wide = resources.find(({ group, resource }) => resource === '*' && (group === type.group || group === '*'));
  if (wide !== undefined) return wide;
  const isCustom = type.printerColumns !== undefined;
  return allCustomResources && isCustom
    ? { group: type.group, resource: type.resource, versions: [], filter: {} }
    : undefined;
}

/** Whether the choice names this very type: plural or singular, in any case, as PediaClusters may. */
function isNamed(type: TypeInfo, { group, resource }: Pick<ResourceChoice, 'group' | 'resource'>): boolean {
  if (group !== type.group && group !== '*') return false;
  const name = resource.toLowerCase();
  return name === type.resource || name === type.singular;
}
