// The options for copying the objects of one cluster into the index.
import type { IndexStore, StoredType } from '../stores/store.ts';
import type { ClusterChoice } from './discover/selection.ts';
import type { BatchLimits } from './follow/batch.ts';
import type { MemberAsks } from './read-as.ts';
import type { SyncTiming } from './sync-types.ts';

/** The functions of the log that search/sync uses. */
export interface SyncLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ClusterSyncOptions {
  readonly cluster: { readonly uid: string; readonly name: string };
  readonly asks: MemberAsks;
  /** Which types are to be indexed. Called at each discovery, since the answer can change. */
  readonly choice: () => ClusterChoice;
  readonly store: IndexStore;
  /** The rows that the index store has of this cluster. They describe the cluster until it can be reached. */
  readonly stored: readonly StoredType[];
  /** Nothing of this cluster is written before this promise has settled. */
  readonly after: Promise<unknown>;
  readonly timing: SyncTiming;
  readonly limits?: BatchLimits | undefined;
  readonly log: SyncLog;
  readonly onState: () => void;
  readonly random: () => number;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}
