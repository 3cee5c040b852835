// The `clusters` API: get, list and watch of what the gateway knows, as objects, Tables or metadata only. Easy to get wrong: a watch must
// hand over from the list to later events without a gap, so both come from the one synchronous read of the store.
import { GatewayError } from '../cache/errors.ts';
import type { ClusterRecord, IdentityMode } from '../cache/records.ts';
import type { ClusterEvent, ClusterStore } from '../cache/store.ts';
import type { OpenStream, OpenStreams } from '../routing/open-streams.ts';
import { acceptedForm } from './accept.ts';
import type { AcceptedForm } from './accept.ts';
import { clusterCells, clusterColumns, clusterMetadata, clusterObject } from './cluster-object.ts';
import type { Authorized } from './exchange.ts';
import { queryFlag, queryValue } from './request-info.ts';
import { gatewayGroup, gatewayVersion } from './routes.ts';
import { labelMatcher, nameMatcher } from './selectors.ts';
import { jsonResponse } from './status.ts';
import type { CompleteResponse } from './status.ts';

/** What the API needs of the rest. */
export interface ClustersApi {
  readonly store: ClusterStore;
  readonly identity: IdentityMode;
  readonly openStreams: OpenStreams;
  /** Bookmark interval; kube-apiserver sends one about every minute. */
  readonly bookmarkIntervalMs: number;
}

type Matcher = (record: ClusterRecord) => boolean;
/** A watcher that leaves more than this unread is cut off, as kube-apiserver does; it lists again when it is back. */
const maxUnreadBytes = 4 * 1024 * 1024;
/** A timer cannot be longer than 24.8 days. */
const longestWatchSeconds = 2_000_000;
const metaGroup = 'meta.k8s.io/v1';

/** Answers get and list. */
export function answerClusters(state: Authorized, name: string | undefined, api: ClustersApi): CompleteResponse {
  if (state.inbound.method !== 'GET' && state.inbound.method !== 'HEAD') {
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      'clusters come from the sources of the gateway; here they can be read only',
      {
        kind: 'clusters',
        group: gatewayGroup,
      },
    );
  }
  const { as } = acceptedForm(state.inbound.headers, [
    'Table',
    '',
    'PartialObjectMetadata',
    'PartialObjectMetadataList',
  ]);
  if (name !== undefined) {
    const record = api.store.get(name);
    if (record === undefined) {
      throw new GatewayError('NOT_FOUND', `clusters.${gatewayGroup} "${name}" not found`, {
        kind: 'clusters',
        group: gatewayGroup,
        name,
      });
    }
    if (as === 'Table') return jsonResponse(table([record], record.resourceVersion, state, api), state.auditId);
    return jsonResponse(as === '' ? clusterObject(record, api.identity) : partial(record), state.auditId);
  }
  const resourceVersion = api.store.resourceVersion;
  const records = api.store.list().filter(matcherOf(state));
  if (as === 'Table') return jsonResponse(table(records, resourceVersion, state, api), state.auditId);
  const metadata = { resourceVersion };
  if (as === '') {
    const items = records.map((record) => clusterObject(record, api.identity));
    return jsonResponse(
      { apiVersion: `${gatewayGroup}/${gatewayVersion}`, kind: 'ClusterList', metadata, items },
      state.auditId,
    );
  }
  return jsonResponse(
    { apiVersion: metaGroup, kind: 'PartialObjectMetadataList', metadata, items: records.map(partial) },
    state.auditId,
  );
}

function matcherOf(state: Authorized): Matcher {
  const labels = labelMatcher(queryValue(state.target.query, 'labelSelector') ?? '');
  const names = nameMatcher(queryValue(state.target.query, 'fieldSelector') ?? '');
  return ({ spec }) => labels(spec.labels) && names(spec.name);
}

function partial(record: ClusterRecord): object {
  return { apiVersion: metaGroup, kind: 'PartialObjectMetadata', metadata: clusterMetadata(record) };
}

function table(
  records: readonly ClusterRecord[],
  resourceVersion: string,
  state: Authorized,
  api: ClustersApi,
  columns = true,
): object {
  const include = queryValue(state.target.query, 'includeObject') ?? 'Metadata';
  const nowMs = Date.now();
  return {
    kind: 'Table',
    apiVersion: metaGroup,
    metadata: { resourceVersion },
    columnDefinitions: columns ? clusterColumns : null,
    rows: records.map((record) => ({
      cells: clusterCells(record, api.identity, nowMs),
      ...(include === 'None'
        ? {}
        : { object: include === 'Object' ? clusterObject(record, api.identity) : partial(record) }),
    })),
  };
}

