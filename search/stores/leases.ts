// Who follows which clusters, for processes (replicas) that share one store. The clusters are divided into shards; a
// lease lets one replica write a shard, for a term. All of it is kept by the store, on the store's clock.
import type { ShardWriter } from './store.ts';

/** What a replica says of itself with each heartbeat. */
export interface Heartbeat {
  /** Unique, also among processes that have ended. */
  readonly replica: string;
  /** How much of the work it takes, compared with others; 1 is usual. */
  readonly weight: number;
  /** UIDs of all cluster records that it would follow. Absent: as it said before. */
  readonly uids?: readonly string[];
  /** Changes that it writes in a second, by shard. */
  readonly rates: readonly number[];
}

export interface HeartbeatAnswer {
  /** Another one than in the answer before: the replica was taken for dead since, and has no leases any more. */
  readonly life: string;
  /** False: `uids` are not known, and shall be sent. */
  readonly knowsUids: boolean;
  /** Unix milliseconds of the store's clock while the heartbeat was answered. */
  readonly nowMs: number;
}

/** Who may write a shard. */
export interface ShardState extends ShardWriter {
  /** '' for nobody. */
  readonly owner: string;
  /** Who shall be the owner; '' for nobody. */
  readonly wanted: string;
  /** Whether the owner has lately said that it lives. Without an owner: whether the last has just given it back. */
  readonly isHeld: boolean;
  /** True when this process holds the lease and the store has lost writes that it had acknowledged. */
  readonly hasLostWrites: boolean;
}

/** What is known when it is decided who follows what. */
export interface Situation {
  /** Those that live and whose clusters are known. */
  readonly replicas: readonly {
    readonly name: string;
    readonly weight: number;
    /** Its clusters, by shard. */
    readonly known: readonly number[];
    /** It has missed a heartbeat: it may have died. */
    readonly isSilent: boolean;
  }[];
  readonly shards: readonly {
    readonly shard: number;
    /** '' for nobody; also somebody who has died. */
    readonly owner: string;
    /** '' for nobody; also somebody who has died. */
    readonly wanted: string;
    /** Rows that are kept. */
    readonly rows: number;
    /** Changes in a second, as its owner says. */
    readonly rate: number;
    /** An operator gave it to who is `wanted`: it is not moved to share the work better. */
    readonly isPinned?: boolean;
  }[];
  /** How many shards were moved from one living replica to another in the last ten seconds. */
  readonly lately: number;
}

/** Who shall own a shard from now on; '' for nobody. */
export interface Assignment {
  readonly shard: number;
  readonly to: string;
  /** It is taken from a replica that lives. */
  readonly isMove: boolean;
}

/** What an owner says of one cluster. */
export interface ToldState extends ShardWriter {
  readonly uid: string;
  /** Absent: as before. Of rows that are read: absent when unchanged since. */
  readonly info?: string;
  /** What changes all the time, integers. */
  readonly numbers: readonly number[];
}

/** All methods reject with GatewayError INDEX_UNAVAILABLE while the store cannot answer. */
export interface Leases {
  readonly shards: number;
  /** @param uid of a cluster's record */
  shardOf(uid: string): number;
  /** Says that a replica lives, which makes its leases hold on. */
  beat(heartbeat: Heartbeat): Promise<HeartbeatAnswer>;
  /** All shards by number. Who has not said for long that it lives is taken for dead first. */
  look(): Promise<readonly ShardState[]>;
  /** Names of the replicas that live, in order. */
  replicas(): Promise<readonly string[]>;
  /**
   * Gives a shard to a replica until that one ends; undefined: until now.
   * @returns false when no such replica lives, or when it knows no cluster of the shard
   */
  pin(shard: number, replica: string | undefined): Promise<boolean>;
  /**
   * Decides who shall own what; one process at a time does, at most once a second.
   * @returns false when another does or has just done it
   */
  plan(decide: (situation: Situation) => readonly Assignment[]): Promise<boolean>;
  /**
   * Takes those of the shards that are meant for the replica and that no other living one holds, each in a new term.
   */
  take(replica: string, shards: readonly number[]): Promise<readonly ShardWriter[]>;
  /** Gives leases back, so that others can take them at once. */
  release(leases: readonly ShardWriter[]): Promise<void>;
  /** The replica ends and has given everything back. */
  leave(replica: string): Promise<void>;
  /** UIDs that any living replica would follow; undefined while one of them has not said which. */
  registered(): Promise<ReadonlySet<string> | undefined>;
  /** Says how clusters are followed. What is said without the lease, or of an older term, is ignored. */
  tell(states: readonly ToldState[]): Promise<void>;
  /** What was told after `stamp`; 0 for all of it. Stamps only grow. */
  told(stamp: number): Promise<{ readonly stamp: number; readonly states: readonly ToldState[] }>;
  /** Forgets what was told of clusters. */
  untell(uids: readonly string[]): Promise<void>;
}
