// The leases by which replicas (gateway processes that share one store) divide the clusters among themselves. The
// clusters are grouped into shards. A replica that holds the lease of a shard lists and watches the shard's clusters
// and writes their rows. The store keeps the leases, and measures all times by its own clock.
import type { ShardWriter } from './store.ts';

/** What a replica sends to the store with each heartbeat. */
export interface Heartbeat {
  /** Name of the replica. It is unique: no other process has it, not even one that has ended. */
  readonly replica: string;
  /** How much of the work the replica takes, relative to other replicas: with 2 it takes twice as much as with 1. */
  readonly weight: number;
  /** Number of the form (row-form.ts) in which the replica writes rows. */
  readonly form: number;
  /**
   * UIDs of all cluster records that the replica would list and watch. Absent: the same as in its last heartbeat with
   * `uids`.
   */
  readonly uids?: readonly string[];
  /** Changes per second that the replica writes in each shard. The index is the shard's number. */
  readonly rates: readonly number[];
}

export interface HeartbeatAnswer {
  /**
   * Identifies the replica's row in the store. When it differs from the last answer, the store had taken the replica
   * for dead and deleted the row, and the replica has lost all its leases.
   */
  readonly life: string;
  /** False when the store does not have the replica's `uids`: the next heartbeat must send them. */
  readonly knowsUids: boolean;
  /** Unix milliseconds of the store's clock while the heartbeat was answered. */
  readonly nowMs: number;
}

/** The state of one shard: who holds its lease, and who shall. */
export interface ShardState extends ShardWriter {
  /** Name of the replica that holds the lease; '' when no replica does. */
  readonly owner: string;
  /** Name of the replica that shall hold the lease; '' when no replica shall. */
  readonly wanted: string;
  /**
   * With an owner: whether the owner's last heartbeat is recent. Without an owner: whether the last owner gave the
   * lease back a few seconds ago, so that the wanted replica is about to take it.
   */
  readonly isHeld: boolean;
  /** True when this process holds the lease, and the database has lost writes of the shard that it had acknowledged. */
  readonly hasLostWrites: boolean;
}

/** The replicas and shards at one moment, from which it is decided who shall own which shard. */
export interface Situation {
  /** The living replicas that have sent the UIDs of their clusters. */
  readonly replicas: readonly {
    readonly name: string;
    readonly weight: number;
    /** Number of the form (row-form.ts) in which the replica writes rows; a newer form has a higher number. */
    readonly form: number;
    /** How many clusters of each shard the replica would list and watch. The index is the shard's number. */
    readonly known: readonly number[];
    /** True when a heartbeat of the replica is missing, so that the replica may have died. */
    readonly isSilent: boolean;
  }[];
  readonly shards: readonly {
    readonly shard: number;
    /** Name of the replica that holds the lease, even if it has died; '' when no replica does. */
    readonly owner: string;
    /** Name of the replica that shall hold the lease, even if it has died; '' when no replica shall. */
    readonly wanted: string;
    /** Number of rows stored in the shard. */
    readonly rows: number;
    /** Changes per second in the shard, as its owner reported them. */
    readonly rate: number;
    /**
     * True when an operator assigned the shard to the replica in `wanted`. A shard that was assigned by hand is not
     * moved to balance the load.
     */
    readonly isPinned?: boolean;
  }[];
  /** How many shards were moved from one living replica to another in the last ten seconds. */
  readonly lately: number;
}

/** The decision that replica `to` shall own a shard; `to` is '' when no replica shall. */
export interface Assignment {
  readonly shard: number;
  readonly to: string;
  /** True when the shard is taken from a replica that is alive and holds it. */
  readonly isMove: boolean;
}

/** What the owner of a shard publishes to the other replicas about one of the shard's clusters. */
export interface PublishedState extends ShardWriter {
  readonly uid: string;
  /**
   * JSON of the state without `numbers`. When it is published, absent means unchanged. When it is read, absent means
   * unchanged since the `stamp` that the reader gave to `published`.
   */
  readonly info?: string;
  /**
   * The times and counts of the state, as integers. They are kept apart from `info` because they change all the time.
   */
  readonly numbers: readonly number[];
}

/**
 * The leases in one store, and what replicas publish for each other. All methods reject with GatewayError
 * INDEX_UNAVAILABLE while the store cannot answer.
 */
export interface Leases {
  readonly shards: number;
  /** The number of the shard of a cluster. @param uid of the cluster's record */
  shardOf(uid: string): number;
  /** Records a heartbeat of a replica, which also renews the replica's leases. */
  beat(heartbeat: Heartbeat): Promise<HeartbeatAnswer>;
  /**
   * The states of all shards, sorted by number. Replicas whose heartbeats have been missing for too long are deleted
   * first.
   */
  look(): Promise<readonly ShardState[]>;
  /** Names of the living replicas, sorted. */
  replicas(): Promise<readonly string[]>;
  /**
   * Assigns a shard to a replica for as long as the replica lives; undefined removes the assignment.
   * @returns false when no such replica lives, or when it knows no cluster of the shard
   */
  pin(shard: number, replica: string | undefined): Promise<boolean>;
  /**
   * Calls `decide` and stores its result: which replicas shall own which shards. Only one process at a time does so, at
   * most once a second.
   * @returns false when another process is deciding, or did so within the last second
   */
  plan(decide: (situation: Situation) => readonly Assignment[]): Promise<boolean>;
  /**
   * Takes the leases of those `shards` that the replica shall own and that no other living replica holds. Each lease
   * gets a new epoch, so that writes of the previous holder are refused.
   */
  take(replica: string, shards: readonly number[]): Promise<readonly ShardWriter[]>;
  /** Gives leases back, so that other replicas can take them at once. */
  release(leases: readonly ShardWriter[]): Promise<void>;
  /** Deletes the row of a replica that ends. The replica has given back its leases before. */
  leave(replica: string): Promise<void>;
  /**
   * UIDs of the clusters that any living replica would list and watch; undefined while a replica has not sent its UIDs.
   */
  registered(): Promise<ReadonlySet<string> | undefined>;
  /**
   * Publishes the states of clusters for the other replicas. A state is ignored when its lease was lost, or when a
   * newer lease of the shard (with a higher epoch) exists.
   */
  publish(states: readonly PublishedState[]): Promise<void>;
  /**
   * The states that were published after `stamp`, a number from an earlier answer; 0 gives all states. Stamps only
   * grow.
   */
  published(stamp: number): Promise<{ readonly stamp: number; readonly states: readonly PublishedState[] }>;
  /** Deletes the published states of clusters. */
  withdraw(uids: readonly string[]): Promise<void>;
}