/** Answers watch; resolves when it ends. */
export function watchClusters(state: Authorized, api: ClustersApi): Promise<void> {
  const { query } = state.target;
  if (state.inbound.method !== 'GET') throw new GatewayError('METHOD_NOT_ALLOWED', 'a watch is asked for by GET');
  const { as } = acceptedForm(state.inbound.headers, ['Table', '', 'PartialObjectMetadata']);
  const matches = matcherOf(state);
  const initial = queryFlag(query, 'sendInitialEvents');
  if (initial && queryValue(query, 'resourceVersionMatch') !== 'NotOlderThan') {
    throw new GatewayError('INVALID', 'sendInitialEvents needs resourceVersionMatch=NotOlderThan');
  }
  if (initial && !queryFlag(query, 'allowWatchBookmarks')) {
    throw new GatewayError('INVALID', 'sendInitialEvents needs allowWatchBookmarks=true');
  }
  const bookmarks = queryFlag(query, 'allowWatchBookmarks');
  const from = queryValue(query, 'resourceVersion') ?? '';
  const past = initial || from === '' || from === '0' ? undefined : api.store.eventsSince(from);
  if (past === 'expired') throw new GatewayError('EXPIRED', `too old resource version: ${from}`);
  const timeoutSeconds = Math.min(Number(queryValue(query, 'timeoutSeconds') ?? 0), longestWatchSeconds);

  const { inbound, auditId, progress } = state;
  const { promise, resolve } = Promise.withResolvers<void>();
  let first = true;
  let unreadBytes = 0;
  const shown = new Set<string>();
  const send = (type: string, object: object): void => {
    const line = Buffer.from(`${JSON.stringify({ type, object })}\n`);
    progress.bytesOut += line.length;
    unreadBytes = inbound.write(line) ? 0 : unreadBytes + line.length;
    if (unreadBytes > maxUnreadBytes) inbound.abort();
  };
  inbound.onDrain(() => (unreadBytes = 0));
  const objectOf = (record: ClusterRecord): object => {
    if (as === '') return clusterObject(record, api.identity);
    if (as !== 'Table') return partial(record);
    const rows = table([record], record.resourceVersion, state, api, first);
    first = false;
    return rows;
  };
  // An object that leaves the selector is DELETED for this watcher, one that enters it is ADDED.
  const sendEvent = ({ type, record }: ClusterEvent): void => {
    const { uid } = record.spec;
    if (type === 'DELETED' || !matches(record)) {
      if (shown.delete(uid)) send('DELETED', objectOf(record));
    } else {
      send(shown.has(uid) ? 'MODIFIED' : 'ADDED', objectOf(record));
      shown.add(uid);
    }
  };
  const bookmark = (annotations?: Record<string, string>): void => {
    const metadata = {
      resourceVersion: api.store.resourceVersion,
      creationTimestamp: null,
      ...(annotations && { annotations }),
    };
    send('BOOKMARK', bookmarkObject(as, metadata));
  };

  progress.status = 200;
  inbound.respond(
    200,
    ['Content-Type', 'application/json', 'Cache-Control', 'no-cache, private', 'Audit-Id', auditId],
    false,
  );
  if (past === undefined) for (const record of api.store.list()) sendEvent({ type: 'ADDED', record });
  else {
    for (const record of api.store.list()) if (matches(record)) shown.add(record.spec.uid);
    for (const event of past) if (event.type === 'ADDED') shown.delete(event.record.spec.uid);
    for (const event of past) {
      if (event.type === 'DELETED' && matches(event.record)) shown.add(event.record.spec.uid);
      sendEvent(event);
    }
  }
  if (initial) bookmark({ 'k8s.io/initial-events-end': 'true' });

  const unsubscribe = api.store.subscribe(sendEvent);
  const ticking = bookmarks ? setInterval(bookmark, api.bookmarkIntervalMs) : undefined;
  const ending = timeoutSeconds > 0 ? setTimeout(() => finish(), timeoutSeconds * 1000) : undefined;
  const open: OpenStream = {
    kind: 'watch',
    clusterName: '',
    clusterUid: '',
    endAtBoundary: () => {
      finish();
      return true;
    },
    abort: () => finish(),
  };
  api.openStreams.add(open);
  const finish = (): void => {
    unsubscribe();
    clearInterval(ticking);
    clearTimeout(ending);
    api.openStreams.delete(open);
    inbound.end();
    resolve();
  };
  inbound.onClose(finish);
  return promise;
}

function bookmarkObject(as: AcceptedForm['as'], metadata: object): object {
  if (as === '') return { apiVersion: `${gatewayGroup}/${gatewayVersion}`, kind: 'Cluster', metadata };
  if (as === 'Table')
    return {
      kind: 'Table',
      apiVersion: metaGroup,
      metadata,
      columnDefinitions: null,
      rows: [{ cells: [], object: { kind: 'PartialObjectMetadata', apiVersion: metaGroup, metadata } }],
    };
  return { apiVersion: metaGroup, kind: 'PartialObjectMetadata', metadata };
}
