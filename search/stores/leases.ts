// Decides which process (replica) follows which clusters, for replicas that share one store. The clusters are divided
// into shards; a lease lets one replica write a shard, for a term. The store keeps leases and terms, and measures all
// times by its own clock.
import type { ShardWriter } from './store.ts';

/** What a replica sends to the store with each heartbeat. */
export interface Heartbeat {
  /** Name of the replica. No other process has it, also none that has ended. */
  readonly replica: string;
  /** The share of the work that the replica takes, relative to other replicas; 1 is usual. */
  readonly weight: number;
  /** UIDs of all cluster records that the replica would follow. Absent: the UIDs of the last heartbeat still hold. */
  readonly uids?: readonly string[];
  /** Changes per second that the replica writes, by shard number. */
  readonly rates: readonly number[];
}

export interface HeartbeatAnswer {
  /**
   * Identifies the replica's row in the store. When it differs from the last answer, the store had taken the replica
   * for dead, and all its leases are gone.
   */
  readonly life: string;
  /** False when the store does not have the replica's `uids`: the next heartbeat must send them. */
  readonly knowsUids: boolean;
  /** Unix milliseconds of the store's clock while the heartbeat was answered. */
  readonly nowMs: number;
}

/** Who may write a shard. */
export interface ShardState extends ShardWriter {
  /** Name of the replica that holds the lease; '' when none does. */
  readonly owner: string;
  /** Name of the replica that shall hold the lease; '' when none shall. */
  readonly wanted: string;
  /**
   * With an owner: whether its last heartbeat is recent. Without one: whether the last owner gave the lease back a few
   * seconds ago, so that the next one is about to take it.
   */
  readonly isHeld: boolean;
  /** True when this process holds the lease and the store has lost writes that it had acknowledged. */
  readonly hasLostWrites: boolean;
}

/** The state of replicas and shards, from which the owners of shards are decided. */
export interface Situation {
  /** The living replicas that have sent the UIDs of their clusters. */
  readonly replicas: readonly {
    readonly name: string;
    readonly weight: number;
    /** The number of clusters that the replica would follow in each shard, by shard number. */
    readonly known: readonly number[];
    /** True when the replica has missed a heartbeat, so it may have died. */
    readonly isSilent: boolean;
  }[];
  readonly shards: readonly {
    readonly shard: number;
    /** Name of the replica that holds the lease, which may have died; '' when none does. */
    readonly owner: string;
    /** Name of the replica that shall hold the lease, which may have died; '' when none shall. */
    readonly wanted: string;
    /** Number of rows stored in the shard. */
    readonly rows: number;
    /** Changes per second in the shard, as its owner reported them. */
    readonly rate: number;
    /** True when an operator assigned the shard to the replica in `wanted`: the shard is not moved to balance load. */
    readonly isPinned?: boolean;
  }[];
  /** How many shards were moved from one living replica to another in the last ten seconds. */
  readonly lately: number;
}

/** A decision that replica `to` shall own a shard from now on; `to` is '' for none. */
export interface Assignment {
  readonly shard: number;
  readonly to: string;
  /** True when the shard is taken from a living replica. */
  readonly isMove: boolean;
}

/** What the owner of a shard publishes about one of the shard's clusters. */
export interface ToldState extends ShardWriter {
  readonly uid: string;
  /**
   * JSON of the cluster's state without `numbers`. Written: absent when unchanged. Read: absent when unchanged since
   * the stamp that the reader gave.
   */
  readonly info?: string;
  /** Times and counts of the state, which change all the time, as integers. */
  readonly numbers: readonly number[];
}

/** All methods reject with GatewayError INDEX_UNAVAILABLE while the store cannot answer. */
export interface Leases {
  readonly shards: number;
  /** The number of the shard of a cluster. @param uid of the cluster's record */
  shardOf(uid: string): number;
  /** Sends a heartbeat, which renews the leases of the replica. */
  beat(heartbeat: Heartbeat): Promise<HeartbeatAnswer>;
  /**
   * The states of all shards, sorted by number. First deletes replicas whose heartbeats have been missing for too long.
   */
  look(): Promise<readonly ShardState[]>;
  /** Names of the living replicas, sorted. */
  replicas(): Promise<readonly string[]>;
  /**
   * Assigns a shard to a replica until that replica ends; undefined removes the assignment.
   * @returns false when no such replica lives, or when it knows no cluster of the shard
   */
  pin(shard: number, replica: string | undefined): Promise<boolean>;
  /**
   * Decides which replicas shall own which shards. Only one process at a time does so, at most once a second.
   * @returns false when another process is deciding, or did so within the last second
   */
  plan(decide: (situation: Situation) => readonly Assignment[]): Promise<boolean>;
  /**
   * Takes the leases of those `shards` that are meant for the replica and that no other living replica holds. Each
   * lease gets a new term.
   */
  take(replica: string, shards: readonly number[]): Promise<readonly ShardWriter[]>;
  /** Gives leases back, so that other replicas can take them at once. */
  release(leases: readonly ShardWriter[]): Promise<void>;
  /** Removes a replica that ends and has given back its leases. */
  leave(replica: string): Promise<void>;
  /** UIDs of the clusters that any living replica would follow; undefined while a replica has not sent its UIDs. */
  registered(): Promise<ReadonlySet<string> | undefined>;
  /** Publishes how clusters are followed. States whose lease is not held, or is of an older term, are ignored. */
  tell(states: readonly ToldState[]): Promise<void>;
  /** The states that were published after `stamp`; 0 gives all of them. Stamps only grow. */
  told(stamp: number): Promise<{ readonly stamp: number; readonly states: readonly ToldState[] }>;
  /** Deletes the published states of clusters. */
  untell(uids: readonly string[]): Promise<void>;
}
