// Reads the query of a request to many clusters: our own parameters are taken out, the rest goes to every member byte
// for byte. A resourceVersion or continue token belongs to one member; another member would give a wrong answer for it
// that looks right.
import { GatewayError } from '../../cache/model/errors.ts';
import { labelMatcher } from '../api/clusters/selectors.ts';
import type { LabelMatcher } from '../api/clusters/selectors.ts';
import { queryFlag, queryValue, unescapeQuery } from '../request/request-info.ts';

/** See the file comment. */
export interface FanoutQuery {
  /** `clusterSelector=`; undefined when it is absent or requires nothing. */
  readonly selects: LabelMatcher | undefined;
  /** False for `partial=false`: the answer fails when a cluster is missing. */
  readonly partial: boolean;
  /** Objects on a page; undefined for all. */
  readonly limit: number | undefined;
  /** '' for the first page. */
  readonly continueToken: string;
  /** '' when absent. */
  readonly resourceVersion: string;
  /** Length of a watch; undefined for no limit. */
  readonly timeoutSeconds: number | undefined;
  readonly bookmarks: boolean;
  /** `sendInitialEvents=true`. */
  readonly initialEvents: boolean;
  /** The pairs for members as received, without a question mark. */
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

/** A timer cannot be longer than 24.8 days. */
const longestWatchSeconds = 2_000_000;

/** @throws GatewayError BAD_REQUEST for a parameter that cannot be read */
export function readFanoutQuery(query: string): FanoutQuery {
  const partial = queryValue(query, 'partial') ?? 'true';
  if (partial !== 'true' && partial !== 'false') {
    throw new GatewayError('BAD_REQUEST', 'partial= is true (the default) or false');
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
 * Go drops a pair it cannot read and takes the first of two. Here that would choose clusters that nobody meant, perhaps
 * for a write.
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

/** The query without the pairs of these keys, however a key is escaped. */
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

/** Path and query for a member. Values of `added` are escaped here; undefined ones are left out. */
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
