// Reads Clusterpedia's search labels: query parameters written as requirements of a label selector, because kubectl and
// client libraries cannot send other parameters. Each requirement has a label, an operator and a set of values.
import type { LabelRequirement } from '../list-query.ts';
import { bad } from '../parameters.ts';

const searchPrefix = 'search.clusterpedia.io/';
const storagePrefix = 'internalstorage.clusterpedia.io/';

/**
 * The parameter that each search label stands for, by the part of the label after the prefix. Clusterpedia's documents
 * use both prefixes, so both are accepted for every label.
 */
const names: Readonly<Record<string, SearchLabel>> = {
  clusters: 'clusters',
  namespaces: 'namespaces',
  names: 'names',
  'fuzzy-name': 'fuzzyName',
  'owner-uid': 'ownerUID',
  'owner-name': 'ownerName',
  'owner-gr': 'ownerGR',
  'owner-seniority': 'ownerSeniority',
  since: 'since',
  before: 'before',
  orderby: 'orderby',
  limit: 'limit',
  size: 'limit',
  offset: 'continue',
  'with-continue': 'withContinue',
  'with-remaining-count': 'withRemainingCount',
  'inject-events': 'injectEvents',
  forward: 'forward',
};

export type SearchLabel =
  | 'clusters'
  | 'namespaces'
  | 'names'
  | 'fuzzyName'
  | 'ownerUID'
  | 'ownerName'
  | 'ownerGR'
  | 'ownerSeniority'
  | 'since'
  | 'before'
  | 'orderby'
  | 'limit'
  | 'continue'
  | 'withContinue'
  | 'withRemainingCount'
  | 'injectEvents'
  | 'forward';

/** The requirements of a label selector, divided into those on objects' labels and those that are parameters. */
export interface SearchLabels {
  /** Requirements on the labels of objects. */
  readonly labels: readonly LabelRequirement[];
  readonly search: ReadonlyMap<SearchLabel, readonly LabelRequirement[]>;
  /** Label keys that have the prefix of search labels, but are no known search label. */
  readonly unknown: readonly string[];
}

function prefixOf(key: string): string | undefined {
  return [searchPrefix, storagePrefix].find((start) => key.startsWith(start));
}

/** Whether a key of a label selector is a search label, known or not, and no label of objects. */
export function isSearchLabel(key: string): boolean {
  return prefixOf(key) !== undefined;
}

/**
 * Separates search labels from requirements on the labels of objects. Search labels begin with {@link searchPrefix} or
 * {@link storagePrefix}; any other key, such as `clusterpedia.io/x`, is an ordinary label.
 */
export function takeSearchLabels(requirements: readonly LabelRequirement[]): SearchLabels {
  const labels: LabelRequirement[] = [];
  const search = new Map<SearchLabel, LabelRequirement[]>();
  const unknown: string[] = [];
  for (const requirement of requirements) {
    const { key } = requirement;
    const prefix = prefixOf(key);
    if (prefix === undefined) {
      labels.push(requirement);
      continue;
    }
    const word = key.slice(prefix.length);
    const name = Object.hasOwn(names, word) ? names[word]! : undefined;
    if (name === undefined) unknown.push(key);
    else search.set(name, [...(search.get(name) ?? []), requirement]);
  }
  return { labels, search, unknown };
}

/**
 * The value of a search label that takes exactly one value; undefined when the label is absent or its value is empty.
 * @throws GatewayError BAD_REQUEST for an operator other than `=` and `in`, or more than one value
 */
export function oneValue(requirements: readonly LabelRequirement[] | undefined): string | undefined {
  const values = positiveValues(requirements);
  if (values === undefined) return undefined;
  if (values.length !== 1) throw bad(`the label ${requirements![0]!.key} takes one value`);
  return values[0] === '' ? undefined : values[0];
}

/**
 * The values of a search label that permits only `=` and `in`. When the label occurs several times, only values that
 * all occurrences have are returned.
 * @throws GatewayError BAD_REQUEST for another operator
 */
export function positiveValues(requirements: readonly LabelRequirement[] | undefined): readonly string[] | undefined {
  let values: readonly string[] | undefined;
  for (const { key, operator, values: more } of requirements ?? []) {
    if (operator !== 'In') throw bad(`the label ${key} takes only the operators = and in`);
    values = values === undefined ? more : values.filter((value) => more.includes(value));
  }
  return values;
}

/**
 * The values of all occurrences of a search label, one after the other.
 * @throws GatewayError BAD_REQUEST for another operator than `=` and `in`
 */
export function allValues(requirements: readonly LabelRequirement[] | undefined): readonly string[] {
  return (requirements ?? []).flatMap((requirement) => positiveValues([requirement]) ?? []);
}

/**
 * The values that a search label requires (`wanted`) and excludes (`unwanted`). The label without an operator does
 * neither.
 * @throws GatewayError BAD_REQUEST for another operator than `=`, `in`, `!=` and `notin`
 */
export function setValues(requirements: readonly LabelRequirement[] | undefined): {
  readonly wanted?: readonly string[];
  readonly unwanted?: readonly string[];
} {
  const positive = requirements?.filter(({ operator }) => operator === 'In') ?? [];
  const negative = requirements?.filter(({ operator }) => operator === 'NotIn') ?? [];
  for (const { key, operator } of requirements ?? [])
    if (!['In', 'NotIn', 'Exists'].includes(operator)) throw bad(`the label ${key} takes the operators = != in notin`);
  return {
    ...(positive.length > 0 ? { wanted: positiveValues(positive)! } : {}),
    ...(negative.length > 0 ? { unwanted: negative.flatMap(({ values }) => values) } : {}),
  };
}

/**
 * The value of a search label that is a flag. The label without an operator means true, as does any value but `false`
 * and `0`; `!label` means false. Undefined when the label is absent.
 * @throws GatewayError BAD_REQUEST for `!=`, `notin`, `>` and `<`
 */
export function flagValue(requirements: readonly LabelRequirement[] | undefined): boolean | undefined {
  const requirement = requirements?.[0];
  if (requirement === undefined) return undefined;
  const { key, operator, values } = requirement;
  if (operator === 'Exists') return true;
  if (operator === 'DoesNotExist') return false;
  if (operator !== 'In' || values.length !== 1)
    throw bad(`the label ${key} is a flag: write ${key}=true or ${key}=false`);
  return !['false', '0'].includes(values[0]!.toLowerCase());
}
