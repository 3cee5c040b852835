// Exchanges between replicas, through the store, the states of the copies of clusters in the index: how complete and up
// to date they are. The owner of a shard publishes the states of its clusters when they change, and every replica reads
// what is new. Times and counts change all the time, so they are published separately and less often.
import type { Leases, PublishedState } from '../../store/leases.ts';
import type { ShardWriter } from '../../store/store.ts';
import type { ClusterState, SyncFault, TypeState } from '../member/sync-types.ts';
import { publishedState, type PublishedState as KnownState } from './published-state.ts';

/**
 * The times at which types were known to be up to date are published again when one of them has moved by this many
 * milliseconds.
 */
const coarseMs = 4_000;
/** How many numbers each type has in `PublishedState.numbers`: its `confirmedAtMs` and its number of objects. */
const numbersOfType = 2;

/** The published state of one cluster, and the lease with which it was published. */
export type Published = KnownState & ShardWriter;

/** The state of a cluster that this replica follows, and its lease. */
export interface OwnState {
  readonly state: ClusterState;
  readonly lease: ShardWriter;
}

export class PublishedStates {
  readonly #leases: Leases;
  /** What this replica has published, by UID of the cluster record. */
  readonly #said = new Map<string, OwnState & { readonly numbers: readonly number[] }>();
  readonly #received = new Map<string, Published>();
  #stamp = 0;

  constructor(leases: Leases) {
    this.#leases = leases;
  }

  /** The state that the owner of a cluster has published; undefined when there is none. */
  of(uid: string): Published | undefined {
    return this.#received.get(uid);
  }

  /**
   * Publishes the states that have changed since the last call.
   * @param isHeld whether this replica still holds the given lease and follows the clusters of its shard
   * @throws GatewayError (rejects); then the next call publishes all states
   */
  async publish(states: readonly OwnState[], isHeld: (lease: ShardWriter) => boolean): Promise<void> {
    const rows: PublishedState[] = [];
    const uids = new Set(states.map(({ state }) => state.uid));
    for (const [uid, { state, lease, numbers }] of this.#said) {
      if (uids.has(uid)) continue;
      this.#said.delete(uid);
      // This replica no longer knows the cluster, but others may. The published fault tells them that nobody follows
      // it.
      const fault = unknownToOwner(state.cluster);
      if (isHeld(lease)) rows.push({ uid, ...lease, numbers, info: infoOf({ ...state, fault }) });
    }
    for (const { state, lease } of states) {
      const before = this.#said.get(state.uid);
      const numbers = numbersOf(state);
      const isSame = before?.lease.epoch === lease.epoch && isSameInfo(before.state, state);
      if (isSame && numbers.every((number, i) => number - before.numbers[i]! < coarseMs || !isTime(i))) continue;
      this.#said.set(state.uid, { state, lease, numbers });
      rows.push({ uid: state.uid, ...lease, numbers, ...(isSame ? {} : { info: infoOf(state) }) });
    }
    try {
      await this.#leases.publish(rows);
    } catch (error) {
      this.publishAnew();
      throw error;
    }
  }

  /** Makes the next call of `publish` publish all states, because the store may have lost those that were published. */
  publishAnew(): void {
    this.#said.clear();
  }

  /**
   * Reads the states that were published since the last call.
   * @returns whether anything but times and counts has changed
   */
  async refresh(): Promise<boolean> {
    const { stamp, states } = await this.#leases.published(this.#stamp);
    this.#stamp = stamp;
    for (const { uid, shard, epoch, info, numbers } of states) {
      const before = this.#received.get(uid)?.state;
      const state = info === undefined ? before : (JSON.parse(info) as ClusterState);
      if (state !== undefined) this.#received.set(uid, publishedOf({ shard, epoch }, state, numbers));
    }
    return states.some(({ info }) => info !== undefined);
  }

  forget(uids: readonly string[]): Promise<void> {
    for (const uid of uids) this.#received.delete(uid);
    return this.#leases.withdraw(uids);
  }
}

/** The fault of a cluster whose shard is owned by a replica that does not know the cluster. */
export function unknownToOwner(cluster: string): SyncFault {
  const message =
    `the process of the gateway that would follow cluster "${cluster}" does not know it: ` +
    'give all replicas the same clusters';
  return { reason: 'Unavailable', message };
}

function isTime(position: number): boolean {
  return position % numbersOfType === 0;
}

function numbersOf({ types }: ClusterState): readonly number[] {
  return types.flatMap(({ confirmedAtMs, objects }) => [confirmedAtMs ?? 0, objects]);
}

function infoOf(state: ClusterState): string {
  const types = state.types.map((type) => ({ ...type, confirmedAtMs: undefined, objects: 0, rate: 0, lagMs: 0 }));
  return JSON.stringify({ ...state, types });
}

function publishedOf(lease: ShardWriter, info: ClusterState, numbers: readonly number[]): Published {
  const types = info.types.map((type, i): TypeState => {
    const [confirmedAtMs = 0, objects = 0] = numbers.slice(i * numbersOfType, (i + 1) * numbersOfType);
    // Sets `fault` even when it is undefined: JSON leaves such fields out.
    return Object.freeze({
      ...type,
      fault: type.fault,
      objects,
      confirmedAtMs: confirmedAtMs === 0 ? undefined : confirmedAtMs,
    });
  });
  return {
    ...lease,
    ...publishedState(Object.freeze({ ...info, incarnation: info.incarnation, fault: info.fault, types })),
  };
}

/** Whether two states are equal apart from times and counts. */
function isSameInfo(one: ClusterState, other: ClusterState): boolean {
  return (
    one.cluster === other.cluster &&
    one.incarnation?.id === other.incarnation?.id &&
    one.fault?.message === other.fault?.message &&
    one.types.length === other.types.length &&
    one.types.every((type, i) => isSameType(type, other.types[i]!)) &&
    JSON.stringify(one.refused) === JSON.stringify(other.refused) &&
    (one.live === other.live || JSON.stringify(one.live) === JSON.stringify(other.live))
  );
}

function isSameType(one: TypeState, other: TypeState): boolean {
  const parts = publishedParts(other);
  return publishedParts(one).every((part, i) => part === parts[i]);
}

function publishedParts({
  type,
  isChosen,
  phase,
  isWhole,
  fault,
  readAs,
  leftOut,
  listed,
}: TypeState): readonly unknown[] {
  const { count, example } = leftOut ?? {};
  return [type, isChosen, phase, isWhole, fault?.message, readAs, count, example, listed?.done, listed?.of];
}
