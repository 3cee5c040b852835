// Puts the index together: the store, the sync that follows members into it, the rights, and the answers. Who a caller
// is and what it may do comes from the gateway as functions (authorizer, outgoing identity); nothing here decides it
// again.
import type { Authorizer } from '../auth/rules/authorize.ts';
import type { ClusterRecord, ClusterSpec, IdentityMode } from '../cache/model/records.ts';
import type { ClusterStore } from '../cache/model/store.ts';
import type { User } from '../cache/model/user.ts';
import type { OpenStreams } from '../routing/forward/open-streams.ts';
import type { Connections } from '../routing/members/target.ts';
import type { AnswerDependencies } from './api/answer-dependencies.ts';
import { makeCatalogReader } from './api/catalog.ts';
import { answerIndexRequest } from './api/chain.ts';
import { makeReadDocument } from './api/documents/openapi-members.ts';
import { makeUnionOpenapi } from './api/documents/openapi-union.ts';
import type { IndexRequest, StatusJson } from './api/request.ts';
import { makeMemberReviews } from './member-reviews.ts';
import { openStore, type OpenedStore, type StoreOptions } from './opened-store.ts';
import type { RightsChoice } from './rights/modes.ts';
import type { SampleResult } from './rights/samples.ts';
import { makeScopes } from './rights/scopes.ts';
import type { OpenScopes } from './rights/scopes.ts';
import type { DatabaseStatus } from './stores/postgres/store.ts';
import type { IndexStore, StoredType } from './stores/store.ts';
import { makeStoredTypes } from './stores/stored-types.ts';
import { makeAsks } from './sync/ask-member.ts';
import { indexIdentityOf, type IndexIdentity } from './sync/index-identity.ts';
import { makeReader } from './sync/read-as.ts';
import { chooseTypes, makeSelection, namedResources } from './sync/discover/selection.ts';
import type { Selection } from './sync/discover/selection.ts';
import { makeSettled } from './sync/settled.ts';
import { startSharedSync } from './sync/shared-sync.ts';
import { startSync } from './sync/sync.ts';
import type { ClusterState, SyncHandle, SyncTiming } from './sync/sync-types.ts';
import { localSyncView } from './sync/sync-view.ts';
import type { SyncView } from './sync/sync-view.ts';
import { typeKey } from './types.ts';
import type { Incarnation } from './types.ts';
import { makeChangeFeed } from './watch/feed.ts';
import { makeIssuedRights } from './watch/issued-rights.ts';

/** What the index is made of. */
export interface IndexOptions extends StoreOptions {
  /** Undefined: the common kinds. */
  readonly resources: readonly string[] | undefined;
  /** Names or a label selector; undefined: all. */
  readonly clusters: string | undefined;
  readonly rightsMaxAgeMs: number;
  /** Who decides what is seen of clusters without a label that says it; `auto` unless said otherwise. */
  readonly rights?: RightsChoice | undefined;
  readonly records: ClusterStore;
  /** Resolves once every source of clusters was read. */
  readonly areClustersKnown: Promise<void>;
  readonly connections: Connections;
  /** As whom requests of callers go out. */
  readonly identity: IdentityMode;
  /** `--index-identity`; `auto` unless said otherwise. */
  readonly readAs?: IndexIdentity | undefined;
  readonly authorizer: Authorizer;
  readonly outgoing: (user: User, cluster: ClusterSpec) => User;
  /** Another number whenever `outgoing` may answer otherwise; absent: at any time. */
  readonly outgoingGeneration?: () => number;
  readonly openStreams: OpenStreams;
  readonly bookmarkIntervalMs: number;
  readonly statusJson: StatusJson;
  /** `version.Info` of the gateway. */
  readonly version: () => object;
  readonly timing?: Partial<SyncTiming>;
  /** By what the index's own times are shortened for a test; 1 otherwise. */
  readonly timeScale: number;
}

/** An index that runs. */
export interface Index {
  /** Answers one request; resolves when the exchange is over. @throws GatewayError (rejects) while nothing was sent */
  answer(request: IndexRequest): Promise<void>;
  state(): readonly ClusterState[];
  /**
   * Called when clusters, types, phases or faults changed; progress alone does not count. Returns the way to end it.
   */
  onChange(listener: () => void): () => void;
  /** Resolves once each cluster was read for the first time or has a fault, or after a few seconds. */
  settled(): Promise<void>;
  /** Open watches. */
  readonly watchers: number;
  /** How its database stands; undefined for SQLite. */
  readonly database?: (() => DatabaseStatus) | undefined;
  /** Decisions that were compared with the member's own since the start. */
  rightsSamples(): readonly RightsSamples[];
  close(): Promise<void>;
}

/** See {@link Index.rightsSamples}. */
export interface RightsSamples {
  readonly cluster: string;
  readonly result: SampleResult;
  readonly count: number;
}

/** A hub's kube-apiserver cuts what it takes for a short request after 60 s. */
const aggregatedWatchMs = 50_000;
/** What changes rights without an event (authorizer, reviews, ages) is looked at so often for watches. */
const rightsPollMs = 8_000;

/**
 * Starts it. @throws GatewayError (rejects) INDEX_UNAVAILABLE, Error with the system's code, or Error for a selection
 * that cannot be read
 */
