// Decides which resources of which clusters are indexed, from the configuration, from PediaCluster fields, and from a
// label and annotations of the cluster. RBAC objects, namespaces and CRDs of every indexed cluster are always stored,
// because access to rows is decided with them. They appear in answers only when they are selected as well.
import { rbacGroup } from '../../lib/objects/api-names.ts';
import { defaultResources } from '../../lib/indexed-resources.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { typeKey, type LiveType, type ResourceType, type TypeInfo, type TypeKey } from '../../query/types.ts';
import { clusterTest } from './cluster-test.ts';
import { negotiateVersions } from './discovery.ts';
import {
  filterOf,
  joinedOptions,
  noOptions,
  parseAnnotations,
  parseOptions,
  type IndexOptions,
  type WrittenOptions,
} from './index-options.ts';
import { isKeptUnder } from './kept-as.ts';
import { canBeShownWhole, narrowed } from './narrow.ts';
import { isMeant, isNamed, parseEntry, type NamedResource } from './resource-entries.ts';
import type { TypeFilter } from '../member/sync-types.ts';

/** One entry of a list of resources, such as `deployments.apps`. */
export interface ResourceChoice extends NamedResource {
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
  /** The options that narrow the choice; absent when there are none. */
  readonly options?: IndexOptions;
  /**
   * Set when an option of the cluster cannot be read, and says why. Then only the types that decide access are stored.
   * The text quotes nothing from the option.
   */
  readonly fault?: string;
  /** The fault with more details, for the log; it may quote the option. */
  readonly faultDetail?: string;
}

/** Options for the clusters that `clusters` names, or selects by a label selector; for all when it is absent. */
export interface IndexRule extends WrittenOptions {
  readonly clusters?: string | undefined;
}

/** Returns the selected resources of a cluster; undefined when the cluster is not indexed. */
export type Selection = (cluster: ClusterSpec) => ClusterChoice | undefined;

/** A type of a member cluster that is to be stored. `isChosen` is false when it is only stored to decide access. */
export interface ChosenType {
  readonly type: TypeInfo;
  readonly isChosen: boolean;
  readonly filter: TypeFilter;
}

/** The types that decide access to rows. They are stored for every indexed cluster, without a filter. */
export const rightsTypes: readonly ResourceType[] = [
  ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map((resource) => ({
    group: rbacGroup,
    resource,
  })),
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
    const { group, resource, braces } = parseEntry(entry, ['namespaces', 'names', 'labels']);
    return { resource, group, versions: [], filter: braces === undefined ? {} : filterOf(entry, braces) };
  });
}

/**
 * The resources that the configuration selects by name; the default resources when it has only patterns such as `*`.
 */
export function namedResources(resources: readonly string[] = defaultResources): readonly ResourceType[] {
  const named = parseResources(resources).filter(({ group, resource }) => resource !== '*' && group !== '*');
  return named.length > 0 ? named : parseResources(defaultResources);
}

/**
 * Makes the selection from the configuration. For a cluster with the resources label or with PediaCluster fields, the
 * label or the fields apply instead of `resources`. Whatever was selected is narrowed by options: those of `rules`, and
 * those in annotations of the cluster's object.
 * @param clusters names separated by commas, or a label selector; undefined means all clusters
 * @param rules options for all clusters, or for some
 * @throws Error when a resource, a selector or an option is invalid
 */
export function makeSelection(
  resources: readonly string[] | undefined,
  clusters: string | undefined,
  rules: readonly IndexRule[] = [],
): Selection {
  const choice: ClusterChoice = {
    resources: parseResources(resources ?? defaultResources),
    allCustomResources: false,
    isDefault: resources === undefined,
  };
  const isMeantCluster = clusterTest(clusters);
  const parsed = rules.map((rule) => ({ isFor: clusterTest(rule.clusters), options: parseOptions(rule) }));
  const made = new WeakMap<ClusterSpec, { readonly choice: ClusterChoice | undefined }>();
  const chosenOf = (cluster: ClusterSpec): ClusterChoice | undefined => {
    const wide = isMeantCluster(cluster) ? wideChoice(cluster, choice) : undefined;
    if (wide === undefined) return undefined;
    const ofRules = parsed.filter(({ isFor }) => isFor(cluster)).map(({ options }) => options);
    return narrowedChoice(wide, ofRules, cluster.indexOptions);
  };
  return (cluster) => {
    let known = made.get(cluster);
    if (known === undefined) made.set(cluster, (known = { choice: chosenOf(cluster) }));
    return known.choice;
  };
}

/** The choice for a cluster before options narrow it. */
function wideChoice({ labels, indexing }: ClusterSpec, choice: ClusterChoice): ClusterChoice | undefined {
  const label = labels[resourcesLabel];
  if (label !== undefined && label !== '') return labelChoice(label);
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
}

