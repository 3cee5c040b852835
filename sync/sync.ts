// Keeps the index of all selected clusters up to date: starts to copy a cluster when its record appears, and stops when
// the record goes. Right after a start, a cluster may be missing only because its source was not read yet. So rows of
// unknown clusters are kept until all sources were read.
import { makeBackoff } from '../lib/backoff.ts';
import type { ClusterStore } from '../model/store.ts';
import type { ClusterRecord, ClusterSpec } from '../model/records.ts';
import type { ShardWriter, StoredType } from '../store/store.ts';
import { makeStoredTypes } from '../store/stored-types.ts';
import type { StoredTypes } from '../store/stored-types.ts';
import type { BatchLimits } from './follow/batch.ts';
import { makeSharedGate, pause, type SharedGate } from '../lib/concurrency/gates.ts';
import { startClusterSync, type ClusterSync } from './cluster-sync.ts';
import type { FollowedStore, SyncLog } from './cluster-sync-options.ts';
import { choiceOf, type ClusterChoice, type Selection } from './discover/selection.ts';
import type { MemberAsks } from './member/read-as.ts';
import {
  defaultSyncTiming,
  type ClusterState,
  type PartState,
  type SyncHandle,
  type SyncTiming,
} from './member/sync-types.ts';
import { recordUidOf, type ResourceType, type TypeKey } from '../query/types.ts';

export interface SyncOptions {
  readonly clusters: Pick<ClusterStore, 'list' | 'subscribe' | 'getByUid'>;
  /** Resolves when all sources of clusters were read. Then rows of clusters that are still unknown are deleted. */
  readonly areClustersKnown: Promise<void>;
  /** Makes the functions that send requests to a cluster: `makeAsks`, or a fake in tests. */
  readonly asksOf: (cluster: ClusterSpec) => MemberAsks;
  readonly store: FollowedStore;
  /** Returns the stored types from a cache that the caller uses, too. Absent: a cache of its own is made. */
  readonly types?: StoredTypes;
  /**
   * Returns the lease with which rows of a cluster are written, by the UID of its record. Undefined: another process
   * writes them, so the cluster is not followed here, and its rows are not deleted. Absent for a store of one process.
   */
  readonly writerOf?: (uid: string) => ShardWriter | undefined;
  /**
   * True when rows of unknown and removed clusters are kept here. In a shared store they are deleted only when no
   * process knows the cluster (shards/unregistered.ts).
   */
  readonly keepsUnknown?: boolean;
  readonly selection: Selection;
  /**
   * Limits how many lists run at the same time, over all clusters. Absent: a gate for {@link listsAtOnce} lists is
   * made.
   */
  readonly lists?: SharedGate;
  readonly log: SyncLog;
  readonly timing?: Partial<SyncTiming>;
  readonly limits?: BatchLimits;
  /** Returns a random number from 0 to 1. */
  readonly random?: () => number;
  /** Returns the current time in Unix milliseconds. */
  readonly now?: () => number;
}

/**
 * A new cluster waits a random time before its first request: at most `spreadMs` milliseconds for each known cluster,
 * and never longer than `longestSpreadMs`.
 */
const spreadMs = 5;
const longestSpreadMs = 5_000;
/** How many lists a process reads at the same time. */
export const listsAtOnce = 16;

interface Entry {
  readonly sync: ClusterSync;
  choice: ClusterChoice;
}

/**
 * Starts to copy all selected clusters into the index.
 * @throws GatewayError (rejects) INDEX_UNAVAILABLE when the index store cannot be read
 */
export async function startSync(options: SyncOptions): Promise<SyncHandle> {
  const types = options.types ?? makeStoredTypes(options.store);
  return new FollowedClusters(options, types, await types());
}

