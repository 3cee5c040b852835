// Reads a query from the path, URL parameters, search labels in the label selector, or a JSON document, and turns it
// into one ListQuery. When several of these give the same condition, the path wins over the URL, and the URL over the
// label. A condition that cannot be applied is an error, because ignoring it would return too many rows.
import type { ResourceType } from '../types.ts';
import { readColumnPath } from '../columns.ts';
import { parseFieldSelector } from '../selectors/field-selector.ts';
import { readFilters } from './filter.ts';
import { goQuote, parseLabelSelector } from '../selectors/label-selector.ts';
import type { PathStep } from '../../lib/json/raw-json.ts';
import type { FieldRequirement, ListQuery, OwnerQuery } from '../list-query.ts';
import { liftKeyConditions } from '../lift-keys.ts';
import { nativeConditions } from '../native-fields.ts';
import { readLabelOrder, readOrder, splitOutsideQuotes } from '../order-by.ts';
import { readPage, type PageAsked } from './page.ts';
import { bad, type Parameters } from '../parameters.ts';
import {
  allValues,
  flagValue,
  oneValue,
  setValues,
  takeSearchLabels,
  type SearchLabels,
} from '../selectors/search-labels.ts';
import { readTimeMs } from '../times.ts';

/** The conditions that the request's URL path contains. */
export interface PathTarget {
  readonly types: readonly ResourceType[];
  readonly cluster?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** What a client asks for: the query, and options of the answer that do not select rows. */
export interface AskedQuery {
  readonly query: ListQuery;
  readonly page: PageAsked;
  /** True when the answer shall contain only `metadata` of each object. */
  readonly onlyMetadata: boolean;
  /** True when each object in the answer shall have an annotation with its stored events. */
  readonly injectEvents: boolean;
  /** The paths of the fields that are kept of each object in the answer; undefined for whole objects. */
  readonly fields: readonly (readonly PathStep[])[] | undefined;
  /** Texts for `Warning` headers of every kind of answer. */
  readonly warnings: readonly string[];
  /** Texts for further `Warning` headers, sent only when the answer is a page of rows. */
  readonly pageWarnings: readonly string[];
}

const sqlParameters = ['whereSQL', 'whereSQLStatement', 'whereSQLParam', 'whereSQLJSONParams'];
const mostFields = 256;
const deepestSeniority = 8;
const longestText = 1024;

/**
 * Reads a query. Unknown URL parameters are ignored, as in kube-apiserver.
 * @throws GatewayError BAD_REQUEST for an invalid parameter, and when a limit is exceeded
 */
export function readQuery(parameters: Parameters, target: PathTarget): AskedQuery {
  refuseSql(parameters);
  const selector = takeSearchLabels(parseLabelSelector(parameters.text('labelSelector') ?? ''));
  const fieldSelector = parseFieldSelector(parameters.text('fieldSelector') ?? '').map(
    ({ requirement }) => requirement,
  );
  const native = nativeConditions(target.types, fieldSelector);
  const filters = readFilters(parameters.all('filter'));
  const plain: ListQuery = {
    types: target.types,
    ...keySets(parameters, selector, target),
    ...present('uids', parameters.list('uids')),
    nameContains: texts('names', [...parameters.all('nameContains'), ...allValues(selector.search.get('fuzzyName'))]),
    text: texts('text', parameters.all('text')),
    labels: selector.labels,
    fields: [...native.fields, ...filters.filter(isSingle).flat()],
    anyOf: [...native.anyOf, ...filters.filter((any) => !isSingle(any))],
    ...createdWindow(parameters, selector),
    order: order(parameters, selector),
  };
  const owner = readOwner(parameters, selector, plain.namespaces);
  const page = readPage(parameters, selector);
  return {
    query: { ...liftKeyConditions(plain), ...present('owner', owner) },
    page: page.asked,
    onlyMetadata: parameters.flag('onlyMetadata') ?? false,
    injectEvents: parameters.flag('injectEvents') ?? flagValue(selector.search.get('injectEvents')) ?? false,
    fields: projection(parameters),
    warnings: selector.unknown.map((key) => `the search label ${goQuote(key)} is not known and was ignored`),
    pageWarnings: page.warnings,
  };
}

function refuseSql(parameters: Parameters): void {
  const given = sqlParameters.find((name) => parameters.names.includes(name));
  if (given !== undefined)
    throw bad(
      `${given} is not supported: SQL is never taken from a request; use filter=, fieldSelector or labelSelector`,
    );
}

/** An object with one property of this name, or with none when the value is undefined. */
function present<Name extends string, Value>(name: Name, value: Value | undefined): Partial<Record<Name, Value>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, Value>);
}

