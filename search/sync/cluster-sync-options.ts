// What following one cluster is given.
import type { IndexStore, ShardWriter, StoredType } from '../stores/store.ts';
import type { ClusterChoice } from './discover/selection.ts';
import type { BatchLimits } from './follow/batch.ts';
import type { MemberAsks } from './read-as.ts';
import type { SyncTiming } from './sync-types.ts';

/** As far as it is written to. */
export interface SyncLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ClusterSyncOptions {
  readonly cluster: { readonly uid: string; readonly name: string };
  readonly asks: MemberAsks;
  /** Read each time the types are looked at. */
  readonly choice: () => ClusterChoice;
  readonly store: IndexStore;
  /** As whom rows of this cluster are written; undefined for a store of one process. */
  readonly writer?: ShardWriter | undefined;
  /** What the store has of this cluster: its state until the member is reached. */
  readonly stored: readonly StoredType[];
  /** What must be over before anything of this cluster is written. */
  readonly after: Promise<unknown>;
  readonly timing: SyncTiming;
  readonly limits?: BatchLimits | undefined;
  readonly log: SyncLog;
  readonly onState: () => void;
  readonly random: () => number;
  /** Unix milliseconds. */
  readonly now: () => number;
}
