// What replicas tell each other of how clusters are followed, by way of the store: owners tell what has changed, and
// everyone reads what is new. What changes all the time (times, counts) is told apart and coarsely.
import type { Leases, ToldState } from '../../stores/leases.ts';
import type { ShardWriter } from '../../stores/store.ts';
import type { ClusterState, SyncFault, TypeState } from '../sync-types.ts';
import { toldState, type ToldState as KnownState } from '../told-state.ts';

/** Confirmations are told again when one is so much newer, milliseconds. */
const coarseMs = 4_000;
/** Of each type: when it was confirmed, and its objects. */
const numbersOfType = 2;

/** What was told of one cluster, and with which lease. */
export type Told = KnownState & ShardWriter;

/** A cluster's state with the lease of who follows it. */
export interface OwnState {
  readonly state: ClusterState;
  readonly lease: ShardWriter;
}

export class ToldStates {
  readonly #leases: Leases;
  /** What this replica has told, by UID. */
  readonly #said = new Map<string, OwnState & { readonly numbers: readonly number[] }>();
  readonly #heard = new Map<string, Told>();
  #stamp = 0;

  constructor(leases: Leases) {
    this.#leases = leases;
  }

  /** What another replica has told of a cluster. */
  of(uid: string): Told | undefined {
    return this.#heard.get(uid);
  }

  /**
   * Tells what has changed since the last call.
   * @param isHeld whether this replica still follows the clusters of a shard that it knows
   * @throws GatewayError (rejects); then the next call tells all of it
   */
  async tell(states: readonly OwnState[], isHeld: (lease: ShardWriter) => boolean): Promise<void> {
    const rows: ToldState[] = [];
    const uids = new Set(states.map(({ state }) => state.uid));
    for (const [uid, { state, lease, numbers }] of this.#said) {
      if (uids.has(uid)) continue;
      this.#said.delete(uid);
      // Others may still know the cluster.
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
      await this.#leases.tell(rows);
    } catch (error) {
      this.tellAnew();
      throw error;
    }
  }

  /** The next call of `tell` tells everything: what was told may be lost. */
  tellAnew(): void {
    this.#said.clear();
  }

  /** Reads what is new. @returns whether any of it is more than times and counts */
  async hear(): Promise<boolean> {
    const { stamp, states } = await this.#leases.told(this.#stamp);
    this.#stamp = stamp;
    for (const { uid, shard, epoch, info, numbers } of states) {
      const before = this.#heard.get(uid)?.state;
      const state = info === undefined ? before : (JSON.parse(info) as ClusterState);
      if (state !== undefined) this.#heard.set(uid, toldOf({ shard, epoch }, state, numbers));
    }
    return states.some(({ info }) => info !== undefined);
  }

  forget(uids: readonly string[]): Promise<void> {
    for (const uid of uids) this.#heard.delete(uid);
    return this.#leases.untell(uids);
  }
}

/** What is wrong with a cluster that the owner of its shard does not know. */
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

function toldOf(lease: ShardWriter, info: ClusterState, numbers: readonly number[]): Told {
  const types = info.types.map((type, i): TypeState => {
    const [confirmedAtMs = 0, objects = 0] = numbers.slice(i * numbersOfType, (i + 1) * numbersOfType);
    // Undefined is not in JSON.
    return Object.freeze({
      ...type,
      fault: type.fault,
      objects,
      confirmedAtMs: confirmedAtMs === 0 ? undefined : confirmedAtMs,
    });
  });
  return {
    ...lease,
    ...toldState(Object.freeze({ ...info, incarnation: info.incarnation, fault: info.fault, types })),
  };
}

/** Whether two states differ in times and counts only. */
function isSameInfo(one: ClusterState, other: ClusterState): boolean {
  return (
    one.cluster === other.cluster &&
    one.incarnation?.id === other.incarnation?.id &&
    one.fault?.message === other.fault?.message &&
    one.types.length === other.types.length &&
    one.types.every((type, i) => isSameType(type, other.types[i]!)) &&
    JSON.stringify(one.refused) === JSON.stringify(other.refused)
  );
}

function isSameType(one: TypeState, other: TypeState): boolean {
  return (
    one.type === other.type &&
    one.isChosen === other.isChosen &&
    one.phase === other.phase &&
    one.isWhole === other.isWhole &&
    one.fault?.message === other.fault?.message &&
    one.readAs === other.readAs &&
    one.listed?.done === other.listed?.done &&
    one.listed?.of === other.listed?.of
  );
}
