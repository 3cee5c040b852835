// Follows clusters together with other replicas that share the store. Each cluster is followed by one replica, and
// every replica answers with the states of all clusters.
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { ClusterSpec } from '../../model/records.ts';
import { recordUidOf, typeKey, type ResourceType, type TypeKey } from '../../query/types.ts';
import { choiceOf } from '../discover/selection.ts';
import type { ClusterState, PartState, SyncFault, SyncHandle } from '../member/sync-types.ts';
import { partOf } from './published-state.ts';
import { LeaseKeeper, type LeaseTiming } from './lease-keeper.ts';
import { ShardFollowers, type ShardFollowersOptions } from './shard-followers.ts';
import { PublishedStates, unknownToOwner, type Published } from './published-states.ts';
import { makeUnregistered } from './unregistered.ts';
import { Unpublished } from './unpublished.ts';

export interface ShardedSyncOptions extends Omit<ShardFollowersOptions, 'keeper' | 'onChange' | 'now'> {
  /** The share of the work that this replica takes, relative to other replicas; 1 by default. */
  readonly weight?: number;
  /** Name of this replica, set by tests. By default it is made from the host name and random digits at each start. */
  readonly replica?: string;
  readonly leaseTiming?: Partial<LeaseTiming>;
  /** How long a cluster must be unknown to all replicas before its rows are deleted, in milliseconds. */
  readonly forgetAfterMs?: number;
}

/**
 * Follows clusters together with other replicas, and knows the states of all clusters, whichever replica follows them.
 */
export interface ShardedSync extends SyncHandle {
  /**
   * The present time by the store's clock, in Unix milliseconds. Every replica notes `confirmedAtMs` by that clock, so
   * ages must be measured by it.
   */
  now(): number;
  /** The states of the clusters that this replica follows. */
  own(): readonly ClusterState[];
  /** The number of shards whose lease this replica holds. */
  readonly shards: number;
}

const publishEveryMs = 1_000;
/** Changes of state within this many milliseconds are published together. */
const gatherMs = 250;
const forgetAfterMs = 60_000;
const forgetEveryMs = 5_000;

/**
 * Starts to follow clusters together with other replicas. When it resolves, this replica has read the states that
 * others published, and does not follow any cluster itself yet.
 * @throws GatewayError (rejects) INDEX_UNAVAILABLE when the store does not answer
 */
export async function startShardedSync(options: ShardedSyncOptions): Promise<ShardedSync> {
  const sync = new FollowedTogether(options);
  try {
    await sync.start();
    return sync;
  } catch (error) {
    await sync.close();
    throw error;
  }
}

class FollowedTogether implements ShardedSync {
  readonly #options: ShardedSyncOptions;
  readonly #keeper: LeaseKeeper;
  readonly #followers: ShardFollowers;
  readonly #published: PublishedStates;
  readonly #unpublished: Unpublished;
  readonly #forgetUnregistered: () => Promise<void>;
  readonly #listeners = new Set<() => void>();
  readonly #unsubscribe: () => void;
  /** The clusters that are to be indexed, by the UID of the cluster record. */
  readonly #selected = new Map<string, ClusterSpec>();
  /**
   * The UIDs to send with heartbeats; undefined before all sources of clusters were read. A new array is made for each
   * change.
   */
  #uids: readonly string[] | undefined;
  #areKnown = false;
  #unfollowed = '';
  #timers: NodeJS.Timeout[] = [];
  #gathering: NodeJS.Timeout | undefined;
  #exchanging: Promise<void> = Promise.resolve();
  #waitsToExchange = false;
  #trouble: string | undefined;