export async function startIndex(options: IndexOptions): Promise<Index> {
  const selection = makeSelection(options.resources, options.clusters);
  const opened = await openStore(options);
  const { store, continueKeys } = opened;
  const closers: (() => void | Promise<void>)[] = [() => store.close()];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).toReversed()) await end();
  };
  try {
    const following = await follow(options, opened, selection);
    closers.push(() => following.close());
    const sync = localSyncView(following);
    const samples = new Map<string, RightsSamples>();
    const rights = openRights(options, opened, sync, samples);
    closers.push(() => rights.close());
    const feed = makeChangeFeed(store);
    closers.push(() => feed.close());
    const closed = new AbortController();
    closers.push(() => closed.abort());
    const running = { store, selection, sync, rights, feed, continueKeys, closed: closed.signal };
    const dependencies = answerDependencies(options, running);
    return {
      answer: (request) => answerIndexRequest(request, dependencies),
      state: () => sync.state(),
      onChange: (listener) => sync.onChange(listener),
      settled: dependencies.settled,
      database: opened.database,
      rightsSamples: () => [...samples.values()],
      get watchers() {
        return feed.size;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Follows the members, or learns how the process that writes the index does. */
async function follow(
  options: IndexOptions,
  { store, writing }: OpenedStore,
  selection: Selection,
): Promise<SyncHandle> {
  const start = (): Promise<SyncHandle> => followClusters(options, store, selection);
  const { peers, postgres, log, onBroken } = options;
  if (peers === undefined || postgres !== undefined) return await start();
  return await startSharedSync({
    peers,
    writing,
    start,
    onBroken: (error) => {
      log.error({ err: error }, 'index: members cannot be followed');
      onBroken();
    },
  });
}

function followClusters(
  { records, areClustersKnown, connections, identity, readAs, log, timing }: IndexOptions,
  store: IndexStore,
  selection: Selection,
): Promise<SyncHandle> {
  return startSync({
    clusters: records,
    areClustersKnown,
    asksOf: ({ uid }) => makeAsks(() => records.getByUid(uid), connections, indexIdentityOf(identity, readAs)),
    store,
    selection,
    log,
    ...(timing === undefined ? {} : { timing }),
  });
}

/** @param samples counts are kept here, for metrics */
function openRights(
  options: IndexOptions,
  { store, modeMemory }: OpenedStore,
  sync: SyncView,
  samples: Map<string, RightsSamples>,
): OpenScopes {
  const { records, connections, identity, log } = options;
  return makeScopes({
    store,
    ...(options.rights === undefined ? {} : { choice: options.rights }),
    confirmedAtMs: (incarnation, type) => sync.confirmedAtMs(incarnation, type),
    memory: modeMemory,
    onSample: (cluster, result) => {
      const key = JSON.stringify([cluster, result]);
      samples.set(key, { cluster, result, count: (samples.get(key)?.count ?? 0) + 1 });
    },
    clusters: records,
    authorizer: options.authorizer,
    outgoing: (user, cluster) => (identity === 'self' ? 'self' : options.outgoing(user, cluster)),
    ...(options.outgoingGeneration === undefined ? {} : { outgoingGeneration: options.outgoingGeneration }),
    maxAgeMs: options.rightsMaxAgeMs,
    reviews: makeMemberReviews(connections, indexIdentityOf(identity, options.readAs)),
    onModeChange: ({ cluster, mode, why, message }) => {
      const fields = { cluster, mode, why };
      if (why === 'mismatch') log.error(fields, `index: ${message}`);
      else log.info(fields, `index: ${message}`);
    },
    onError: (error) => log.error({ err: error }, 'index: rights could not be read'),
  });
}

/** What answers are made of, running. */
interface RunningParts extends Pick<AnswerDependencies, 'store' | 'rights' | 'feed' | 'continueKeys'> {
  readonly selection: Selection;
  readonly sync: SyncView;
  /** Aborted when the index ends. */
  readonly closed: AbortSignal;
}

function answerDependencies(
  options: IndexOptions,
  { selection, closed, ...running }: RunningParts,
): AnswerDependencies {
  const { records, connections, log } = options;
  const { store, sync } = running;
  const readAs = indexIdentityOf(options.identity, options.readAs);
  const recordOf = ({ id }: Incarnation): ClusterRecord | undefined =>
    records.getByUid(id.slice(0, id.lastIndexOf('/')));
  const isChosen = ({ incarnation, type }: StoredType): boolean => {
    const record = recordOf(incarnation);
    const choice = record === undefined ? undefined : selection(record.spec);
    if (choice === undefined) return false;
    return chooseTypes(new Map([[typeKey(type), type]]), choice).chosen.some((chosen) => chosen.isChosen);
  };
  return {
    ...running,
    catalog: makeCatalogReader({ types: makeStoredTypes(store), sync, isChosen }),
    chosen: namedResources(options.resources),
    settled: makeSettled(sync, performance.now(), closed),
    openapi: makeUnionOpenapi(
      makeReadDocument((incarnation) => makeReader(makeAsks(() => recordOf(incarnation), connections, readAs)).ask),
      (incarnation) => recordOf(incarnation)?.status.version ?? '',
    ),
    issuedRights: makeIssuedRights(store),
    openStreams: options.openStreams,
    bookmarkIntervalMs: options.bookmarkIntervalMs,
    rightsPollMs,
    aggregatedWatchMs: aggregatedWatchMs * options.timeScale,
    statusJson: options.statusJson,
    version: options.version,
    onError: (error) => log.error({ err: error }, 'index: an answer failed'),
    now: Date.now,
  };
}
