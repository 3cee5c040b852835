// Decides which resources of which clusters are indexed, from the configuration, from PediaCluster fields, and from a
// label on the cluster. RBAC objects, namespaces and CRDs of every indexed cluster are always stored, because access to
// rows is decided with them. They appear in answers only when they are selected as well.
import { defaultResources } from '../../../lib/indexed-resources.ts';
import type { ClusterSpec } from '../../../cache/model/records.ts';
import { parseLabelSelector } from '../../query/selectors/label-selector.ts';
import type { LabelRequirement } from '../../query/list-query.ts';
import { typeKey, type ResourceType, type TypeInfo, type TypeKey } from '../../types.ts';
import { negotiateVersions } from './discovery.ts';
import type { TypeFilter } from '../sync-types.ts';

/** One entry of a list of resources, such as `deployments.apps`. */
export interface ResourceChoice {
  /** API group; `*` means any group. */
  readonly group: string;
  /** Plural name; `*` means all resources of the group that can be indexed. */
  readonly resource: string;
  /** The versions in which a custom resource is offered. Empty means all. Ignored for built-in types. */
  readonly versions: readonly string[];
  readonly filter: TypeFilter;
}

/** Which resources of one cluster are indexed. */
export interface ClusterChoice {
  readonly resources: readonly ResourceChoice[];
  readonly allCustomResources: boolean;
  /** True when these are the default resources. Then it is no fault when a cluster lacks one of them. */
  readonly isDefault?: boolean;
}

/** Returns the selected resources of a cluster; undefined when the cluster is not indexed. */
export type Selection = (cluster: ClusterSpec) => ClusterChoice | undefined;

/** A type of a member cluster that is to be stored. `isChosen` is false when it is only stored to decide access. */
export interface ChosenType {
  readonly type: TypeInfo;
  readonly isChosen: boolean;
  readonly filter: TypeFilter;
}

const rbac = 'rbac.authorization.k8s.io';

/** The types that decide access to rows. They are stored for every indexed cluster, without a filter. */
export const rightsTypes: readonly ResourceType[] = [
  ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map((resource) => ({ group: rbac, resource })),
  { group: '', resource: 'namespaces' },
  { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
];
const rightsKeys: ReadonlySet<TypeKey> = new Set(rightsTypes.map(typeKey));

/** Types that change all the time and are rarely queried. They are indexed only when named, never because of `*`. */
const unasked: ReadonlySet<TypeKey> = new Set(['events.', 'events.events.k8s.io', 'leases.coordination.k8s.io']);

/**
 * A label on a cluster that selects its resources: `all`, `none`, or names separated by `_`, since label values cannot
 * contain commas.
 */
export const resourcesLabel = 'search.portcullis.io/resources';

/**
 * Parses entries such as `pods`, `deployments.apps`, `*.apps`, `*` or `pods{namespaces=a b;labels=app in
 * (web);names=x}`.
 * @throws Error whose message names the faulty entry
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

/**
 * The resources that the configuration selects by name. When it has only patterns such as `*`, the default resources.
 */
export function namedResources(resources: readonly string[] = defaultResources): readonly ResourceType[] {
  const named = parseResources(resources).filter(({ group, resource }) => resource !== '*' && group !== '*');
  return named.length > 0 ? named : parseResources(defaultResources);
}

/** Splits a list at its commas. Commas inside `{…}` do not count. */
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
 * Makes the selection from the configuration. For a cluster with the resources label or PediaCluster fields, these
 * apply instead.
 * @param clusters names separated by commas, or a label selector; undefined means all clusters
 * @throws Error when a resource or the selector is invalid
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
    const { resources: named, allCustomResources } = indexing;
    if (named.length === 0 && !allCustomResources) return undefined;
    return {
      resources: named.map(({ namespaces, ...each }) => ({
        ...each,
        filter: namespaces === undefined ? {} : { namespaces },
      })),
      allCustomResources,
    };
  };
}

function labelChoice(label: string): ClusterChoice | undefined {
  if (label === 'none') return undefined;
  const entries = label === 'all' ? ['*'] : label.split('_').filter((entry) => entry !== '');
  try {
    return { resources: parseResources(entries), allCustomResources: false };
  } catch {
    // An invalid label must not select more than was meant. So only the types that decide access are stored.
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

/** Evaluates one requirement as apimachinery's labels.Requirement.Matches does. */
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

/**
 * Returns which of a member cluster's types are to be stored, and which selected resources are not available, with the
 * reason.
 */
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
    // Access decisions need all objects of these types. With a filter they would be wrong.
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

/** What of a cluster is indexed; undefined for nothing, also where another cluster has its name. */
export function choiceOf(spec: ClusterSpec, selection: Selection): ClusterChoice | undefined {
  return spec.problem?.reason === 'NameConflict' ? undefined : selection(spec);
}

/** Whether the choice names this very type: plural or singular, in any case, as PediaClusters may. */
function isNamed(type: TypeInfo, { group, resource }: Pick<ResourceChoice, 'group' | 'resource'>): boolean {
  if (group !== type.group && group !== '*') return false;
  const name = resource.toLowerCase();
  return name === type.resource || name === type.singular;
}
