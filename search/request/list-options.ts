// Reads the options of list and watch that concern resourceVersions, and validates them as kube-apiserver does
// (apimachinery pkg/apis/internalversion/validation). Only the index's own resourceVersions are accepted. A
// resourceVersion of a member cluster says nothing about the index, so it gets 410.
import { GatewayError } from '../../model/errors.ts';
import type { ListOptions } from '../../query/read/read-query.ts';
import type { IndexStore } from '../../store/store.ts';

/** Milliseconds that a request waits for a resourceVersion that the index has not reached yet. */
const futureWaitMs = 3_000;
/** The limit for a watch's `timeoutSeconds`, because a timer of Node cannot be longer than 24.8 days. */
const longestWatchSeconds = 2_000_000;

/** Which state of the index a list must show. When both fields are undefined, it shows the present state. */
export interface ListVersion {
  readonly notOlderThan: string | undefined;
  readonly exact: string | undefined;
}

/** Where a watch begins, and which events it sends first. */
export interface WatchStart {
  /**
   * The resourceVersion after which events are sent. Undefined: send the present rows first, or with `fromNow` only new
   * events.
   */
  readonly after: string | undefined;
  readonly fromNow: boolean;
  readonly marksInitialEnd: boolean;
  readonly notOlderThan: string | undefined;
  readonly bookmarks: boolean;
  readonly timeoutMs: number | undefined;
}

/** Tells whether a resourceVersion can be one of this index: {@link IndexStore.canBeOwn}. */
export type OwnVersions = Pick<IndexStore, 'canBeOwn'>;

/**
 * Reads the options of a list.
 * @throws GatewayError INVALID for combinations that kube-apiserver refuses, EXPIRED for a resourceVersion that cannot
 * be one of this index
 */
export function readListVersion(options: ListOptions, store: OwnVersions): ListVersion {
  const { resourceVersion: version, timeoutSeconds, sendInitialEvents, isContinued } = options;
  const match = matchOf(options);
  // A list has no use for timeoutSeconds. An invalid value is refused nevertheless, as in kube-apiserver.
  if (timeoutSeconds !== undefined && !/^[+-]?\d{1,19}$/.test(timeoutSeconds)) throw badTimeout();
  if (sendInitialEvents !== undefined)
    throw invalid('sendInitialEvents', 'is forbidden for a list; it belongs to a watch');
  if (match !== undefined && isContinued)
    throw invalid('resourceVersionMatch', 'is forbidden when continue is provided');
  if (version === undefined || version === '0') {
    if (match === 'Exact') throw invalid('resourceVersionMatch', 'Exact is forbidden for resourceVersion "0"');
    return { notOlderThan: undefined, exact: undefined };
  }
  requireOwn(version, store);
  return match === 'Exact' ? { notOlderThan: undefined, exact: version } : { notOlderThan: version, exact: undefined };
}

/** Reads the options of a watch. @throws GatewayError as {@link readListVersion} does */
export function readWatchStart(
  { resourceVersion: version, resourceVersionMatch: match, sendInitialEvents: initial, ...options }: ListOptions,
  store: OwnVersions,
): WatchStart {
  if (initial === undefined && match !== undefined)
    throw invalid('resourceVersionMatch', 'is forbidden for a watch unless sendInitialEvents is provided');
  if (initial !== undefined && match !== 'NotOlderThan')
    throw invalid('resourceVersionMatch', 'must be NotOlderThan when sendInitialEvents is provided');
  const bookmarks = options.allowWatchBookmarks ?? false;
  if (initial === true && !bookmarks)
    throw invalid(
      'sendInitialEvents',
      'needs allowWatchBookmarks=true, because a bookmark marks the end of the initial events',
    );
  const given = version === undefined || version === '0' ? undefined : version;
  if (given !== undefined) requireOwn(given, store);
  const common = { bookmarks, timeoutMs: timeoutMs(options.timeoutSeconds), marksInitialEnd: initial === true };
  if (initial === true) return { ...common, after: undefined, fromNow: false, notOlderThan: given };
  if (initial === false && given === undefined)
    return { ...common, after: undefined, fromNow: true, notOlderThan: undefined };
  return { ...common, after: given, fromNow: false, notOlderThan: given };
}

function matchOf({
  resourceVersion: version,
  resourceVersionMatch: match,
}: ListOptions): 'Exact' | 'NotOlderThan' | undefined {
  if (match === undefined) return undefined;
  if (match !== 'Exact' && match !== 'NotOlderThan')
    throw invalid('resourceVersionMatch', `"${match.slice(0, 40)}" is not supported: Exact and NotOlderThan are`);
  if (version === undefined) throw invalid('resourceVersionMatch', 'is forbidden unless resourceVersion is provided');
  return match;
}

function badTimeout(): GatewayError {
  return new GatewayError('BAD_REQUEST', 'timeoutSeconds is not a whole number');
}

function timeoutMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,18}$/.test(text)) throw badTimeout();
  const seconds = Math.min(Number(text), longestWatchSeconds);
  return seconds === 0 ? undefined : seconds * 1000;
}

function requireOwn(version: string, store: OwnVersions): void {
  if (!store.canBeOwn(version)) throw notOwn(version);
}

function notOwn(version: string): GatewayError {
  return new GatewayError(
    'EXPIRED',
    `resource version ${/^[\w-]{1,40}$/.test(version) ? version : 'given'} was not issued by this index: use that of a list or a bookmark ` +
      'from this replica, not that of an object; or list again without it',
  );
}

function invalid(field: string, message: string): GatewayError {
  return new GatewayError('INVALID', `ListOptions.meta.k8s.io "" is invalid: ${field}: ${message}`, {
    kind: 'ListOptions',
    group: 'meta.k8s.io',
  });
}

/**
 * Waits until the index has reached a resourceVersion, at most three seconds, and checks that this index has issued it.
 * The check is exact as far as the change log reaches back, since each version belongs to a change in it.
 * @param answersNow true when the answer shows the present rows, so that a version older than the log is acceptable
 * @throws GatewayError (rejects) MEMBER_TIMEOUT (504) when the index has not reached it by then; EXPIRED when the
 *   version was not issued here, or is older than the log
 */
export async function waitForVersion(
  store: Pick<IndexStore, 'resourceVersion' | 'onCommit' | 'oldestResourceVersion' | 'isInLog'>,
  version: string | undefined,
  answersNow: boolean,
): Promise<void> {
  if (version === undefined) return;
  if (store.resourceVersion() < version) await reached(store, version);
  if (await store.isInLog(version)) return;
  const oldest = await store.oldestResourceVersion();
  // resourceVersions have 19 digits, so comparing them as text gives the numeric order.
  if (version >= oldest) throw notOwn(version);
  if (!answersNow)
    throw new GatewayError('EXPIRED', `too old resource version: ${version} (${oldest}); list again without it`);
}

async function reached(store: Pick<IndexStore, 'resourceVersion' | 'onCommit'>, version: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const end = store.onCommit(() => {
    if (store.resourceVersion() >= version) resolve();
  });
  const timer = setTimeout(() => {
    const message = `Too large resource version: ${version}, current: ${store.resourceVersion()}`;
    reject(new GatewayError('MEMBER_TIMEOUT', message));
  }, futureWaitMs);
  try {
    await promise;
  } finally {
    end();
    clearTimeout(timer);
  }
}