  constructor(options: ShardedSyncOptions) {
    const { leases, clusters, areClustersKnown } = options;
    this.#options = options;
    this.#published = new PublishedStates(leases);
    this.#unpublished = new Unpublished({
      shardOf: (uid) => leases.shardOf(uid),
      publishedIn: (uid) => this.#published.of(uid)?.epoch,
      localMs: () => performance.now(),
    });
    this.#followers = new ShardFollowers({
      ...options,
      keeper: () => this.#keeper,
      onChange: () => this.#ownChanged(),
      now: () => this.#keeper.clock.atLeast(),
    });
    this.#keeper = this.#makeKeeper();
    this.#forgetUnregistered = this.#makeForgetting();
    this.#unsubscribe = clusters.subscribe(({ type, record }) => this.#consider(record.spec, type === 'DELETED'));
    for (const { spec } of clusters.list()) this.#consider(spec, false);
    void areClustersKnown.then(() => {
      this.#areKnown = true;
      this.#uids = [...this.#selected.keys()];
    });
  }

  #makeKeeper(): LeaseKeeper {
    const { leases, replica, weight = 1, leaseTiming } = this.#options;
    return new LeaseKeeper({
      leases,
      replica: replica ?? `${hostname()} ${randomBytes(6).toString('hex')}`,
      weight,
      uids: () => this.#uids,
      rates: () => this.#followers.rates(),
      onTake: (lease) => this.#followers.begin(lease),
      onDrop: (lease) => this.#followers.end(lease),
      onLook: () => this.#looked(),
      onTrouble: (error) => this.#note(error),
      timing: leaseTiming,
    });
  }

  #makeForgetting(): () => Promise<void> {
    const { store, leases, log } = this.#options;
    return makeUnregistered({
      store: {
        forget: (incarnation, type, lease) =>
          this.#followers.write(lease!, () => store.forget(incarnation, type, lease)),
      },
      leases,
      types: this.#followers.types,
      leaseOf: (shard) => this.#keeper.held.get(shard),
      onForgotten: (uids) => this.#published.forget(uids),
      missingMs: this.#options.forgetAfterMs ?? forgetAfterMs,
      localMs: () => performance.now(),
      log,
    });
  }

  async start(): Promise<void> {
    await this.#keeper.start();
    await this.#published.refresh();
    const forget = (): void => {
      this.#exchanging = this.#exchanging.then(() => this.#forgetUnregistered()).catch(() => undefined);
    };
    this.#timers = [setInterval(() => this.#exchange(), publishEveryMs), setInterval(forget, forgetEveryMs)];
  }

  now(): number {
    return this.#keeper.clock.atMost();
  }

  own(): readonly ClusterState[] {
    return this.#followers.states().map(({ state }) => state);
  }

  state(): readonly ClusterState[] {
    const own = this.own();
    const followed = new Set(own.map(({ uid }) => uid));
    const others = [...this.#selected.values()]
      .filter(({ uid }) => !followed.has(uid))
      .map((spec): ClusterState => {
        const published = this.#published.of(spec.uid);
        const fault = this.#faultOf(spec, published);
        if (published !== undefined) return { ...published.state, cluster: spec.name, fault };
        return { cluster: spec.name, uid: spec.uid, incarnation: undefined, fault, types: [], refused: [] };
      });
    return [...own, ...others].sort((one, other) => (one.cluster < other.cluster ? -1 : 1));
  }

  stateOf(types: ReadonlySet<TypeKey>): readonly PartState[] {
    const own = this.#followers.handles().flatMap((handle) => handle.stateOf(types));
    const others: PartState[] = [];
    for (const spec of this.#selected.values()) {
      if (this.#followers.of(this.#shardOf(spec.uid)) !== undefined) continue;
      const published = this.#published.of(spec.uid);
      const fault = this.#faultOf(spec, published);
      if (published === undefined) {
        others.push({ cluster: spec.name, incarnation: undefined, fault, types: [], hasTypes: false });
      } else {
        others.push({ ...partOf({ ...published, state: { ...published.state, fault } }, types), cluster: spec.name });
      }
    }
    return [...own, ...others];
  }

  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined {
    const uid = recordUidOf(incarnation);
    const own = this.#followers.of(this.#shardOf(uid))?.confirmedAtMs(incarnation, type);
    const published = this.#published.of(uid);
    if (published?.state.incarnation?.id !== incarnation) return own;
    // Uses the later of both times: a replica that has just taken over a cluster knows at first only the stored time.
    const theirs = published.types.get(typeKey(type))?.confirmedAtMs;
    return own === undefined || theirs === undefined ? (own ?? theirs) : Math.max(own, theirs);
  }

  async rebuild(uid: string): Promise<boolean> {
    return (await this.#followers.of(this.#shardOf(uid))?.rebuild(uid)) ?? false;
  }

  get shards(): number {
    return this.#keeper.held.size;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    for (const timer of [...this.#timers, this.#gathering]) clearTimeout(timer);
    await this.#exchanging;
    await this.#keeper.close();
    clearTimeout(this.#gathering);
  }

  #consider(spec: ClusterSpec, isGone: boolean): void {
    const isSelected = !isGone && choiceOf(spec, this.#options.selection) !== undefined;
    const isOther = isSelected !== this.#selected.has(spec.uid);
    if (isSelected) this.#selected.set(spec.uid, spec);
    else this.#selected.delete(spec.uid);
    if (!isOther) return;
    if (this.#areKnown) this.#uids = [...this.#selected.keys()];
    this.#changed();
  }

  /**
   * The fault of a cluster that another replica follows. While no replica holds the shard, the published state is out
   * of date, so the fault says that nobody follows the cluster.
   */
  #faultOf({ name, uid }: ClusterSpec, published: Published | undefined): SyncFault | undefined {
    const shard = this.#keeper.states[this.#shardOf(uid)];
    const { isCurrent } = this.#keeper;
    // A database that takes no writes lets no replica renew its leases, so in the end nobody follows the cluster.
    if (!isCurrent && this.#trouble !== undefined) return { reason: 'Store', message: this.#trouble };
    if (isCurrent && shard?.isHeld === true)
      return this.#unpublished.has(uid) ? unknownToOwner(name) : published?.state.fault;
    const message = `no process of the gateway follows cluster "${name}" at the moment; one takes it over within seconds`;
    return { reason: 'Unavailable', message };
  }

  #shardOf(uid: string): number {
    return this.#options.leases.shardOf(uid);
  }

  #looked(): void {
    const { states, isCurrent } = this.#keeper;
    const others = [...this.#selected.keys()].filter((uid) => this.#followers.of(this.#shardOf(uid)) === undefined);
    this.#unpublished.look(others, states);
    const unheld = states.filter(({ isHeld }) => !isHeld || !isCurrent).map(({ shard }) => shard);
    const unfollowed = [...unheld, ...others.filter((uid) => this.#unpublished.has(uid))].join();
    if (unfollowed === this.#unfollowed) return;
    this.#unfollowed = unfollowed;
    this.#changed();
  }

  #ownChanged(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#exchange();
    }, gatherMs).unref();
    this.#changed();
  }

  /**
   * Publishes the states of this replica's clusters and reads those of others. Errors are not reported here, because
   * the next heartbeat fails, too, and reports them.
   */
  #exchange(): void {
    if (this.#waitsToExchange) return;
    this.#waitsToExchange = true;
    const exchange = async (): Promise<void> => {
      this.#waitsToExchange = false;
      await this.#published.publish(this.#followers.states(), (lease) => this.#followers.has(lease));
      if (await this.#published.refresh()) this.#changed();
    };
    // A database that was unreachable may have lost the states that were published last, so all are published again.
    this.#exchanging = this.#exchanging.then(exchange).catch(() => this.#published.publishAnew());
  }

  #note(error: unknown): void {
    const { log } = this.#options;
    const message = error === undefined ? undefined : error instanceof Error ? error.message : String(error);
    const isSame = message === this.#trouble;
    this.#trouble = message;
    if (message !== undefined) this.#looked();
    if (isSame) return;
    if (message === undefined) log.info({}, 'index: leases of clusters are renewed again');
    else
      log.warn(
        { detail: message },
        'index: leases of clusters cannot be renewed; this process stops indexing the clusters before the leases end',
      );
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