class FollowedClusters implements SyncHandle {
  readonly #options: SyncOptions;
  readonly #timing: SyncTiming;
  /** The clusters in the index, by the UID of the cluster record. */
  readonly #entries = new Map<string, Entry>();
  /**
   * A promise for each name of a cluster that was removed. When it has settled, the rows of that cluster are deleted,
   * and a new cluster of the same name may write.
   */
  readonly #endings = new Map<string, Promise<unknown>>();
  readonly #listeners = new Set<() => void>();
  readonly #closing = new AbortController();
  readonly #unsubscribe: () => void;
  readonly #types: StoredTypes;
  readonly #lists: SharedGate;
  #stored: readonly StoredType[];

  constructor(options: SyncOptions, types: StoredTypes, stored: readonly StoredType[]) {
    const { clusters } = options;
    this.#options = options;
    this.#types = types;
    this.#lists = options.lists ?? makeSharedGate(listsAtOnce);
    this.#timing = { ...defaultSyncTiming, ...options.timing };
    this.#stored = stored;
    this.#unsubscribe = clusters.subscribe(({ type, record }) => {
      if (type !== 'DELETED') this.#consider(record);
      else if (this.#entries.has(record.spec.uid)) this.#end(record.spec);
    });
    for (const record of clusters.list()) this.#consider(record);
    if (options.keepsUnknown === true) return;
    void this.#insist({ detail: 'of unknown clusters' }, () => this.#forgetUnknown());
  }

  state(): readonly ClusterState[] {
    return [...this.#entries.values()].map(({ sync }) => sync.state()).sort(byName);
  }

  stateOf(types: ReadonlySet<TypeKey>): readonly PartState[] {
    return [...this.#entries.values()].map(({ sync }) => sync.stateOf(types));
  }

  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined {
    return this.#entries.get(recordUidOf(incarnation))?.sync.confirmedAtMs(incarnation, type);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async rebuild(uid: string): Promise<boolean> {
    const entry = this.#entries.get(uid);
    const spec = this.#options.clusters.getByUid(uid)?.spec;
    if (entry === undefined || spec === undefined) return false;
    this.#entries.delete(uid);
    this.#stored = this.#stored.filter(({ incarnation }) => !isOf(incarnation.id, uid));
    const gone = entry.sync.close().then(() => this.#forgetRowsOf(uid));
    this.#endings.set(
      spec.name,
      gone.catch(() => undefined),
    );
    this.#begin(spec, entry.choice);
    await gone;
    return true;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#unsubscribe();
    await Promise.all([...this.#entries.values()].map(({ sync }) => sync.close()));
    await Promise.all(this.#endings.values());
  }

  /** Starts following a cluster, applies a changed choice of types, or stops following it. */
  #consider({ spec }: ClusterRecord): void {
    if (!this.#isOurs(spec.uid)) return;
    const choice = choiceOf(spec, this.#options.selection);
    const entry = this.#entries.get(spec.uid);
    if (choice === undefined) {
      if (entry !== undefined) this.#end(spec);
      return;
    }
    if (entry === undefined) {
      this.#begin(spec, choice);
      return;
    }
    const isSame = JSON.stringify(entry.choice) === JSON.stringify(choice);
    entry.choice = choice;
    if (isSame) return;
    this.#logFault(spec, choice);
    entry.sync.reconsider();
    // The choice also decides which types are served while the cluster cannot be reached, so listeners are called now.
    this.#changed();
  }

  #begin(spec: ClusterSpec, choice: ClusterChoice): void {
    const { asksOf, store, limits, log, random, now } = this.#options;
    const entry: Entry = {
      choice,
      sync: startClusterSync({
        cluster: { uid: spec.uid, name: spec.name },
        asks: asksOf(spec),
        choice: () => entry.choice,
        store,
        types: this.#types,
        writer: this.#options.writerOf?.(spec.uid),
        stored: this.#stored.filter(
          ({ incarnation }) => isOf(incarnation.id, spec.uid) && incarnation.cluster === spec.name,
        ),
        lists: this.#lists.of(spec.uid),
        after: Promise.all([this.#endings.get(spec.name), this.#spread()]),
        timing: this.#timing,
        limits,
        log,
        onState: () => this.#changed(),
        random: random ?? Math.random,
        now: now ?? Date.now,
      }),
    };
    this.#entries.set(spec.uid, entry);
    this.#logFault(spec, choice);
    this.#changed();
  }

  #logFault({ name }: ClusterSpec, { fault, faultDetail }: ClusterChoice): void {
    if (fault === undefined) return;
    const fields = { cluster: name, fault, detail: faultDetail };
    this.#options.log.warn(fields, 'index: nothing of a cluster is indexed, since an option of it cannot be read');
  }

  /** Stops following a cluster and deletes its rows, unless `keepsUnknown` is set. */
  #end({ uid, name }: ClusterSpec): void {
    const entry = this.#entries.get(uid);
    this.#entries.delete(uid);
    this.#stored = this.#stored.filter(({ incarnation }) => !isOf(incarnation.id, uid));
    const ending = this.#insist({ cluster: name }, () => this.#closeAndForget(uid, entry));
    this.#endings.set(name, ending);
    void ending.then(() => {
      if (this.#endings.get(name) === ending) this.#endings.delete(name);
    });
    this.#changed();
  }

  /**
   * Repeats `forget` until it succeeds or this object is closed. Otherwise rows of a removed cluster would stay in
   * answers, and the deletion of a PediaCluster would never complete.
   * @param of fields for the log, which say whose rows they are
   */
  async #insist(of: object, forget: () => Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    const { firstBackoffMs, maxBackoffMs } = this.#timing;
    const waits = makeBackoff(firstBackoffMs, maxBackoffMs, this.#options.random ?? Math.random);
    for (;;) {
      try {
        await forget();
        return;
      } catch (error) {
        this.#options.log.warn(
          { ...of, fault: messageOf(error) },
          'index: rows could not be deleted; it is tried again',
        );
        if (signal.aborted) return;
        await pause(waits.next(), signal);
      }
    }
  }

  async #closeAndForget(uid: string, entry: Entry | undefined): Promise<void> {
    await entry?.sync.close();
    if (this.#options.keepsUnknown !== true) await this.#forgetRowsOf(uid);
  }

  async #forgetRowsOf(uid: string): Promise<void> {
    const all = await this.#types();
    await this.#forget(all.filter(({ incarnation }) => isOf(incarnation.id, uid)));
  }

  /** Deletes the rows of clusters that were removed while no process was running. */
  async #forgetUnknown(): Promise<void> {
    await this.#options.areClustersKnown;
    if (this.#closing.signal.aborted) return;
    const all = await this.#types();
    const uids = [...this.#entries.keys()];
    await this.#forget(all.filter(({ incarnation }) => !uids.some((uid) => isOf(incarnation.id, uid))));
  }

  async #forget(types: readonly StoredType[]): Promise<void> {
    for (const id of new Set(types.map(({ incarnation }) => incarnation.id))) {
      if (!this.#isOurs(recordUidOf(id))) continue;
      this.#options.log.info(
        { incarnation: id },
        'index: rows of a cluster are deleted: it is no longer indexed, or is to be read anew',
      );
      await this.#options.store.forget(id, undefined, this.#options.writerOf?.(recordUidOf(id)));
    }
  }

  #isOurs(uid: string): boolean {
    const { writerOf } = this.#options;
    return writerOf === undefined || writerOf(uid) !== undefined;
  }

  /** Waits a random time, so that a thousand clusters are not asked in the same moment. */
  #spread(): Promise<void> {
    const { clusters, random } = this.#options;
    const longestMs = Math.min(clusters.list().length * spreadMs, longestSpreadMs);
    return pause((random ?? Math.random)() * longestMs, this.#closing.signal);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Whether an incarnation belongs to the cluster record with this UID. */
function isOf(incarnation: string, uid: string): boolean {
  return incarnation.startsWith(`${uid}/`);
}

function byName(one: ClusterState, other: ClusterState): number {
  return one.cluster < other.cluster ? -1 : one.cluster > other.cluster ? 1 : 0;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown';
}
