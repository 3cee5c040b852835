// Clusterpedia's search labels: parameters that travel inside a label selector, since kubectl and client libraries can
// send nothing else. Each is a set of values with an operator, and `notin` is not `in`.
import type { LabelRequirement } from '../list-query.ts';
import { bad } from '../parameters.ts';

const searchPrefix = 'search.clusterpedia.io/';
const storagePrefix = 'internalstorage.clusterpedia.io/';

/** Label keys by what they stand for. Documents print some below the other prefix: both are read. */
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

/** A label selector taken apart. */
export interface SearchLabels {
  /** What is asked of the objects' own labels. */
  readonly labels: readonly LabelRequirement[];
  readonly search: ReadonlyMap<SearchLabel, readonly LabelRequirement[]>;
  /** Keys below the search prefixes that have no meaning. */
  readonly unknown: readonly string[];
}

/**
 * Sorts the requirements of a selector into search labels and the objects' own; other keys of clusterpedia.io are the
 * objects'.
 */
export function takeSearchLabels(requirements: readonly LabelRequirement[]): SearchLabels {
  const labels: LabelRequirement[] = [];
  const search = new Map<SearchLabel, LabelRequirement[]>();
  const unknown: string[] = [];
  for (const requirement of requirements) {
    const { key } = requirement;
    const prefix = [searchPrefix, storagePrefix].find((start) => key.startsWith(start));
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
 * The one value of a search label that takes one; undefined when it is not there. @throws GatewayError BAD_REQUEST for
 * another operator or count
 */
export function oneValue(requirements: readonly LabelRequirement[] | undefined): string | undefined {
  const values = positiveValues(requirements);
  if (values === undefined) return undefined;
  if (values.length !== 1) throw bad(`the label ${requirements![0]!.key} takes one value`);
  return values[0] === '' ? undefined : values[0];
}

/** Values of a search label for which only `=` and `in` mean something; several requirements must all hold. */
export function positiveValues(requirements: readonly LabelRequirement[] | undefined): readonly string[] | undefined {
  let values: readonly string[] | undefined;
  for (const { key, operator, values: more } of requirements ?? []) {
    if (operator !== 'In') throw bad(`the label ${key} takes only the operators = and in`);
    values = values === undefined ? more : values.filter((value) => more.includes(value));
  }
  return values;
}

/** All values of a search label, of all its requirements. */
export function allValues(requirements: readonly LabelRequirement[] | undefined): readonly string[] {
  return (requirements ?? []).flatMap((requirement) => positiveValues([requirement]) ?? []);
}

/** The values a label requires and excludes. */
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
 * A flag: there without a value, or with any but `false` and `0`, is true. @throws GatewayError BAD_REQUEST for `!=`,
 * `notin`, `>` and `<`
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
