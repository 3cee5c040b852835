// What following one cluster is given.
import type { IndexStore, ShardWriter, StoredType } from '../stores/store.ts';
import type { StoredTypes } from '../stores/stored-types.ts';
import type { ClusterChoice } from './discover/selection.ts';
import type { BatchLimits } from './follow/batch.ts';
import type { Gate } from './follow/bounds.ts';
import type { MemberAsks } from './read-as.ts';
import type { SyncTiming } from './sync-types.ts';

/** The functions of the log that search/sync uses. */
export interface SyncLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** What following needs of a store. */
export type FollowedStore = Pick<IndexStore, 'types' | 'versions' | 'catalogVersion' | 'apply' | 'forget'>;

export interface ClusterSyncOptions {
  readonly cluster: { readonly uid: string; readonly name: string };
  readonly asks: MemberAsks;
  /** Which types are to be indexed. Called at each discovery, since the answer can change. */
  readonly choice: () => ClusterChoice;
  readonly store: FollowedStore;
  /** What the store keeps of all clusters. */
  readonly types: StoredTypes;
  /** As whom rows of this cluster are written; undefined for a store of one process. */
  readonly writer?: ShardWriter | undefined;
  /** What the store has of this cluster: its state until the member is reached. */
  readonly stored: readonly StoredType[];
  /** Nothing of this cluster is written before this promise has settled. */
  readonly after: Promise<unknown>;
  /** The gate for lists, which other clusters wait at, too. */
  readonly lists: Gate;
  readonly timing: SyncTiming;
  readonly limits?: BatchLimits | undefined;
  readonly log: SyncLog;
  readonly onState: () => void;
  readonly random: () => number;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}
