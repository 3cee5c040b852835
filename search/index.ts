// Puts the index together: the store, the sync that follows members into it, the rights, and the answers. Who a caller
// is and what it may do comes from the gateway as functions (authorizer, outgoing identity); nothing here decides it
// again.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
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
import { readContinueKeys } from './continue-keys.ts';
import { makeMemberReviews } from './member-reviews.ts';
import { makeModeFile } from './rights/mode-file.ts';
import type { RightsChoice } from './rights/modes.ts';
import type { SampleResult } from './rights/samples.ts';
import { makeScopes } from './rights/scopes.ts';
import type { OpenScopes } from './rights/scopes.ts';
import type { IndexStore, StoredType } from './stores/store.ts';
import { openSqliteStore } from './stores/sqlite/store.ts';
import { makeAsks } from './sync/ask-member.ts';
import { indexIdentityOf, type IndexIdentity } from './sync/index-identity.ts';
import { makeReader } from './sync/read-as.ts';
import { chooseTypes, makeSelection, namedResources } from './sync/discover/selection.ts';
import type { Selection } from './sync/discover/selection.ts';
import { makeSettled } from './sync/settled.ts';
import { startSync } from './sync/sync.ts';
import type { ClusterState, SyncHandle, SyncTiming } from './sync/sync-types.ts';
import { typeKey } from './types.ts';
import type { Incarnation } from './types.ts';
import { makeChangeFeed } from './watch/feed.ts';
import { makeIssuedRights } from './watch/issued-rights.ts';

/** As much of a log as the index writes to. */
export interface IndexLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What the index is made of. */
export interface IndexOptions {
  /** Folder that is the index's alone; made when it is not there. */
  readonly folder: string;
  /** Undefined: the common kinds. */
  readonly resources: readonly string[] | undefined;
  /** Names or a label selector; undefined: all. */
  readonly clusters: string | undefined;
  /** Infinity for no limit. */
  readonly maxBytes: number;
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
  readonly openStreams: OpenStreams;
  readonly bookmarkIntervalMs: number;
  readonly statusJson: StatusJson;
  /** `version.Info` of the gateway. */
  readonly version: () => object;
  readonly log: IndexLog;
  /**
   * The store cannot go on: close this index and start another. May be called several times, and
   * before this one has started.
   */
  readonly onBroken: () => void;
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
  /** Resolves when no rows are left of clusters that had this name and are no longer indexed. */
  rowsGone(cluster: string): Promise<void>;
  /** Open watches. */
  readonly watchers: number;
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
  const { folder } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const selection = makeSelection(options.resources, options.clusters);
  const store = await openStore(options);
  const closers: (() => void | Promise<void>)[] = [() => store.close()];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).toReversed()) await end();
  };
  try {
    const continueKeys = readContinueKeys(folder);
    const sync = await followClusters(options, store, selection);
    closers.push(() => sync.close());
    const samples = new Map<string, RightsSamples>();
    const rights = openRights(options, store, sync, samples);
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
      rowsGone: (cluster) => sync.rowsGone(cluster),
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

function openStore({ folder, maxBytes, log, onBroken }: IndexOptions): Promise<IndexStore> {
  return openSqliteStore({
    directory: join(folder, 'sqlite'),
    ...(maxBytes === Infinity ? {} : { maxBytes }),
    onDamage: (message) => log.error({}, `index: ${message}`),
    onBroken,
    onStopped: (types) => {
      if (types.length > 0)
        log.warn({ types }, 'index: it is as large as it may be; these types are not followed further');
      else log.info({}, 'index: there is room again');
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
  store: IndexStore,
  sync: SyncHandle,
  samples: Map<string, RightsSamples>,
): OpenScopes {
  const { folder, records, connections, identity, log } = options;
  return makeScopes({
    store,
    ...(options.rights === undefined ? {} : { choice: options.rights }),
    confirmedAtMs: (incarnation, type) => sync.confirmedAtMs(incarnation, type),
    memory: makeModeFile(join(folder, 'rights.json'), (error) =>
      log.error({ err: error }, 'index: what clusters said of their authorizers could not be kept'),
    ),
    onSample: (cluster, result) => {
      const key = JSON.stringify([cluster, result]);
      samples.set(key, { cluster, result, count: (samples.get(key)?.count ?? 0) + 1 });
    },
    clusters: records,
    authorizer: options.authorizer,
    outgoing: (user, cluster) => (identity === 'self' ? 'self' : options.outgoing(user, cluster)),
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
  readonly sync: SyncHandle;
  /** Aborted when the index ends. */
  readonly closed: AbortSignal;
}

function answerDependencies(
  options: IndexOptions,
  { selection, sync, closed, ...running }: RunningParts,
): AnswerDependencies {
  const { records, connections, log } = options;
  const { store } = running;
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
    catalog: makeCatalogReader({ store, states: () => sync.state(), isChosen }),
    chosen: namedResources(options.resources),
    states: () => sync.state(),
    statesOf: (types) => sync.stateOf(types),
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
