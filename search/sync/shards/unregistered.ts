// Deletes rows of clusters that no replica would follow any more. Replicas may know different clusters, or fewer for a
// while: one that has just started, one whose source cannot be read, one with another selection. So the owner of a
// shard asks what all living replicas have registered, and only deletes what has been missing there for long.
import type { Leases } from '../../stores/leases.ts';
import type { ShardWriter, StoredType } from '../../stores/store.ts';
import type { FollowedStore } from '../cluster-sync-options.ts';

export interface UnregisteredOptions {
  readonly store: Pick<FollowedStore, 'forget'>;
  readonly leases: Pick<Leases, 'registered' | 'shardOf'>;
  readonly types: () => Promise<readonly StoredType[]>;
  /** The lease of a shard that this replica owns. */
  readonly leaseOf: (shard: number) => ShardWriter | undefined;
  /** Called after all rows of clusters were deleted. */
  readonly onForgotten: (uids: readonly string[]) => Promise<void>;
  /** How long a cluster must have been missing, milliseconds. */
  readonly missingMs: number;
  /** A clock that never goes back, milliseconds. */
  readonly localMs: () => number;
  readonly log: { info(fields: object, message: string): void };
}

/** Returns a function that looks once. It rejects as the store does. */
export function makeUnregistered(options: UnregisteredOptions): () => Promise<void> {
  const { store, leases, types, leaseOf, onForgotten, missingMs, localMs, log } = options;
  /** Since when each was missing, by UID. */
  let missing = new Map<string, number>();
  return async () => {
    const incarnations = new Set((await types()).map(({ incarnation }) => incarnation.id));
    const owned = [...incarnations].filter((id) => leaseOf(leases.shardOf(uidOf(id))) !== undefined);
    const registered = owned.length === 0 ? undefined : await leases.registered();
    // Nobody knows what a replica that has just started will follow.
    if (registered === undefined) {
      missing = new Map();
      return;
    }
    const gone = owned.filter((id) => !registered.has(uidOf(id)));
    missing = new Map(gone.map((id) => [uidOf(id), missing.get(uidOf(id)) ?? localMs()]));
    const due = gone.filter((id) => localMs() - missing.get(uidOf(id))! >= missingMs);
    for (const incarnation of due) {
      const lease = leaseOf(leases.shardOf(uidOf(incarnation)));
      if (lease === undefined) continue;
      log.info({ incarnation }, 'index: rows of a cluster that no process of the gateway knows are forgotten');
      await store.forget(incarnation, undefined, lease);
    }
    if (due.length > 0) await onForgotten([...new Set(due.map(uidOf))]);
  };
}

function uidOf(incarnation: string): string {
  return incarnation.slice(0, incarnation.lastIndexOf('/'));
}
