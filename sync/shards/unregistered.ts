// Deletes rows of clusters that no replica would follow any more. Replicas may know different clusters, or fewer for a
// while: one has just started, cannot read a source, or has another selection. So the owner of a shard asks which
// clusters all living replicas have registered, and only deletes the rows of those that have been missing for long.
import { recordUidOf } from '../../query/types.ts';
import type { Leases } from '../../store/leases.ts';
import type { ShardWriter, StoredType } from '../../store/store.ts';
import type { FollowedStore } from '../cluster-sync-options.ts';

export interface UnregisteredOptions {
  readonly store: Pick<FollowedStore, 'forget'>;
  readonly leases: Pick<Leases, 'registered' | 'shardOf'>;
  readonly types: () => Promise<readonly StoredType[]>;
  /** Returns the lease of a shard; undefined when this replica does not own the shard. */
  readonly leaseOf: (shard: number) => ShardWriter | undefined;
  /** Called after all rows of clusters were deleted. */
  readonly onForgotten: (uids: readonly string[]) => Promise<void>;
  /** How long a cluster must have been missing before its rows are deleted, in milliseconds. */
  readonly missingMs: number;
  /** Returns milliseconds of a clock that never goes back. */
  readonly localMs: () => number;
  readonly log: { info(fields: object, message: string): void };
}

/**
 * Makes a function that looks for rows of clusters that no replica has registered, and deletes them when the clusters
 * have been missing for `missingMs`. To be called at intervals. It rejects when the store does.
 */
export function makeUnregistered(options: UnregisteredOptions): () => Promise<void> {
  const { store, leases, types, leaseOf, onForgotten, missingMs, localMs, log } = options;
  /** When each cluster was first found missing, in milliseconds of `localMs`, by UID of the cluster record. */
  let missing = new Map<string, number>();
  return async () => {
    const incarnations = new Set((await types()).map(({ incarnation }) => incarnation.id));
    const owned = [...incarnations].filter((id) => leaseOf(leases.shardOf(recordUidOf(id))) !== undefined);
    const registered = owned.length === 0 ? undefined : await leases.registered();
    // A replica that has just started has not registered its clusters yet, so none counts as missing.
    if (registered === undefined) {
      missing = new Map();
      return;
    }
    const gone = owned.filter((id) => !registered.has(recordUidOf(id)));
    missing = new Map(gone.map((id) => [recordUidOf(id), missing.get(recordUidOf(id)) ?? localMs()]));
    const due = gone.filter((id) => localMs() - missing.get(recordUidOf(id))! >= missingMs);
    for (const incarnation of due) {
      const lease = leaseOf(leases.shardOf(recordUidOf(incarnation)));
      if (lease === undefined) continue;
      log.info({ incarnation }, 'index: rows of a cluster that no process of the gateway knows are deleted');
      await store.forget(incarnation, undefined, lease);
    }
    if (due.length > 0) await onForgotten([...new Set(due.map(recordUidOf))]);
  };
}
