// A table of leases in memory, with a clock that a test sets, for several replicas in one process.
import type { Heartbeat, Leases, PublishedState } from '../../store/leases.ts';

export interface FakeLeases extends Leases {
  /** The present time of the table's clock in Unix milliseconds. Tests set it. */
  nowMs: number;
  /** The name of the replica that each shard is meant for, by shard number. */
  readonly wanted: string[];
  readonly owners: string[];
  readonly epochs: number[];
  /** While true, every method rejects. */
  isAway: boolean;
  readonly released: number[];
  /** Shards that have lost writes. A replica that takes such a shard removes it from the set. */
  readonly setBack: Set<number>;
}

const leaseMs = 15_000;

/**
 * Makes a table of leases. The shard of a cluster is the number at the end of its UID, such as 3 for `r3`, modulo
 * `shards`.
 */
export function makeFakeLeases(shards = 4): FakeLeases {
  const replicas = new Map<string, { readonly life: number; untilMs: number; uids: readonly string[] | undefined }>();
  let lives = 0;
  let stamp = 0;
  const published = new Map<string, PublishedState & { readonly stamp: number; readonly infoStamp: number }>();
  const answer = async (): Promise<void> => {
    if (table.isAway) throw new Error('away');
  };
  const table: FakeLeases = {
    nowMs: 1_000_000,
    wanted: Array<string>(shards).fill(''),
    owners: Array<string>(shards).fill(''),
    epochs: Array<number>(shards).fill(0),
    isAway: false,
    released: [],
    setBack: new Set(),
    shards,
    shardOf: (uid) => Number(uid.slice(1)) % shards,
    async beat({ replica, uids }: Heartbeat) {
      await answer();
      const known = replicas.get(replica) ?? { life: (lives += 1), untilMs: 0, uids: undefined };
      known.untilMs = table.nowMs + leaseMs;
      known.uids = uids ?? known.uids;
      replicas.set(replica, known);
      return { life: String(known.life), knowsUids: known.uids !== undefined, nowMs: table.nowMs };
    },
    async look() {
      await answer();
      for (const [name, { untilMs }] of replicas) if (untilMs < table.nowMs) replicas.delete(name);
      return table.owners.map((owner, shard) => {
        const isHeld = owner === '' || replicas.has(owner);
        const [wanted, epoch] = [table.wanted[shard]!, table.epochs[shard]!];
        return { shard, owner, wanted, epoch, isHeld, hasLostWrites: table.setBack.has(shard) };
      });
    },
    replicas: async () => [...replicas.keys()].toSorted(),
    async pin(shard, replica) {
      if (replica !== undefined) table.wanted[shard] = replica;
      return replica === undefined || replicas.has(replica);
    },
    plan: async () => false,
    async take(replica, numbers) {
      await answer();
      const free = numbers.filter((shard) => {
        const owner = table.owners[shard]!;
        return table.wanted[shard] === replica && (owner === '' || owner === replica || !replicas.has(owner));
      });
      return free.map((shard) => {
        table.owners[shard] = replica;
        table.setBack.delete(shard);
        return { shard, epoch: (table.epochs[shard]! += 1) };
      });
    },
    async release(leases) {
      await answer();
      for (const { shard, epoch } of leases) {
        table.released.push(shard);
        if (table.epochs[shard] === epoch) table.owners[shard] = '';
      }
    },
    leave: async (replica) => void replicas.delete(replica),
    async registered() {
      const all = [...replicas.values()].map(({ uids }) => uids);
      return all.includes(undefined) ? undefined : new Set(all.flatMap((uids) => uids!));
    },
    async publish(states) {
      await answer();
      stamp += 1;
      for (const state of states) {
        if (state.epoch !== table.epochs[state.shard]) continue;
        const before = published.get(state.uid);
        const info = state.info ?? before!.info!;
        published.set(state.uid, {
          ...state,
          info,
          stamp,
          infoStamp: state.info === undefined ? before!.infoStamp : stamp,
        });
      }
    },
    async published(after) {
      await answer();
      const states = [...published.values()]
        .filter((each) => each.stamp > after)
        .map(({ uid, shard, epoch, numbers, info, infoStamp }) => {
          return { uid, shard, epoch, numbers, ...(infoStamp > after && info !== undefined ? { info } : {}) };
        });
      return { stamp, states };
    },
    withdraw: async (uids) => uids.forEach((uid) => published.delete(uid)),
  };
  return table;
}
