// Follows one cluster, that is, copies its objects into the index: finds out which incarnation of the cluster exists,
// and reports its state. Easy to get wrong: when a cluster was set up anew behind the same address, every row of its
// former incarnation must be deleted before the first new row is written. Otherwise both incarnations would be listed
// as one cluster.
import { FencedError } from '../store/fenced-error.ts';
import type { StoredType } from '../store/store.ts';
import { typeKey, type Incarnation, type ResourceType, type TypeKey } from '../query/types.ts';
import type { ClusterSyncOptions } from './cluster-sync-options.ts';
import { OtherIncarnation, readIncarnation } from './member/incarnation.ts';
import { isServedAsKept } from './discover/selection.ts';
import { pause } from '../lib/concurrency/gates.ts';
import { makeRetryDelays } from './member/retry-delays.ts';
import { setbackOf } from './member/member-faults.ts';
import { MemberLife } from './member-life.ts';
import { makeReader } from './member/read-as.ts';
import type { AskMember, ClusterState, PartState, SyncFault, TypeState } from './member/sync-types.ts';

/** A cluster whose objects are being copied into the index. */
export interface ClusterSync {
  state(): ClusterState;
  stateOf(types: ReadonlySet<TypeKey>): PartState;
  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined;
  /** Reads the choice of types again and applies it; to be called when the choice may have changed. */
  reconsider(): void;
  close(): Promise<void>;
}

export function startClusterSync(options: ClusterSyncOptions): ClusterSync {
  return new FollowedCluster(options);
}

class FollowedCluster implements ClusterSync {
  readonly #options: ClusterSyncOptions;
  readonly #ask: AskMember;
  readonly #closing = new AbortController();
  readonly #waits: ReturnType<typeof makeRetryDelays>;
  readonly #ended: Promise<void>;
  #life: MemberLife | undefined;
  #fault: SyncFault | undefined;

