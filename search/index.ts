// Assembles the index: the store, the sync that lists and watches clusters and writes their objects into it, the
// rights, and the answers. Who a caller is and what they may do is decided by functions of the gateway (authorizer,
// outgoing identity), never here.
import type { Authorizer } from '../auth/rules/authorize.ts';
import type { ClusterRecord, ClusterSpec, IdentityMode } from '../model/records.ts';
import type { ClusterStore } from '../model/store.ts';
import type { User } from '../model/user.ts';
import type { OpenStreams } from '../routing/forward/open-streams.ts';
import type { Connections } from '../routing/members/target.ts';
import type { AnswerDependencies } from './api/answer-dependencies.ts';
import { makeCatalogReader } from './catalog/catalog.ts';
import type { CollectionDefinition } from './collections/definitions.ts';
import { answerIndexRequest } from './chain/chain.ts';
import { makeReadDocument } from './catalog/openapi-members.ts';
import { makeOpenapiDocuments } from './catalog/openapi-documents.ts';
import { ownerOf, type NamedObject } from './kinds/owner.ts';
import type { IndexRequest, StatusJson } from './request/request.ts';
import { makeMemberReviews } from './member-reviews.ts';
import { makeOperations } from './operate/operations.ts';
import { followRequests } from './operate/rebuild-requests.ts';
import { openStore, type OpenedStore, type StoreOptions } from './opened-store.ts';
import type { RightsChoice } from '../rights/modes.ts';
import type { SampleResult } from '../rights/samples.ts';
import { makeScopes } from '../rights/scopes.ts';
import type { OpenScopes } from '../rights/scopes.ts';
import type { Leases } from '../store/leases.ts';
import type { DatabaseStatus } from '../store/postgres/store.ts';
import type { IndexStore, StoredType } from '../store/store.ts';
import { makeStoredTypes, type StoredTypes } from '../store/stored-types.ts';
import { makeAsks } from '../sync/ask-member.ts';
import { indexIdentityOf, type IndexIdentity } from '../sync/index-identity.ts';
import { makeReader } from '../sync/member/read-as.ts';
import { isServedAsKept, makeSelection, namedResources } from '../sync/discover/selection.ts';
import type { IndexRule, Selection } from '../sync/discover/selection.ts';
import { rowsGone } from '../sync/rows-gone.ts';
import { makeSettled } from '../sync/settled.ts';
import { startSharedSync } from '../sync/shared/shared-sync.ts';
import { startShardedSync, type ShardedSync } from '../sync/shards/sharded-sync.ts';
import { startSync } from '../sync/sync.ts';
import type { ClusterState, SyncHandle, SyncTiming } from '../sync/member/sync-types.ts';
import { localSyncView } from '../sync/sync-view.ts';
import type { SyncView } from '../sync/sync-view.ts';
import { recordUidOf, type Incarnation } from '../query/types.ts';
import { makeChangeFeed } from './watch/feed.ts';
import { makeIssuedRights } from './watch/issued-rights.ts';

/** The settings of an index, and the parts of the gateway that it uses. */
export interface IndexOptions extends StoreOptions {
  /** Types to index, such as `pods` or `deployments.apps`. Undefined: the default resources. */
  readonly resources: readonly string[] | undefined;
  /** Names of clusters or a label selector. Undefined: all clusters. */
  readonly clusters: string | undefined;
  /** Rules that limit which objects are indexed, of all clusters or of some. */
  readonly rules?: readonly IndexRule[] | undefined;
  /**
   * Returns the collections that administrators define besides the built-in ones; they may change at any time. Absent:
   * there are none.
   */
  readonly collections?: (() => readonly CollectionDefinition[]) | undefined;
  /** `--index-allow-where-sql`, by default false. */
  readonly allowsWhereSql?: boolean | undefined;
  readonly rightsMaxAgeMs: number;
  /** `--index-rights`, by default `auto`. The label `search.portcullis.io/rights` of a cluster overrides it. */
  readonly rights?: RightsChoice | undefined;
  readonly records: ClusterStore;
  /** Resolves once every source of clusters was read. */
  readonly areClustersKnown: Promise<void>;
  readonly connections: Connections;
  /** The identity with which the gateway sends callers' requests to clusters. */
  readonly identity: IdentityMode;
  /** `--index-identity`: the identity with which the index itself reads clusters; `auto` by default. */
  readonly readAs?: IndexIdentity | undefined;
  readonly authorizer: Authorizer;
  readonly outgoing: (user: User, cluster: ClusterSpec) => User;
  /** Returns a number that changes whenever results of `outgoing` may change. When absent, no result is cached. */
  readonly outgoingGeneration?: () => number;
  readonly openStreams: OpenStreams;
  readonly bookmarkIntervalMs: number;
  readonly statusJson: StatusJson;
  /** Gives the gateway's `version.Info` for `/version`. */
  readonly version: () => object;
  readonly timing?: Partial<SyncTiming>;
  /** Factor for the index's own time limits; below 1 in tests, otherwise 1. */
  readonly timeScale: number;
}