function narrowedChoice(
  choice: ClusterChoice,
  ofRules: readonly IndexOptions[],
  annotations: ClusterSpec['indexOptions'],
): ClusterChoice {
  const own = annotations === undefined ? undefined : parseAnnotations(annotations);
  if (own !== undefined && 'fault' in own)
    return { resources: [], allCustomResources: false, fault: own.fault, faultDetail: own.detail };
  const options = joinedOptions(own === undefined ? ofRules : [...ofRules, own.options]);
  return options === noOptions ? choice : { ...choice, options };
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

/**
 * Returns which of a member cluster's types are to be stored, and which selected resources are not available, with the
 * reason.
 */
export function chooseTypes(
  types: ReadonlyMap<TypeKey, TypeInfo>,
  choice: ClusterChoice,
): { readonly chosen: readonly ChosenType[]; readonly refused: readonly RefusedResource[] } {
  const refused: RefusedResource[] = [];
  const chosen: ChosenType[] = [];
  for (const [key, type] of types) {
    const found = choiceFor(type, choice);
    const isForRights = rightsKeys.has(key);
    // Access decisions need all objects of these types. With a filter they would be wrong.
    const filter = isForRights || found === undefined ? {} : found.filter;
    const left = found && narrowed(type, filter, choice.options ?? noOptions);
    const isShown = left !== undefined && (!isForRights || canBeShownWhole(type, left));
    if (left !== undefined && !isShown) refused.push({ resource: key, message: keptWhole });
    if (found === undefined || !isShown) {
      if (isForRights) chosen.push({ type, isChosen: false, filter: {} });
      continue;
    }
    const negotiated = negotiateVersions(type, found.versions);
    if (typeof negotiated === 'string') refused.push({ resource: key, message: negotiated });
    else
      chosen.push({
        type: withPruned(negotiated, left.pruned),
        isChosen: true,
        filter: isForRights ? {} : left.filter,
      });
  }
  return { chosen, refused: [...refused, ...notServed(types, choice)] };
}

/**
 * Returns the types that are not stored, for which requests over many clusters are sent to the cluster itself. A type
 * that the options exclude as a whole is left out, since its objects must not appear in such answers at all.
 */
export function liveTypes(
  listed: readonly LiveType[],
  chosen: readonly ChosenType[],
  { options = noOptions }: ClusterChoice,
): readonly LiveType[] {
  const stored = new Set(chosen.filter(({ isChosen }) => isChosen).map(({ type }) => typeKey(type)));
  return listed.filter((type) => !stored.has(typeKey(type)) && narrowed(type, {}, options) !== undefined);
}

interface RefusedResource {
  readonly resource: string;
  readonly message: string;
}

/** The resources that the configuration, a label or a PediaCluster names, but the cluster does not serve. */
function notServed(types: ReadonlyMap<TypeKey, TypeInfo>, choice: ClusterChoice): RefusedResource[] {
  if (choice.isDefault === true) return [];
  const served = [...types.values()];
  return choice.resources
    .filter(({ group, resource }) => resource !== '*' && group !== '*')
    .filter((named) => !types.has(typeKey(named)) && !served.some((type) => isNamed(type, named)))
    .map((named) => ({ resource: typeKey(named), message: 'the cluster does not serve it with list and watch' }));
}

const keptWhole = 'it is kept whole, since it decides access; an option would narrow it, so it is not shown';

function withPruned(type: TypeInfo, pruned: readonly string[]): TypeInfo {
  if (pruned.length > 0) return Object.freeze({ ...type, pruned });
  const { pruned: before, ...whole } = type;
  return before === undefined ? type : Object.freeze(whole);
}

function choiceFor(type: TypeInfo, { resources, allCustomResources }: ClusterChoice): ResourceChoice | undefined {
  const named = resources.find((choice) => isNamed(type, choice));
  if (named !== undefined) return named;
  if (unasked.has(typeKey(type))) return undefined;
  const wide = resources.find((choice) => choice.resource === '*' && isMeant(type, choice));
  if (wide !== undefined) return wide;
  const isCustom = type.printerColumns !== undefined;
  return allCustomResources && isCustom
    ? { group: type.group, resource: type.resource, versions: [], filter: {} }
    : undefined;
}

/**
 * What is indexed of a cluster. Undefined when the cluster is not selected, when its name belongs to another cluster,
 * or when the same cluster is indexed under another registration.
 */
export function choiceOf(spec: ClusterSpec, selection: Selection): ClusterChoice | undefined {
  if (spec.problem?.reason === 'NameConflict') return undefined;
  const { sameAs } = spec;
  if (sameAs !== undefined && selection({ ...spec, ...sameAs }) !== undefined) return undefined;
  return selection(spec);
}

/**
 * Whether rows that were stored may be served without being read again: their type is chosen, with the filter and the
 * pruned fields that the rows were stored with.
 */
export function isServedAsKept(type: TypeInfo, choice: ClusterChoice): boolean {
  const { keptAs } = type;
  const { chosen } = chooseTypes(new Map([[typeKey(type), type]]), choice);
  return chosen.some(
    ({ isChosen, filter, type: { pruned = [] } }) =>
      isChosen && (keptAs === undefined || isKeptUnder(keptAs, filter, pruned)),
  );
}
