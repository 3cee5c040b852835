// Reads the query of a request to many clusters. The gateway's own parameters are removed; all others are sent to every
// cluster byte for byte. Easy to get wrong: a resourceVersion or continue token of one cluster must never be sent to
// another cluster, which would answer it with a result that looks right but is wrong.
import { GatewayError } from '../../../model/errors.ts';
import { labelMatcher } from '../../../query/selectors/label-matcher.ts';
import type { LabelMatcher } from '../../../query/selectors/label-matcher.ts';
import { queryFlag, queryValue, unescapeQuery } from '../../../request/request-info.ts';

/** The query of a request to many clusters, parsed. */
export interface FanoutQuery {
  /**
   * Tests a cluster's labels for `clusterSelector=`; undefined when the parameter is absent or empty, which selects
   * every cluster.
   */
  readonly selects: LabelMatcher | undefined;
  /** False for `partial=false`: then the whole request fails when one cluster does not answer. */
  readonly partial: boolean;
  /** Maximum number of objects on a page; undefined for all objects. */
  readonly limit: number | undefined;
  /** The continue token of the page; '' for the first page. */
  readonly continueToken: string;
  /** The parameter `resourceVersion`; '' when it is absent. */
  readonly resourceVersion: string;
  /** How many seconds a watch lasts; undefined for no limit. */
  readonly timeoutSeconds: number | undefined;
  readonly bookmarks: boolean;
  /** True for `sendInitialEvents=true`. */
  readonly initialEvents: boolean;
  /**
   * The query for the clusters: all parameters that the gateway does not handle itself, byte for byte, without a
   * question mark.
   */
  readonly rest: string;
}

const ownKeys: ReadonlySet<string> = new Set([
  'clusterSelector',
  'partial',
  'limit',
  'continue',
  'resourceVersion',
  'timeoutSeconds',
  'allowWatchBookmarks',
]);

/**
 * Longest duration of a watch in seconds, about 23 days; a longer `timeoutSeconds` is shortened to it. A Node timer
 * cannot be longer than 24.8 days.
 */
const longestWatchSeconds = 2_000_000;

/**
 * Reads the query, with or without its question mark.
 * @throws GatewayError BAD_REQUEST for a parameter that cannot be read
 */
export function readFanoutQuery(query: string): FanoutQuery {
  const partial = queryValue(query, 'partial') ?? 'true';
  if (partial !== 'true' && partial !== 'false') {
    throw new GatewayError('BAD_REQUEST', 'partial= must be true (the default) or false');
  }
  const limit = wholeNumber(query, 'limit');
  const timeoutSeconds = wholeNumber(query, 'timeoutSeconds');
  return {
    selects: labelMatcher(readClusterSelector(query)),
    partial: partial === 'true',
    limit: limit === 0 ? undefined : limit,
    continueToken: queryValue(query, 'continue') ?? '',
    resourceVersion: queryValue(query, 'resourceVersion') ?? '',
    timeoutSeconds:
      timeoutSeconds === undefined || timeoutSeconds === 0 ? undefined : Math.min(timeoutSeconds, longestWatchSeconds),
    bookmarks: queryFlag(query, 'allowWatchBookmarks'),
    initialEvents: queryFlag(query, 'sendInitialEvents'),
    rest: withoutKeys(query, ownKeys),
  };
}

/**
 * Reads the parameter `clusterSelector` strictly: a value that cannot be decoded is refused, and so is a repeated
 * parameter. Go would ignore a parameter that it cannot decode, and would use the first of a repeated one. This could
 * select clusters that the caller did not mean, perhaps for a write.
 * @throws GatewayError BAD_REQUEST
 */
function readClusterSelector(query: string): string {
  const pairs = query
    .replace(/^\?/, '')
    .split('&')
    .filter((pair) => unescapeQuery(pair.split('=', 1)[0]!) === 'clusterSelector');
  const [first = ''] = pairs;
  if (pairs.length > 1) throw new GatewayError('BAD_REQUEST', 'clusterSelector= is given more than once');
  const selector = unescapeQuery(first.includes('=') ? first.slice(first.indexOf('=') + 1) : '');
  if (first.includes(';') || selector === undefined)
    throw new GatewayError('BAD_REQUEST', 'clusterSelector= holds bytes that must be percent-encoded');
  return selector;
}

function wholeNumber(query: string, key: string): number | undefined {
  const text = queryValue(query, key);
  if (text === undefined || text === '') return undefined;
  if (!/^-?\d{1,15}$/.test(text)) throw new GatewayError('BAD_REQUEST', `${key}= is not a whole number`);
  return Math.max(0, Number(text));
}

/** The query without the parameters named in `keys`. A name is recognised however it is percent-encoded. */
export function withoutKeys(query: string, keys: ReadonlySet<string>): string {
  return query
    .replace(/^\?/, '')
    .split('&')
    .filter((pair) => {
      const key = unescapeQuery(pair.split('=', 1)[0]!);
      return pair !== '' && (key === undefined || !keys.has(key));
    })
    .join('&');
}

/**
 * Refuses a resourceVersion in kinds of requests whose answers never have a merged resourceVersion. '' and '0' are
 * allowed, because they mean the same in every cluster.
 * @throws GatewayError BAD_REQUEST
 */
export function refuseOneVersion({ resourceVersion }: FanoutQuery): void {
  if (resourceVersion === '' || resourceVersion === '0') return;
  const message = 'a resourceVersion belongs to one cluster: leave it out, or ask that cluster';
  throw new GatewayError('BAD_REQUEST', message);
}

/** Path and query for a cluster. Values of `added` are percent-encoded here; those that are undefined are left out. */
export function memberPath(
  path: string,
  rest: string,
  added: Readonly<Record<string, string | undefined>> = {},
): string {
  const pairs = Object.entries(added).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(value)}`],
  );
  const query = [...(rest === '' ? [] : [rest]), ...pairs].join('&');
  return query === '' ? path : `${path}?${query}`;
}
