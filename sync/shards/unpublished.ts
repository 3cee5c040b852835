// Finds clusters that nobody follows because the owner of their shard does not have their records. An owner publishes a
// state of each cluster that it follows, with the epoch of its lease: a number that grows each time a shard is taken.
// So when no state with the present epoch appears, the owner does not know the cluster. Replicas have different records
// when their sources or selections differ, or when one reads a source later.
import type { ShardState } from '../../store/leases.ts';

/**
 * How many milliseconds the replica that owns a shard has to publish the state of each cluster in it, counted from when
 * it took the shard or the cluster appeared. A cluster without a state after that is reported as followed by nobody.
 */
const graceMs = 5_000;

export interface UnpublishedOptions {
  readonly shardOf: (uid: string) => number;
  /** Returns the epoch with which a state of the cluster was published last; undefined when none was published. */
  readonly publishedIn: (uid: string) => number | undefined;
  /** Returns milliseconds of a clock that never goes back. */
  readonly localMs: () => number;
}

interface Waiting {
  readonly epoch: number;
  readonly sinceMs: number;
}

export class Unpublished {
  readonly #options: UnpublishedOptions;
  /** The clusters without a published state in the present epoch, and since when they lack it, by UID. */
  #waiting: ReadonlyMap<string, Waiting> = new Map();
  #isFirst = true;

  constructor(options: UnpublishedOptions) {
    this.#options = options;
  }

  /**
   * Notes of which clusters no replica has published a state in the present epoch, and since when. Call it each time
   * the states of all shards were read.
   * @param uids the UIDs of the clusters that other replicas shall follow
   * @param states the states of all shards, by shard number
   */
  look(uids: Iterable<string>, states: readonly ShardState[]): void {
    const { shardOf, publishedIn, localMs } = this.#options;
    const waiting = new Map<string, Waiting>();
    for (const uid of uids) {
      const shard = states[shardOf(uid)];
      if (shard === undefined || shard.owner === '' || publishedIn(uid) === shard.epoch) continue;
      const { epoch } = shard;
      const before = this.#waiting.get(uid);
      // At the first look, a missing state counts as missing for long, because this process cannot know since when.
      const sinceMs = this.#isFirst ? Number.NEGATIVE_INFINITY : localMs();
      waiting.set(uid, before?.epoch === epoch ? before : { epoch, sinceMs });
    }
    this.#waiting = waiting;
    if (states.length > 0) this.#isFirst = false;
  }

  /** Whether nobody follows the cluster, because the owner of its shard does not know it. */
  has(uid: string): boolean {
    const sinceMs = this.#waiting.get(uid)?.sinceMs;
    return sinceMs !== undefined && this.#options.localMs() - sinceMs >= graceMs;
  }
}
