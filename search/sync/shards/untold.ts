// Finds clusters that nobody follows although somebody owns their shard: the owner does not have their records. Owners
// tell the state of each cluster that they follow, so it is told in the term of the lease, or the owner does not know
// it. Replicas have different records when their sources differ, or their selections, or one is read a little later.
import type { ShardState } from '../../stores/leases.ts';

/** An owner tells within a second or two of having taken a shard, or of having heard of a cluster, milliseconds. */
const graceMs = 5_000;

export interface UntoldOptions {
  readonly shardOf: (uid: string) => number;
  /** The term in which the state of a cluster was told last; undefined when it never was. */
  readonly toldIn: (uid: string) => number | undefined;
  /** A clock that never goes back, milliseconds. */
  readonly localMs: () => number;
}

interface Waiting {
  readonly epoch: number;
  readonly sinceMs: number;
}

export class Untold {
  readonly #options: UntoldOptions;
  /** Clusters of which nothing is told in this term, and since when, by UID. */
  #waiting: ReadonlyMap<string, Waiting> = new Map();
  #isFirst = true;

  constructor(options: UntoldOptions) {
    this.#options = options;
  }

  /**
   * Looks at the clusters that other replicas shall follow.
   * @param states of all shards, by number
   */
  look(uids: Iterable<string>, states: readonly ShardState[]): void {
    const { shardOf, toldIn, localMs } = this.#options;
    const waiting = new Map<string, Waiting>();
    for (const uid of uids) {
      const shard = states[shardOf(uid)];
      if (shard === undefined || shard.owner === '' || toldIn(uid) === shard.epoch) continue;
      const { epoch } = shard;
      const before = this.#waiting.get(uid);
      // What this process sees first has been so before.
      const sinceMs = this.#isFirst ? Number.NEGATIVE_INFINITY : localMs();
      waiting.set(uid, before?.epoch === epoch ? before : { epoch, sinceMs });
    }
    this.#waiting = waiting;
    if (states.length > 0) this.#isFirst = false;
  }

  /** Whether nobody follows the cluster, as the owner of its shard does not know it. */
  has(uid: string): boolean {
    const sinceMs = this.#waiting.get(uid)?.sinceMs;
    return sinceMs !== undefined && this.#options.localMs() - sinceMs >= graceMs;
  }
}
