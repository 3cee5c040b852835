// The options of list and watch that are about versions, checked as kube-apiserver does (apimachinery
// pkg/apis/internalversion/validation) but with the index's own resourceVersions. Going on from a version of a member
// would be a guess, so it is 410.
import { GatewayError } from '../../cache/model/errors.ts';
import type { Parameters } from '../query/parameters.ts';
import type { IndexStore } from '../stores/store.ts';

/** Longest wait for a state that a client has seen elsewhere. */
const futureWaitMs = 3_000;
/** A timer cannot be longer than 24.8 days. */
const longestWatchSeconds = 2_000_000;

/** What a list must show: now, not older than a version, or exactly that one. */
export interface ListVersion {
  readonly notOlderThan: string | undefined;
  readonly exact: string | undefined;
}

/** Where a watch begins, and what it sends of the beginning. */
export interface WatchStart {
  /** Undefined: with the rows there are, or, with `fromNow`, with what comes. */
  readonly after: string | undefined;
  readonly fromNow: boolean;
  readonly marksInitialEnd: boolean;
  readonly notOlderThan: string | undefined;
  readonly bookmarks: boolean;
  readonly timeoutMs: number | undefined;
}

/** Whether a version can be the index's own: {@link IndexStore.canBeOwn}. */
export type OwnVersions = Pick<IndexStore, 'canBeOwn'>;

/** @throws GatewayError INVALID for combinations that mean nothing, EXPIRED for a version that is none of ours */
export function readListVersion(parameters: Parameters, store: OwnVersions): ListVersion {
  const version = parameters.text('resourceVersion');
  const match = readMatch(parameters, version);
  // A list has no end to be timed; what cannot be read is refused all the same, as kube-apiserver does.
  const timeout = parameters.text('timeoutSeconds');
  if (timeout !== undefined && !/^[+-]?\d{1,19}$/.test(timeout)) throw badTimeout();
  if (parameters.flag('sendInitialEvents') !== undefined)
    throw invalid('sendInitialEvents', 'is forbidden for a list; it belongs to a watch');
  if (match !== undefined && parameters.text('continue') !== undefined)
    throw invalid('resourceVersionMatch', 'is forbidden when continue is provided');
  if (version === undefined || version === '0') {
    if (match === 'Exact') throw invalid('resourceVersionMatch', 'Exact is forbidden for resourceVersion "0"');
    return { notOlderThan: undefined, exact: undefined };
  }
  requireOwn(version, store);
  return match === 'Exact' ? { notOlderThan: undefined, exact: version } : { notOlderThan: version, exact: undefined };
}

/** @throws GatewayError as {@link readListVersion} does */
export function readWatchStart(parameters: Parameters, store: OwnVersions): WatchStart {
  const version = parameters.text('resourceVersion');
  const initial = parameters.flag('sendInitialEvents');
  const matchText = parameters.text('resourceVersionMatch');
  if (initial === undefined && matchText !== undefined)
    throw invalid('resourceVersionMatch', 'is forbidden for a watch unless sendInitialEvents is provided');
  if (initial !== undefined && matchText !== 'NotOlderThan')
    throw invalid('resourceVersionMatch', 'must be NotOlderThan when sendInitialEvents is provided');
  const bookmarks = parameters.flag('allowWatchBookmarks') ?? false;
  if (initial === true && !bookmarks)
    throw invalid('sendInitialEvents', 'needs allowWatchBookmarks=true, or nobody could tell where they end');
  const given = version === undefined || version === '0' ? undefined : version;
  if (given !== undefined) requireOwn(given, store);
  const common = { bookmarks, timeoutMs: readTimeout(parameters), marksInitialEnd: initial === true };
  if (initial === true) return { ...common, after: undefined, fromNow: false, notOlderThan: given };
  if (initial === false && given === undefined)
    return { ...common, after: undefined, fromNow: true, notOlderThan: undefined };
  return { ...common, after: given, fromNow: false, notOlderThan: given };
}

function readMatch(parameters: Parameters, version: string | undefined): 'Exact' | 'NotOlderThan' | undefined {
  const match = parameters.text('resourceVersionMatch');
  if (match === undefined) return undefined;
  if (match !== 'Exact' && match !== 'NotOlderThan')
    throw invalid('resourceVersionMatch', `"${match.slice(0, 40)}" is not supported: Exact and NotOlderThan are`);
  if (version === undefined) throw invalid('resourceVersionMatch', 'is forbidden unless resourceVersion is provided');
  return match;
}

function badTimeout(): GatewayError {
  return new GatewayError('BAD_REQUEST', 'timeoutSeconds is not a whole number');
}

function readTimeout(parameters: Parameters): number | undefined {
  const text = parameters.text('timeoutSeconds');
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
    `resource version ${/^[\w-]{1,40}$/.test(version) ? version : 'given'} is none of this index: items keep their cluster's, each replica has ` +
      'its own, lists and bookmarks have the one to go on from; list again without it',
  );
}

function invalid(field: string, message: string): GatewayError {
  return new GatewayError('INVALID', `ListOptions.meta.k8s.io "" is invalid: ${field}: ${message}`, {
    kind: 'ListOptions',
    group: 'meta.k8s.io',
  });
}

/**
 * Waits until the index has come to a version, three seconds at most.
 * @throws GatewayError (rejects) MEMBER_TIMEOUT (504) when it has not
 */
export async function waitForVersion(
  store: Pick<IndexStore, 'resourceVersion' | 'onCommit'>,
  version: string | undefined,
): Promise<void> {
  if (version === undefined || store.resourceVersion() >= version) return;
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

/**
 * Makes sure that a version is one this index has issued: exact as far as its log reaches back, since every version is
 * that of a change in it.
 * @param answersNow the answer is made of the rows of now, so a version older than the log is no hindrance
 * @throws GatewayError (rejects) EXPIRED for another, and when the log no longer reaches back to it
 */
export async function requireInLog(
  store: Pick<IndexStore, 'oldestResourceVersion' | 'isInLog'>,
  version: string | undefined,
  answersNow = false,
): Promise<void> {
  if (version === undefined || (await store.isInLog(version))) return;
  const oldest = await store.oldestResourceVersion();
  // 19 digits each: the order of texts is the order of numbers.
  if (version >= oldest) throw notOwn(version);
  if (!answersNow)
    throw new GatewayError('EXPIRED', `too old resource version: ${version} (${oldest}); list again without it`);
}