  constructor(options: ClusterSyncOptions) {
    this.#options = options;
    this.#ask = makeReader(options.asks).ask;
    this.#waits = makeRetryDelays(options.timing.clusterRetry, options.random);
    this.#ended = this.#run().catch((error: unknown) => {
      if (!this.#closing.signal.aborted) this.#end(error);
    });
  }

  state(): ClusterState {
    const { cluster, stored } = this.#options;
    const types = this.#life?.isFollowed === true ? this.#life.set.states() : this.#storedStates(stored);
    return Object.freeze({
      cluster: cluster.name,
      uid: cluster.uid,
      incarnation: this.#incarnation,
      fault: this.#shownFault,
      types: this.#fault === undefined ? types : types.map((state) => this.#asChosen(state)),
      refused: this.#life?.refused ?? [],
      live: this.#life?.live,
    });
  }

  stateOf(types: ReadonlySet<TypeKey>): PartState {
    const fault = this.#shownFault;
    const common = { cluster: this.#options.cluster.name, incarnation: this.#incarnation, fault };
    if (this.#life?.isFollowed !== true) {
      const { stored } = this.#options;
      const asked = stored.filter(({ type }) => types.has(typeKey(type)));
      return { ...common, types: this.#storedStates(asked), hasTypes: stored.length > 0 };
    }
    const { set } = this.#life;
    const stateOfType = (key: TypeKey): readonly TypeState[] => {
      const follower = set.of(key);
      return follower === undefined || (fault === undefined && follower.isCurrent()) ? [] : [follower.state()];
    };
    return { ...common, types: [...types].flatMap(stateOfType), hasTypes: set.size > 0 };
  }

  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined {
    const life = this.#life;
    const key = typeKey(type);
    if (life?.incarnation.id === incarnation) {
      const follower = life.set.of(key);
      if (follower !== undefined || life.isFollowed) return follower?.confirmedAtMs();
    }
    const { stored } = this.#options;
    const found = stored.find((each) => each.incarnation.id === incarnation && typeKey(each.type) === key);
    return found === undefined || found.position.confirmedAtMs === 0 ? undefined : found.position.confirmedAtMs;
  }

  reconsider(): void {
    this.#life?.look();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#life?.look();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { after, cluster, timing } = this.#options;
    const { signal } = this.#closing;
    await after;
    while (!signal.aborted) {
      const incarnation = await this.#insist('Namespace kube-system', signal, () =>
        readIncarnation(this.#ask, cluster, timing, signal),
      );
      await this.#insist('index', signal, () => this.#forgetOthers(incarnation));
      const life: MemberLife = new MemberLife({
        ...this.#options,
        ask: this.#ask,
        incarnation,
        refused: this.#life?.refused ?? [],
        closing: signal,
        insist: (what, work) => this.#insist(what, life.signal, work),
        onFollowed: () => void (signal.aborted || this.#enter(undefined)),
        onFenced: (error) => this.#end(error),
      });
      this.#life = life;
      await life.follow();
    }
  }

  /**
   * Deletes outdated rows: those of former incarnations of this cluster, and those of earlier clusters with the same
   * name. With a lease, rows of earlier clusters with the same name are left, because the lease is valid only for rows
   * of this cluster record.
   */
  async #forgetOthers(incarnation: Incarnation): Promise<void> {
    const { store, types, writer, cluster, log } = this.#options;
    const all = await types();
    const others = all.filter(
      (stored) =>
        ((writer === undefined && stored.incarnation.cluster === cluster.name) ||
          stored.incarnation.id.startsWith(`${cluster.uid}/`)) &&
        (stored.incarnation.id !== incarnation.id || stored.incarnation.cluster !== cluster.name),
    );
    for (const id of new Set(others.map((stored) => stored.incarnation.id))) {
      log.info(
        { cluster: cluster.name, incarnation: id },
        'index: rows are deleted that were stored before the cluster was set up anew or renamed',
      );
      await store.forget(id, undefined, writer);
    }
  }

  /**
   * Repeats `work`, with growing waits, until it succeeds. Rejects when `signal` is aborted, or when `work` finds that
   * the cluster was set up anew (OtherIncarnation).
   */
  async #insist<Result>(what: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      signal.throwIfAborted();
      try {
        const result = await work();
        this.#waits.reset();
        return result;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof OtherIncarnation || error instanceof FencedError) throw error;
        this.#enter(setbackOf(error, this.#options.cluster.name, what).fault);
        await pause(this.#waits.next(), signal);
      }
    }
  }

  /**
   * Stops following the cluster for good: another process writes its rows now, or an error occurred that a retry does
   * not mend.
   */
  #end(error: unknown): void {
    this.#enter(setbackOf(error, this.#options.cluster.name, 'index').fault);
    this.#closing.abort();
    this.#life?.look();
  }

  #enter(fault: SyncFault | undefined): void {
    const isOther = fault?.message !== this.#fault?.message;
    this.#fault = fault;
    if (!isOther) return;
    const { log, cluster, onState } = this.#options;
    if (fault !== undefined)
      log.warn(
        { cluster: cluster.name, reason: fault.reason, detail: fault.message },
        'index: cluster is not followed',
      );
    onState();
  }

  get #incarnation(): Incarnation | undefined {
    return this.#life?.incarnation ?? this.#options.stored[0]?.incarnation;
  }

  /**
   * The states of the types that have rows in the index store, for the time before the cluster's discovery was read.
   */
  #storedStates(stored: readonly StoredType[]): readonly TypeState[] {
    const choice = this.#options.choice();
    return stored.map(({ type, position, objects }) =>
      Object.freeze({
        type,
        isChosen: isServedAsKept(type, choice),
        phase: 'waiting',
        isWhole: position.resourceVersion !== '',
        objects,
        rate: 0,
        lagMs: 0,
        confirmedAtMs: position.confirmedAtMs === 0 ? undefined : position.confirmedAtMs,
        fault: this.#fault,
      }),
    );
  }

  /**
   * The state of a type to report while the cluster has a fault. When the rows were stored under other options (filter,
   * pruned fields) than the present ones, they would have to be listed again first. So the type is then reported as not
   * chosen, and is not shown.
   */
  #asChosen(state: TypeState): TypeState {
    if (!state.isChosen || isServedAsKept(state.type, this.#options.choice())) return state;
    return Object.freeze({ ...state, isChosen: false });
  }

  /**
   * The fault to show. A fault in the cluster's options is shown first, because nothing is indexed until it is
   * corrected.
   */
  get #shownFault(): SyncFault | undefined {
    const { fault } = this.#options.choice();
    return fault === undefined ? this.#fault : { reason: 'InvalidOptions', message: `nothing is indexed: ${fault}` };
  }
}
