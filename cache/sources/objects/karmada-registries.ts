// Reads Karmada's ResourceRegistry objects: which resources of which clusters are to be indexed. A ResourceRegistry
// that requests something the index does not support is refused as a whole, since users could otherwise believe that
// all of it is in effect when only a part is.
import { fieldOf, listAt, textsAt } from '../../../lib/objects/json-object.ts';
import type { ApiObject } from '../../../kube/types.ts';
import type { SourceIndexing } from '../../../model/records.ts';
import { LabelSelectorFault, readLabelSelector, selectorMatches } from '../../../lib/objects/label-selector.ts';
import { labelsOf } from './hub-object.ts';

/** The API group of Karmada's search component. */
export const registryGroup = 'search.karmada.io';
export const registryPlural = 'resourceregistries';
/**
 * The version under which a hub's CustomResourceDefinition serves ResourceRegistries when an APIService sends requests
 * for v1alpha1 to the gateway.
 */
export const storedRegistryVersion = 'stored';

/** One entry of `spec.resourceSelectors`. */
export interface RegisteredResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The namespace whose objects are selected; '' means all namespaces. */
  readonly namespace: string;
}

/** A parsed ResourceRegistry. */
export interface Registry {
  readonly name: string;
  readonly resources: readonly RegisteredResource[];
  /**
   * Why the registry is refused, so that nothing is indexed because of it; undefined when it is in effect. `reason` is
   * in CamelCase, as in metav1.Condition.
   */
  readonly refusal: { readonly reason: string; readonly message: string } | undefined;
  /** Whether `spec.targetCluster` selects this Cluster of Karmada. */
  matches(cluster: ApiObject): boolean;
}

/** Thrown when a ResourceRegistry cannot be used. */
class Refusal extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Reads a ResourceRegistry. Does not throw for a registry that cannot be used: its result has a `refusal`. */
export function readRegistry(object: ApiObject): Registry {
  const { name } = object.metadata;
  try {
    if (fieldOf(object, 'spec', 'backendStore', 'openSearch') !== undefined) {
      throw new Refusal(
        'BackendStoreNotSupported',
        'spec.backendStore.openSearch is not supported: rows are kept in the index of the gateway; remove spec.backendStore',
      );
    }
    const resources = listAt(object, 'spec', 'resourceSelectors').map(readSelector);
    const matches = readAffinity(fieldOf(object, 'spec', 'targetCluster'));
    return { name, resources, refusal: undefined, matches };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { reason, message } = error;
    return { name, resources: [], refusal: { reason, message }, matches: () => false };
  }
}

function readSelector(selector: unknown, index: number): RegisteredResource {
  const [apiVersion, kind, namespace = ''] = ['apiVersion', 'kind', 'namespace'].map((key) => fieldOf(selector, key));
  if (!isText(apiVersion) || !isText(kind) || typeof namespace !== 'string')
    throw invalid(`spec.resourceSelectors[${index}] needs apiVersion and kind`);
  const parts = apiVersion.split('/');
  const [group, version] = parts.length === 1 ? ['', parts[0]!] : parts;
  return { group: group!, version: version!, kind, namespace };
}

/**
 * The resources of one cluster that the registries select. Several entries about one kind are joined; an entry without
 * a namespace selects all namespaces.
 */
export function indexingBy(registries: readonly Registry[], cluster: ApiObject): SourceIndexing {
  const mine = registries.filter(({ refusal, matches }) => refusal === undefined && matches(cluster));
  const kinds = Map.groupBy(
    mine.flatMap(({ resources }) => resources),
    ({ group, kind }) => `${kind}.${group}`,
  );
  const resources = [...kinds.values()].map((entries) => {
    const { group, kind } = entries[0]!;
    const namespaces = new Set(entries.map(({ namespace }) => namespace));
    return {
      group,
      // The kind in lower case is the singular. The index accepts singular and plural names of resources.
      resource: kind.toLowerCase(),
      versions: [...new Set(entries.map(({ version }) => version))],
      ...(namespaces.has('') ? {} : { namespaces: [...namespaces].toSorted() }),
    };
  });
  return { resources, allCustomResources: false, registries: mine.map(({ name }) => name) };
}

