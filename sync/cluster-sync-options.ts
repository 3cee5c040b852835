// The options for following one cluster, that is, for copying its objects into the index by lists and watches.
import type { IndexStore, ShardWriter, StoredType } from '../store/store.ts';
import type { StoredTypes } from '../store/stored-types.ts';
import type { ClusterChoice } from './discover/selection.ts';
import type { BatchLimits } from './follow/batch.ts';
import type { Gate } from '../lib/concurrency/gates.ts';
import type { MemberAsks } from './member/read-as.ts';
import type { SyncTiming } from './member/sync-types.ts';

/** The functions of the log that sync uses. */
export interface SyncLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The methods of a store that following a cluster needs. */
export type FollowedStore = Pick<IndexStore, 'types' | 'versions' | 'catalogVersion' | 'apply' | 'forget'>;

export interface ClusterSyncOptions {
  readonly cluster: { readonly uid: string; readonly name: string };
  readonly asks: MemberAsks;
  /** Returns which types are to be indexed. Called at each discovery, since the answer can change. */
  readonly choice: () => ClusterChoice;
  readonly store: FollowedStore;
  /** Returns the types of all clusters that the store contains. */
  readonly types: StoredTypes;
  /**
   * The lease that permits this process to write rows of this cluster, when several replicas share the store; undefined
   * for a store that only one process writes.
   */
  readonly writer?: ShardWriter | undefined;
  /**
   * The types of this cluster that the store contained at the start. The state of the cluster is made from them until
   * the member cluster answers.
   */
  readonly stored: readonly StoredType[];
  /**
   * No row of this cluster is written before this promise has settled, for example because rows of a removed cluster
   * with the same name are still being deleted.
   */
  readonly after: Promise<unknown>;
  /** Limits how many lists run at the same time. All clusters of the process share it. */
  readonly lists: Gate;
  readonly timing: SyncTiming;
  readonly limits?: BatchLimits | undefined;
  readonly log: SyncLog;
  readonly onState: () => void;
  readonly random: () => number;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}
