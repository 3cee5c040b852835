// Keeps the index of all chosen clusters: one follower for each, begun and ended as records come and go. Easy to get
// wrong: when a process starts its sources may not be read yet, and a cluster that is not known yet is not one that is
// gone; its rows stay until all sources were heard.
import type { ClusterStore } from '../../cache/model/store.ts';
import type { ClusterRecord, ClusterSpec } from '../../cache/model/records.ts';
import type { IndexStore, StoredType } from '../stores/store.ts';
import type { BatchLimits } from './follow/batch.ts';
import { pause } from './follow/bounds.ts';
import { startClusterSync, type ClusterSync } from './cluster-sync.ts';
import type { SyncLog } from './cluster-sync-options.ts';
import type { ClusterChoice, Selection } from './discover/selection.ts';
import type { MemberAsks } from './read-as.ts';
import { defaultSyncTiming, type ClusterState, type SyncHandle, type SyncTiming } from './sync-types.ts';

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
  const { clusters, store, selection, log } = options;
  const timing = { ...defaultSyncTiming, ...options.timing };
  const entries = new Map<string, Entry>();
  /** Of names: what must be over before a cluster of that name may write. */
  const endings = new Map<string, Promise<unknown>>();
  const listeners = new Set<() => void>();
  let stored = await store.types();
  const closing = new AbortController();

  /** A thousand clusters are not asked in the same moment. */
  function spread(): Promise<void> {
    const longestMs = Math.min(clusters.list().length * spreadMs, longestSpreadMs);
    return pause((options.random ?? Math.random)() * longestMs, closing.signal);
  }

  function changed(): void {
    for (const listener of listeners) listener();
  }

  function consider({ spec }: ClusterRecord): void {
    const choice = spec.problem?.reason === 'NameConflict' ? undefined : selection(spec);
    const entry = entries.get(spec.uid);
    if (choice === undefined) {
      if (entry !== undefined) end(spec);
      return;
    }
    if (entry !== undefined) {
      const isSame = JSON.stringify(entry.choice) === JSON.stringify(choice);
      entry.choice = choice;
      if (!isSame) entry.sync.reconsider();
      return;
    }
    const own: Entry = {
      choice,
      sync: startClusterSync({
        cluster: { uid: spec.uid, name: spec.name },
        asks: options.asksOf(spec),
        choice: () => own.choice,
        store,
        stored: stored.filter(({ incarnation }) => isOf(incarnation.id, spec.uid) && incarnation.cluster === spec.name),
        after: Promise.all([endings.get(spec.name), spread()]),
        timing,
        limits: options.limits,
        log,
        onState: changed,
        random: options.random ?? Math.random,
        now: options.now ?? Date.now,
      }),
    };
    entries.set(spec.uid, own);
    changed();
  }

  /** Ends a cluster whose rows are not wanted any more. */
  function end({ uid, name }: ClusterSpec): void {
    const entry = entries.get(uid);
    entries.delete(uid);
    stored = stored.filter(({ incarnation }) => !isOf(incarnation.id, uid));
    const ending = (async () => {
      await entry?.sync.close();
      const all = await store.types();
      await forget(all.filter(({ incarnation }) => isOf(incarnation.id, uid)));
    })().catch((error: unknown) => {
      log.warn(
        { cluster: name, detail: messageOf(error) },
        'index: the rows of a removed cluster could not be forgotten yet',
      );
    });
    endings.set(name, ending);
    void ending.then(() => {
      if (endings.get(name) === ending) endings.delete(name);
    });
    changed();
  }

  async function forget(types: readonly StoredType[]): Promise<void> {
    for (const id of new Set(types.map(({ incarnation }) => incarnation.id))) {
      log.info({ incarnation: id }, 'index: rows of a cluster that is no longer indexed are forgotten');
      await store.forget(id);
    }
  }

  /** Rows of clusters that were removed while no process ran. */
  async function forgetUnknown(): Promise<void> {
    await options.areClustersKnown;
    if (closing.signal.aborted) return;
    const all = await store.types();
    await forget(all.filter(({ incarnation }) => ![...entries.keys()].some((uid) => isOf(incarnation.id, uid))));
  }

  const unsubscribe = clusters.subscribe(({ type, record }) => {
    if (type === 'DELETED') {
      if (entries.has(record.spec.uid)) end(record.spec);
    } else consider(record);
  });
  for (const record of clusters.list()) consider(record);
  void forgetUnknown().catch((error: unknown) => {
    log.warn({ detail: messageOf(error) }, 'index: rows of unknown clusters could not be forgotten');
  });

  return {
    state: () => [...entries.values()].map(({ sync }) => sync.state()).sort(byName),
    stateOf: (types) => [...entries.values()].map(({ sync }) => sync.stateOf(types)),
    confirmedAtMs(incarnation, type) {
      const uid = incarnation.slice(0, incarnation.lastIndexOf('/'));
      return entries.get(uid)?.sync.confirmedAtMs(incarnation, type);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      closing.abort();
      unsubscribe();
      await Promise.all([...entries.values()].map(({ sync }) => sync.close()));
      await Promise.all(endings.values());
    },
  };
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
