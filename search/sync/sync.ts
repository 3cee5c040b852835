// Keeps the index of all chosen clusters: one follower for each, begun and ended as records come and go. When a process
// starts, its sources may not be read yet. A cluster that is not known yet is not one that is gone: rows are kept until
// all sources were read.
import type { ClusterStore } from '../../cache/model/store.ts';
import type { ClusterRecord, ClusterSpec } from '../../cache/model/records.ts';
import type { IndexStore, StoredType } from '../stores/store.ts';
import type { BatchLimits } from './follow/batch.ts';
import { pause } from './follow/bounds.ts';
import { startClusterSync, type ClusterSync } from './cluster-sync.ts';
import type { SyncLog } from './cluster-sync-options.ts';
import type { ClusterChoice, Selection } from './discover/selection.ts';
import type { MemberAsks } from './read-as.ts';
import {
  defaultSyncTiming,
  type ClusterState,
  type PartState,
  type SyncHandle,
  type SyncTiming,
} from './sync-types.ts';
import type { ResourceType, TypeKey } from '../types.ts';

export interface SyncOptions {
  readonly clusters: Pick<ClusterStore, 'list' | 'subscribe' | 'getByUid'>;
  /** Resolves once every source of clusters was read; rows of clusters that are unknown then are forgotten. */
  readonly areClustersKnown: Promise<void>;
  /** How a cluster is asked; `makeAsks` outside of tests. */
  readonly asksOf: (cluster: ClusterSpec) => MemberAsks;
  readonly store: IndexStore;
  readonly selection: Selection;
  readonly log: SyncLog;
  readonly timing?: Partial<SyncTiming>;
  readonly limits?: BatchLimits;
  /** Between 0 and 1. */
  readonly random?: () => number;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** For each cluster that is known when one is begun, milliseconds. */
const spreadMs = 5;
const longestSpreadMs = 5_000;

interface Entry {
  readonly sync: ClusterSync;
  choice: ClusterChoice;
}

/** Starts following. @throws GatewayError (rejects) INDEX_UNAVAILABLE when the store cannot be read */
export async function startSync(options: SyncOptions): Promise<SyncHandle> {
  return new FollowedClusters(options, await options.store.types());
}

class FollowedClusters implements SyncHandle {
  readonly #options: SyncOptions;
  readonly #timing: SyncTiming;
  /** By UID of the record. */
  readonly #entries = new Map<string, Entry>();
  /** Of names: what must be over before a cluster of that name may write. */
  readonly #endings = new Map<string, Promise<unknown>>();
  readonly #listeners = new Set<() => void>();
  readonly #closing = new AbortController();
  readonly #unsubscribe: () => void;
  #stored: readonly StoredType[];
  readonly #unknownForgotten: Promise<void>;

  constructor(options: SyncOptions, stored: readonly StoredType[]) {
    const { clusters, log } = options;
    this.#options = options;
    this.#timing = { ...defaultSyncTiming, ...options.timing };
    this.#stored = stored;
    this.#unsubscribe = clusters.subscribe(({ type, record }) => {
      if (type !== 'DELETED') this.#consider(record);
      else if (this.#entries.has(record.spec.uid)) this.#end(record.spec);
    });
    for (const record of clusters.list()) this.#consider(record);
    this.#unknownForgotten = this.#forgetUnknown().catch((error: unknown) => {
      log.warn({ detail: messageOf(error) }, 'index: rows of unknown clusters could not be forgotten');
    });
  }

  state(): readonly ClusterState[] {
    return [...this.#entries.values()].map(({ sync }) => sync.state()).sort(byName);
  }

  stateOf(types: ReadonlySet<TypeKey>): readonly PartState[] {
    return [...this.#entries.values()].map(({ sync }) => sync.stateOf(types));
  }

  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined {
    const uid = incarnation.slice(0, incarnation.lastIndexOf('/'));
    return this.#entries.get(uid)?.sync.confirmedAtMs(incarnation, type);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async rowsGone(cluster: string): Promise<void> {
    await this.#unknownForgotten;
    await this.#endings.get(cluster);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#unsubscribe();
    await Promise.all([...this.#entries.values()].map(({ sync }) => sync.close()));
    await Promise.all(this.#endings.values());
  }

  /** Begins to follow a cluster, goes on with another choice of types, or ends it. */
  #consider({ spec }: ClusterRecord): void {
    const choice = spec.problem?.reason === 'NameConflict' ? undefined : this.#options.selection(spec);
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
    if (!isSame) entry.sync.reconsider();
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
        stored: this.#stored.filter(
          ({ incarnation }) => isOf(incarnation.id, spec.uid) && incarnation.cluster === spec.name,
        ),
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
    this.#changed();
  }

  /** Ends a cluster whose rows are not wanted any more. */
  #end({ uid, name }: ClusterSpec): void {
    const entry = this.#entries.get(uid);
    this.#entries.delete(uid);
    this.#stored = this.#stored.filter(({ incarnation }) => !isOf(incarnation.id, uid));
    const ending = this.#closeAndForget(uid, entry).catch((error: unknown) => {
      this.#options.log.warn(
        { cluster: name, detail: messageOf(error) },
        'index: the rows of a removed cluster could not be forgotten yet',
      );
    });
    this.#endings.set(name, ending);
    void ending.then(() => {
      if (this.#endings.get(name) === ending) this.#endings.delete(name);
    });
    this.#changed();
  }

  async #closeAndForget(uid: string, entry: Entry | undefined): Promise<void> {
    await entry?.sync.close();
    const all = await this.#options.store.types();
    await this.#forget(all.filter(({ incarnation }) => isOf(incarnation.id, uid)));
  }

  /** Rows of clusters that were removed while no process ran. */
  async #forgetUnknown(): Promise<void> {
    await this.#options.areClustersKnown;
    if (this.#closing.signal.aborted) return;
    const all = await this.#options.store.types();
    const uids = [...this.#entries.keys()];
    await this.#forget(all.filter(({ incarnation }) => !uids.some((uid) => isOf(incarnation.id, uid))));
  }

  async #forget(types: readonly StoredType[]): Promise<void> {
    for (const id of new Set(types.map(({ incarnation }) => incarnation.id))) {
      this.#options.log.info({ incarnation: id }, 'index: rows of a cluster that is no longer indexed are forgotten');
      await this.#options.store.forget(id);
    }
  }

  /** A thousand clusters are not asked in the same moment. */
  #spread(): Promise<void> {
    const { clusters, random } = this.#options;
    const longestMs = Math.min(clusters.list().length * spreadMs, longestSpreadMs);
    return pause((random ?? Math.random)() * longestMs, this.#closing.signal);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Whether an incarnation's id begins with the UID of that record. */
function isOf(incarnation: string, uid: string): boolean {
  return incarnation.startsWith(`${uid}/`);
}

function byName(one: ClusterState, other: ClusterState): number {
  return one.cluster < other.cluster ? -1 : one.cluster > other.cluster ? 1 : 0;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown';
}