/** Whether a Cluster of Karmada matches a part of `spec.targetCluster`. */
type Test = (cluster: ApiObject) => boolean;

/**
 * Reads Karmada's ClusterAffinity. A cluster must match all parts of the affinity; a part that is absent matches every
 * cluster.
 */
function readAffinity(affinity: unknown): Test {
  const excluded = textsAt(affinity, 'exclude');
  const named = textsAt(affinity, 'clusterNames');
  const tests = [
    ...readLabels(fieldOf(affinity, 'labelSelector')),
    ...listAt(affinity, 'fieldSelector', 'matchExpressions').map(readFieldRequirement),
  ];
  return (cluster) => {
    const { name } = cluster.metadata;
    if (excluded.includes(name) || (named.length > 0 && !named.includes(name))) return false;
    return tests.every((test) => test(cluster));
  };
}

/** Reads `labelSelector`; returns no tests when it is absent. */
function readLabels(selector: unknown): readonly Test[] {
  if (selector === undefined) return [];
  try {
    const read = readLabelSelector(selector);
    return [(cluster) => selectorMatches(read, labelsOf(cluster))];
  } catch (error) {
    if (!(error instanceof LabelSelectorFault)) throw error;
    throw invalid(`spec.targetCluster.labelSelector: ${error.message}`);
  }
}

/** Reads an expression about `provider`, `region` or `zone` of a Cluster's spec. */
function readFieldRequirement(expression: unknown): Test {
  const requirement = readRequirement(expression);
  const { key } = requirement;
  if (key !== 'provider' && key !== 'region' && key !== 'zone')
    throw invalid(`spec.targetCluster.fieldSelector: "${key}" is none of provider, region and zone`);
  const test = testOf(requirement);
  return (cluster) =>
    test(key === 'zone' ? textsAt(cluster, 'spec', 'zones') : valuesOf(fieldOf(cluster, 'spec', key) || undefined));
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

function readRequirement(expression: unknown): Requirement {
  const [key, operator] = [fieldOf(expression, 'key'), fieldOf(expression, 'operator')];
  if (!isText(key) || !isText(operator)) throw invalid('an expression of spec.targetCluster needs key and operator');
  const values = textsAt(expression, 'values');
  // NotIn without values would select every cluster.
  if (values.length === 0 && (operator === 'In' || operator === 'NotIn'))
    throw invalid(`spec.targetCluster: ${operator} needs values, in the expression about "${key}"`);
  return { key, operator, values };
}

/**
 * Returns a function that tests the values of a field. Only `zone` can have several; no value means that the field is
 * absent.
 */
function testOf({ key, operator, values }: Requirement): (found: readonly string[]) => boolean {
  switch (operator) {
    case 'In':
      return (found) => found.some((value) => values.includes(value));
    case 'NotIn':
      return (found) => !found.some((value) => values.includes(value));
    case 'Exists':
      return (found) => found.length > 0;
    case 'DoesNotExist':
      return (found) => found.length === 0;
    case 'Gt':
    case 'Lt':
      return ([value]) => {
        if (value === undefined || !/^-?\d+$/.test(value) || !/^-?\d+$/.test(values[0] ?? '')) return false;
        return operator === 'Gt' ? BigInt(value) > BigInt(values[0]!) : BigInt(value) < BigInt(values[0]!);
      };
    default:
      throw invalid(`spec.targetCluster: "${operator}" is no operator, in the expression about "${key}"`);
  }
}

function valuesOf(value: unknown): readonly string[] {
  return typeof value === 'string' ? [value] : [];
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function invalid(message: string): Refusal {
  return new Refusal('InvalidSpec', message);
}