/** A running index: answers requests, and reports the state of the clusters in it. */
export interface Index {
  /**
   * Answers one request. Resolves when the answer was sent or broken off.
   * @throws GatewayError (rejects) only before anything was sent
   */
  answer(request: IndexRequest): Promise<void>;
  /**
   * Returns the name of the only cluster from which this user may get the object.
   * @throws GatewayError (rejects) as {@link ownerOf}
   */
  owner(user: User, object: NamedObject): Promise<string>;
  state(): readonly ClusterState[];
  /**
   * Calls the listener when clusters, types, phases or faults have changed, but not when only more rows were read.
   * Returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void;
  /** Resolves once the first lists of each cluster are complete or have a fault, or after a few seconds. */
  settled(): Promise<void>;
  /** Resolves when no rows are left of clusters that had this name and are no longer indexed. */
  rowsGone(cluster: string): Promise<void>;
  /** Number of open watches. */
  readonly watchers: number;
  /**
   * Returns the number of shards (groups of clusters) whose clusters this process reads; undefined for SQLite, where
   * one process reads all clusters.
   */
  readonly shards?: (() => number) | undefined;
  /** Returns the state of the PostgreSQL database; undefined for SQLite. */
  readonly database?: (() => DatabaseStatus) | undefined;
  /** Returns how many decisions about rights were compared with the clusters' own answers, by cluster and result. */
  rightsSamples(): readonly RightsSamples[];
  close(): Promise<void>;
}

/** The number of comparisons of copied RBAC with one cluster's own answers that had the same result. */
export interface RightsSamples {
  readonly cluster: string;
  readonly result: SampleResult;
  readonly count: number;
}

/**
 * Milliseconds after which a watch through a hub's aggregation layer ends: the hub's kube-apiserver cuts every request
 * after 60 s that it does not recognise as a watch.
 */
const aggregatedWatchMs = 50_000;
/**
 * Milliseconds after which a watch checks rights again. No event reports that the authorizer decides otherwise, that a
 * cluster answers access reviews otherwise, or that its copied RBAC has become too old.
 */
const rightsPollMs = 8_000;

/**
 * Starts the index.
 * @throws GatewayError (rejects) with code INDEX_UNAVAILABLE; Error with the system's code when the folder cannot be
 *   used; Error when the selection of types or clusters is not valid
 */
