// Reads a query from the path, URL parameters, search labels in the label selector, or a JSON document, and turns it
// into one ListQuery. When several of these give the same condition, the path wins over the URL, and the URL over the
// label. A condition that cannot be applied is an error, because ignoring it would return too many rows.
import type { ResourceType } from '../types.ts';
import { readColumnPath } from '../columns.ts';
import { isContinueToken } from '../continue.ts';
import { parseFieldSelector } from '../selectors/field-selector.ts';
import { readFilters } from './filter.ts';
import { goQuote, parseLabelSelector } from '../selectors/label-selector.ts';
import type { PathStep } from '../../lib/json/raw-json.ts';
import type { ListQuery, OwnerQuery } from '../list-query.ts';
import { readOrder, splitOutsideQuotes } from '../order-by.ts';
import { bad, type Parameters } from '../parameters.ts';
import { allValues, flagValue, oneValue, setValues, takeSearchLabels } from '../selectors/search-labels.ts';
import type { SearchLabels } from '../selectors/search-labels.ts';
import { readTimeMs } from '../times.ts';
import { queryOfTypes, type AskedConditions } from './query-of-types.ts';
import { readWhere } from './where.ts';
import { shortened } from '../../lib/text/shortened.ts';

/** The conditions that the request's URL path contains. */
export interface PathTarget {
  readonly types: readonly ResourceType[];
  readonly cluster?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** The page of a list that the client requests. */
export interface PageAsked {
  /** The most rows on the page, at most {@link maxLimit}; undefined for all rows. */
  readonly limit: number | undefined;
  /** The number of rows to skip when `continue` is a decimal number, as in Clusterpedia; otherwise undefined. */
  readonly offset: number | undefined;
  /** The `continue` token of an earlier page, still encrypted. */
  readonly continueToken: string | undefined;
  /**
   * What the answer's `continue` contains: an encrypted token (`opaque`), the offset of the next row (`decimal`), or
   * nothing (`none`, for `withContinue=false`).
   */
  readonly continueStyle: 'opaque' | 'decimal' | 'none';
  readonly withRemaining: boolean;
}

/** All options of a list or watch. Each is read once, from its parameter, or else from its search label. */
export interface ListOptions extends AskedConditions {
  readonly page: PageAsked;
  /** True when the parameter `continue` is given. */
  readonly isContinued: boolean;
  /** As the client sent it, like the four options after it. They are validated when the answer is planned. */
  readonly resourceVersion: string | undefined;
  readonly resourceVersionMatch: string | undefined;
  readonly timeoutSeconds: string | undefined;
  readonly sendInitialEvents: boolean | undefined;
  readonly allowWatchBookmarks: boolean | undefined;
  /** Which part of its object a row of a Table shall contain; as given. */
  readonly includeObject: string | undefined;
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

/** What a client asks for: the query, and the options that it was made from. */
export interface AskedQuery extends ListOptions {
  readonly query: ListQuery;
}

/** The largest page, in rows. A client that asks for more gets a warning and a page of this size. */
const maxLimit = 5000;
const mostFields = 256;
const deepestSeniority = 8;
const longestText = 1024;

/**
 * Reads a query. Unknown URL parameters are ignored, as in kube-apiserver.
 * @param allowsWhereSql whether `whereSQL` and its like are read; otherwise they are refused
 * @throws GatewayError BAD_REQUEST for an invalid parameter, and when a limit is exceeded; INVALID for parameters of
 *   `whereSQLStatement` that cannot be read
 */
export function readQuery(parameters: Parameters, target: PathTarget, allowsWhereSql = false): AskedQuery {
  const options = optionsOf(parameters, target, allowsWhereSql);
  return { ...options, query: queryOfTypes(options, target.types) };
}

function optionsOf(parameters: Parameters, target: PathTarget, allowsWhereSql: boolean): ListOptions {
  const selector = takeSearchLabels(parseLabelSelector(parameters.text('labelSelector') ?? ''));
  const { labels, search, unknown } = selector;
  const text = (name: TextOption): string | undefined => parameters.text(name) ?? oneValue(search.get(name));
  const flag = (name: FlagOption): boolean | undefined => parameters.flag(name) ?? flagValue(search.get(name));
  const fieldSelector = parseFieldSelector(parameters.text('fieldSelector') ?? '');
  const filters = readFilters(parameters.all('filter'));
  const sets = keySets(parameters, selector, target);
  const conditions = {
    ...sets,
    ...present('uids', parameters.list('uids')),
    nameContains: texts('names', [...parameters.all('nameContains'), ...allValues(search.get('fuzzyName'))]),
    text: texts('text', parameters.all('text')),
    labels,
    ...createdWindow(text('since'), text('before')),
    order: readOrder(parameters.all('orderby'), () => allValues(search.get('orderby'))),
    ...present('owner', ownerOf(text, sets.namespaces)),
    ...present('where', readWhere(parameters, allowsWhereSql)),
  };
  const limit = wholeNumber('limit', text('limit'));
  return {
    conditions,
    fieldSelector: fieldSelector.map(({ requirement }) => requirement),
    filters,
    page: {
      limit: limit === undefined || limit <= 0 ? undefined : Math.min(limit, maxLimit),
      ...continuation(parameters.text('continue'), oneValue(search.get('continue')), flag('withContinue')),
      withRemaining: flag('withRemainingCount') ?? false,
    },
    isContinued: parameters.text('continue') !== undefined,
    resourceVersion: parameters.text('resourceVersion'),
    resourceVersionMatch: parameters.text('resourceVersionMatch'),
    timeoutSeconds: parameters.text('timeoutSeconds'),
    sendInitialEvents: parameters.flag('sendInitialEvents'),
    allowWatchBookmarks: parameters.flag('allowWatchBookmarks'),
    includeObject: parameters.text('includeObject'),
    onlyMetadata: parameters.flag('onlyMetadata') ?? false,
    injectEvents: flag('injectEvents') ?? false,
    fields: projection(parameters.all('fields')),
    warnings: unknown.map((key) => `the search label ${goQuote(key)} is not known and was ignored`),
    pageWarnings:
      limit !== undefined && limit > maxLimit ? [`limit ${limit} is too high; a page has ${maxLimit} rows`] : [],
  };
}

/** Options with one value that are a parameter and a search label. */
type TextOption = 'since' | 'before' | 'ownerUID' | 'ownerName' | 'ownerGR' | 'ownerSeniority' | 'limit';
type FlagOption = 'withContinue' | 'withRemainingCount' | 'injectEvents';

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

function createdWindow(sinceText: string | undefined, beforeText: string | undefined): Partial<ListQuery> {
  const since = sinceText === undefined ? undefined : readTimeMs('since', sinceText);
  const before = beforeText === undefined ? undefined : readTimeMs('before', beforeText);
  if (since !== undefined && before !== undefined && since > before) throw bad('since is later than before');
  return { ...present('createdSinceMs', since), ...present('createdBeforeMs', before) };
}

function ownerOf(
  text: (name: TextOption) => string | undefined,
  namespaces: readonly string[] | undefined,
): OwnerQuery | undefined {
  const [uid, name, resource] = [text('ownerUID'), text('ownerName'), text('ownerGR')];
  const seniority = readSeniority(text('ownerSeniority'));
  if (uid === undefined && name === undefined) {
    if (resource === undefined && (seniority ?? 0) === 0) return undefined;
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

/** Where the page begins. A decimal `continue` is an offset; the `continue` of the answer is then an offset, too. */
function continuation(
  text: string | undefined,
  label: string | undefined,
  withContinue: boolean | undefined,
): Pick<PageAsked, 'offset' | 'continueToken' | 'continueStyle'> {
  const given = text ?? label;
  const continueToken = given !== undefined && isContinueToken(given) ? given : undefined;
  const isOffset = given !== undefined && continueToken === undefined;
  if (isOffset && !/^\+?\d{1,15}$/.test(given))
    throw bad(`continue ${shown(given)} is neither a token of this server nor an offset of 0 or more`);
  const isDecimal = isOffset || (withContinue === true && continueToken === undefined);
  return {
    offset: isOffset ? Number(given) : undefined,
    continueToken,
    continueStyle: withContinue === false ? 'none' : isDecimal ? 'decimal' : 'opaque',
  };
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[+-]?\d{1,19}$/.test(text)) throw bad(`${name} ${shown(text)} is not a whole number`);
  return Number(text);
}

function shown(text: string): string {
  return goQuote(shortened(text, 60));
}

function projection(parameters: readonly string[]): ListOptions['fields'] {
  const given = parameters.flatMap(splitOutsideQuotes);
  if (given.length === 0) return undefined;
  if (given.length > mostFields) throw bad(`fields has more than ${mostFields} paths`);
  return given.map((path) => readColumnPath(path.trim(), true));
}