const notNames = { clusters: 'notClusters', namespaces: 'notNamespaces', names: 'notNames' } as const;
type KeySet = keyof typeof notNames;

function keySets(parameters: Parameters, { search }: SearchLabels, target: PathTarget): Partial<ListQuery> {
  const fromPath: Readonly<Record<KeySet, string | undefined>> = {
    clusters: target.cluster,
    namespaces: target.namespace,
    names: target.name,
  };
  let sets: Partial<ListQuery> = {};
  for (const name of ['clusters', 'namespaces', 'names'] as const) {
    const inPath = fromPath[name];
    const wanted = inPath === undefined ? parameters.list(name) : [inPath];
    const label = setValues(search.get(name));
    if (wanted !== undefined) sets = { ...sets, [name]: wanted };
    else sets = { ...sets, ...present(name, label.wanted), ...present(notNames[name], label.unwanted) };
  }
  return sets;
}

function texts(name: string, values: readonly string[]): readonly string[] {
  if (values.some(({ length }) => length > longestText))
    throw bad(`a text to look for in ${name} is longer than ${longestText} characters`);
  if (values.length > 32) throw bad(`more than 32 texts to look for in ${name}`);
  return values.filter((value) => value !== '');
}

function isSingle(any: readonly FieldRequirement[]): boolean {
  return any.length === 1;
}

function createdWindow(parameters: Parameters, { search }: SearchLabels): Partial<ListQuery> {
  const read = (name: 'since' | 'before'): number | undefined => {
    const text = parameters.text(name) ?? oneValue(search.get(name));
    return text === undefined ? undefined : readTimeMs(name, text);
  };
  const [since, before] = [read('since'), read('before')];
  if (since !== undefined && before !== undefined && since > before) throw bad('since is later than before');
  return { ...present('createdSinceMs', since), ...present('createdBeforeMs', before) };
}

function order(parameters: Parameters, { search }: SearchLabels): ListQuery['order'] {
  const keys = parameters
    .all('orderby')
    .flatMap(splitOutsideQuotes)
    .filter((key) => key.trim() !== '');
  if (keys.length > 0) return readOrder(keys);
  return readLabelOrder(allValues(search.get('orderby')).filter((value) => value !== ''));
}

function readOwner(
  parameters: Parameters,
  { search }: SearchLabels,
  namespaces: readonly string[] | undefined,
): OwnerQuery | undefined {
  const read = (name: 'ownerUID' | 'ownerName' | 'ownerGR' | 'ownerSeniority'): string | undefined =>
    parameters.text(name) ?? oneValue(search.get(name));
  const [uid, name, resource] = [read('ownerUID'), read('ownerName'), read('ownerGR')];
  const seniority = readSeniority(read('ownerSeniority'));
  if (uid === undefined && name === undefined) {
    if (resource === undefined && seniority === undefined) return undefined;
    if (resource === undefined && seniority === 0) return undefined;
    throw bad('ownerGR and ownerSeniority need an owner: add ownerUID or ownerName');
  }
  if (uid !== undefined) return { uid, seniority: seniority ?? 0 };
  return {
    ...present('name', name),
    ...present('type', resource === undefined ? undefined : groupResource(resource)),
    ...present('namespaces', namespaces),
    seniority: seniority ?? 0,
  };
}

function readSeniority(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seniority = /^[+-]?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(seniority >= 0 && seniority <= deepestSeniority))
    throw bad(`ownerSeniority ${goQuote(text)} is not a number from 0 to ${deepestSeniority}`);
  return seniority;
}

/** Parses a text such as `deployments.apps` (apimachinery schema.ParseGroupResource). */
export function groupResource(text: string): ResourceType {
  const dot = text.indexOf('.');
  return dot < 0 ? { group: '', resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) };
}

function projection(parameters: Parameters): AskedQuery['fields'] {
  const given = parameters.all('fields').flatMap(splitOutsideQuotes);
  if (given.length === 0) return undefined;
  if (given.length > mostFields) throw bad(`fields has more than ${mostFields} paths`);
  return given.map((path) => readColumnPath(path.trim(), true));
}