export async function startIndex(options: IndexOptions): Promise<Index> {
  const selection = makeSelection(options.resources, options.clusters, options.rules);
  const opened = await openStore(options);
  const { store, continueKeys } = opened;
  const closers: (() => void | Promise<void>)[] = [() => store.close()];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).toReversed()) await end();
  };
  try {
    const following = await follow(options, opened, selection);
    closers.push(() => following.close());
    closers.push(
      followRequests(opened.rebuilds, following, (error) => {
        options.log.warn({ err: error }, 'index: a cluster could not be dropped yet to be read anew');
      }),
    );
    const sync = localSyncView(following);
    const samples = new Map<string, RightsSamples>();
    const now = (): number => following.now?.() ?? Date.now();
    const types = makeStoredTypes(store);
    const rights = openRights(options, opened, { sync, now, types }, samples);
    closers.push(() => rights.close());
    const feed = makeChangeFeed(store);
    closers.push(() => feed.close());
    const closed = new AbortController();
    closers.push(() => closed.abort());
    const operations = makeOperations({
      state: () => sync.state(),
      requests: opened.rebuilds,
      leases: opened.leases,
      database: opened.database,
    });
    const answering = { store, types, selection, sync, now, rights, feed, continueKeys, operations };
    const running = { ...answering, closed: closed.signal };
    const dependencies = answerDependencies(options, running);
    return {
      answer: (request) => answerIndexRequest(request, dependencies),
      owner: (user, object) => ownerOf(user, object, dependencies),
      state: () => sync.state(),
      onChange: (listener) => sync.onChange(listener),
      settled: dependencies.settled,
      rowsGone: (cluster) =>
        rowsGone(cluster, {
          types,
          isRegistered: (incarnation) => recordOf(options.records, incarnation) !== undefined,
          closed: closed.signal,
        }),
      shards: following.shards === undefined ? undefined : () => following.shards!,
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

/**
 * Lists and watches the member clusters, and copies their objects into the index. When another process of this gateway
 * writes the index, gets the state of the clusters from that process instead.
 */
async function follow(
  options: IndexOptions,
  { store, leases, writing }: OpenedStore,
  selection: Selection,
): Promise<Following> {
  const start = (): Promise<Following> => followClusters(options, store, leases, selection);
  const { peers, postgres, log, onBroken } = options;
  if (peers === undefined || postgres !== undefined) return await start();
  return await startSharedSync({
    peers,
    writing,
    start,
    onBroken: (error) => {
      log.error({ err: error }, 'index: the clusters cannot be listed and watched');
      onBroken();
    },
  });
}

/**
 * What `follow` returns. `now` and `shards` are present only with PostgreSQL; without `now`, this process's clock is
 * used.
 */
type Following = SyncHandle & Partial<Pick<ShardedSync, 'now' | 'shards'>>;

function followClusters(
  { records, areClustersKnown, connections, identity, readAs, log, timing }: IndexOptions,
  store: IndexStore,
  leases: Leases | undefined,
  selection: Selection,
): Promise<Following> {
  const settings = {
    clusters: records,
    areClustersKnown,
    asksOf: ({ uid }: ClusterSpec) =>
      makeAsks(() => records.getByUid(uid), connections, indexIdentityOf(identity, readAs)),
    selection,
    log,
    ...(timing === undefined ? {} : { timing }),
  };
  return leases === undefined ? startSync({ ...settings, store }) : startShardedSync({ ...settings, store, leases });
}

/** The record of a cluster that the index has rows of; undefined when the cluster is no longer registered. */
function recordOf(records: Pick<ClusterStore, 'getByUid'>, { id }: Incarnation): ClusterRecord | undefined {
  return records.getByUid(recordUidOf(id));
}

/**
 * Makes the functions that decide which rows a user may see. @param samples results of comparisons are counted here,
 * for metrics
 */
function openRights(
  options: IndexOptions,
  { store, modeMemory }: OpenedStore,
  { sync, now, types }: Pick<RunningParts, 'sync' | 'now' | 'types'>,
  samples: Map<string, RightsSamples>,
): OpenScopes {
  const { records, connections, identity, log } = options;
  return makeScopes({
    store,
    types,
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
    now,
    reviews: makeMemberReviews(connections, indexIdentityOf(identity, options.readAs)),
    onModeChange: ({ cluster, mode, why, message }) => {
      const fields = { cluster, mode, why };
      if (why === 'mismatch') log.error(fields, `index: ${message}`);
      else log.info(fields, `index: ${message}`);
    },
    onError: (error) => log.error({ err: error }, 'index: rights could not be read'),
  });
}

/** The running parts from which requests are answered. */
interface RunningParts extends Pick<
  AnswerDependencies,
  'store' | 'rights' | 'feed' | 'continueKeys' | 'now' | 'operations'
> {
  readonly types: StoredTypes;
  readonly selection: Selection;
  readonly sync: SyncView;
  /** Aborted when the index is closed. */
  readonly closed: AbortSignal;
}

function answerDependencies(
  options: IndexOptions,
  { types, selection, closed, ...running }: RunningParts,
): AnswerDependencies {
  const { records, connections, log } = options;
  const { store, sync } = running;
  const readAs = indexIdentityOf(options.identity, options.readAs);
  const isChosen = ({ incarnation, type }: StoredType): boolean => {
    const record = recordOf(records, incarnation);
    const choice = record === undefined ? undefined : selection(record.spec);
    if (choice === undefined) return false;
    return isServedAsKept(type, choice);
  };
  return {
    ...running,
    catalog: makeCatalogReader({ types, sync, isChosen }),
    chosen: namedResources(options.resources),
    collections: options.collections ?? (() => []),
    allowsWhereSql: options.allowsWhereSql ?? false,
    settled: makeSettled(sync, performance.now(), closed),
    openapi: makeOpenapiDocuments(
      makeReadDocument(
        (incarnation) => makeReader(makeAsks(() => recordOf(records, incarnation), connections, readAs)).ask,
      ),
      (incarnation) => recordOf(records, incarnation)?.status.version ?? '',
    ),
    issuedRights: makeIssuedRights(store),
    openStreams: options.openStreams,
    bookmarkIntervalMs: options.bookmarkIntervalMs,
    rightsPollMs,
    aggregatedWatchMs: aggregatedWatchMs * options.timeScale,
    statusJson: options.statusJson,
    version: options.version,
    onError: (error) => log.error({ err: error }, 'index: an answer failed'),
  };
}
