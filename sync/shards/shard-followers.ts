// Follows the clusters of the shards that this replica owns, from when it takes a shard's lease until the lease ends.
// Every write uses the lease, and is refused here once the lease was not renewed in time.
import type { ClusterRecord } from '../../model/records.ts';
import { FencedError } from '../../store/fenced-error.ts';
import type { Leases } from '../../store/leases.ts';
import { makeStoredTypes, type StoredTypes } from '../../store/stored-types.ts';
import type { Commit, ShardWriter } from '../../store/store.ts';
import { makeSharedGate, type SharedGate } from '../../lib/concurrency/gates.ts';
import { listsAtOnce, startSync, type SyncOptions } from '../sync.ts';
import type { SyncHandle } from '../member/sync-types.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { OwnState } from './published-states.ts';

export interface ShardFollowersOptions extends Omit<SyncOptions, 'types' | 'writerOf' | 'keepsUnknown' | 'lists'> {
  /** The leases of the store that `store` writes to. */
  readonly leases: Leases;
  readonly keeper: () => Pick<LeaseKeeper, 'mayWrite' | 'refused'>;
  readonly onChange: () => void;
}

interface Shard {
  readonly lease: ShardWriter;
  /** The followers of the shard; undefined until they have started. */
  handle: SyncHandle | undefined;
  readonly begun: Promise<void>;
}

/** A rate is an average over about this many heartbeats. */
const rateBeats = 10;

export class ShardFollowers {
  readonly types: StoredTypes;
  readonly #options: ShardFollowersOptions;
  readonly #shards = new Map<number, Shard>();
  readonly #lists: SharedGate = makeSharedGate(listsAtOnce);
  /** The number of changes written since the last call of `rates`, by shard number. */
  readonly #changes: number[];
  readonly #rates: number[];
  #ratesAtMs = performance.now();

  constructor(options: ShardFollowersOptions) {
    const { leases } = options;
    this.#options = options;
    this.types = makeStoredTypes(options.store);
    this.#changes = Array<number>(leases.shards).fill(0);
    this.#rates = Array<number>(leases.shards).fill(0);
  }

  begin(lease: ShardWriter): void {
    const { log, keeper } = this.#options;
    const begun = startSync(this.#syncOptions(lease)).then(
      (handle) => {
        shard.handle = handle;
        handle.onChange(() => this.#options.onChange());
        this.#options.onChange();
      },
      (error: unknown) => {
        log.warn(
          { err: error },
          'index: the store could not be read; lists and watches of clusters start a little later',
        );
        keeper().refused(lease);
      },
    );
    const shard: Shard = { lease, handle: undefined, begun };
    this.#shards.set(lease.shard, shard);
  }

  /** Ends the followers of a shard. They first commit what was read, unless the lease is lost. */
  async end({ shard: number, epoch }: ShardWriter): Promise<void> {
    const shard = this.#shards.get(number);
    if (shard === undefined || shard.lease.epoch !== epoch) return;
    this.#shards.delete(number);
    this.#rates[number] = 0;
    await shard.begun;
    await shard.handle?.close();
    this.#options.onChange();
  }

  /** The followers of a shard; undefined when this replica does not follow it or they have not started yet. */
  of(shard: number): SyncHandle | undefined {
    return this.#shards.get(shard)?.handle;
  }

  /** Whether this replica follows the clusters of the shard by this lease. */
  has({ shard: number, epoch }: ShardWriter): boolean {
    return this.#shards.get(number)?.lease.epoch === epoch;
  }

  states(): readonly OwnState[] {
    return [...this.#shards.values()].flatMap(({ lease, handle }) =>
      (handle?.state() ?? []).map((state) => ({ state, lease })),
    );
  }

  handles(): readonly SyncHandle[] {
    return [...this.#shards.values()].flatMap(({ handle }) => handle ?? []);
  }

  /**
   * The changes written per second, by shard number, as an average over about half a minute. Called with each
   * heartbeat.
   */
  rates(): readonly number[] {
    const seconds = Math.max(0.001, (performance.now() - this.#ratesAtMs) / 1000);
    this.#ratesAtMs = performance.now();
    for (const [shard, changes] of this.#changes.entries()) {
      this.#rates[shard]! += (changes / seconds - this.#rates[shard]!) / rateBeats;
      this.#changes[shard] = 0;
    }
    return [...this.#rates];
  }

  /** Runs a write with a lease. @throws FencedError (rejects) when the lease does not hold any more */
  async write(lease: ShardWriter, work: () => Promise<Commit>): Promise<Commit> {
    const keeper = this.#options.keeper();
    if (!keeper.mayWrite(lease)) {
      throw new FencedError(`the lease of shard ${lease.shard} was not renewed in time, or is given back`);
    }
    try {
      const commit = await work();
      this.#changes[lease.shard]! += commit.written + commit.deleted;
      return commit;
    } catch (error) {
      if (error instanceof FencedError) keeper.refused(lease);
      throw error;
    }
  }

  #syncOptions(lease: ShardWriter): SyncOptions {
    const { clusters, store, leases } = this.#options;
    const isOurs = (uid: string): boolean => leases.shardOf(uid) === lease.shard;
    const isOf = ({ spec }: ClusterRecord): boolean => isOurs(spec.uid);
    return {
      ...this.#options,
      clusters: {
        list: () => clusters.list().filter(isOf),
        getByUid: (uid) => clusters.getByUid(uid),
        subscribe: (listener) => clusters.subscribe((event) => void (isOf(event.record) && listener(event))),
      },
      store: {
        types: (incarnation) => store.types(incarnation),
        versions: (incarnation, type) => store.versions(incarnation, type),
        catalogVersion: () => store.catalogVersion(),
        apply: (batch) => this.write(lease, () => store.apply(batch, lease)),
        forget: (incarnation, type) => this.write(lease, () => store.forget(incarnation, type, lease)),
      },
      types: this.types,
      writerOf: (uid) => (isOurs(uid) ? lease : undefined),
      keepsUnknown: true,
      lists: this.#lists,
    };
  }
}
