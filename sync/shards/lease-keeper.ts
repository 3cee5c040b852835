// Renews the heartbeat of this replica in the store, takes the leases that are meant for it, and gives back the others.
// Easy to get wrong: a replica that cannot renew its leases must stop writing before others may take them. So the time
// of a lease is counted from when the heartbeat was sent, a margin is subtracted from it, and it is checked before each
// write.
import type { Leases, ShardState } from '../../store/leases.ts';
import { rowForm } from '../../store/row-form.ts';
import type { ShardWriter } from '../../store/store.ts';
import { assign } from './assignment.ts';
import { makeStoreClock, type StoreClock } from './store-clock.ts';

/** Intervals and time limits of leases, in milliseconds. */
export interface LeaseTiming {
  readonly lookMs: number;
  readonly heartbeatMs: number;
  /** A replica without heartbeats loses its leases after this time. Must be the same as in the store. */
  readonly leaseMs: number;
  /** This replica stops writing this long before its leases end. */
  readonly marginMs: number;
  /**
   * The store must have answered for this long before this replica assigns shards: until then, other replicas may not
   * have renewed their heartbeats after an outage.
   */
  readonly settleMs: number;
  /** The longest wait for an answer of the store. After it, the request counts as failed. */
  readonly answerMs: number;
  /** The states of shards that were read longer ago than this no longer count: their owners may have changed since. */
  readonly currentMs: number;
}

export const defaultLeaseTiming: LeaseTiming = Object.freeze({
  lookMs: 1_000,
  heartbeatMs: 3_000,
  leaseMs: 15_000,
  marginMs: 3_000,
  settleMs: 4_000,
  answerMs: 5_000,
  currentMs: 8_000,
});

/**
 * How a lease ends. `given back`: the store gets it back after `onDrop` has resolved. `lost`: this replica no longer
 * holds it.
 */
export type LeaseEnd = 'given back' | 'lost';

export interface LeaseKeeperOptions {
  readonly leases: Leases;
  /** Name of this replica; a new one after each start. */
  readonly replica: string;
  readonly weight: number;
  /**
   * Returns the UIDs of the cluster records that this replica would follow; undefined before they are known. It must
   * return the same array until they change.
   */
  readonly uids: () => readonly string[] | undefined;
  /** Returns the changes per second that this replica writes, by shard number. */
  readonly rates: () => readonly number[];
  /** Called when this replica has taken a lease and may write its shard. */
  readonly onTake: (lease: ShardWriter) => void;
  /** Called when this replica must stop writing a shard. Resolves when nothing more is written to it. */
  readonly onDrop: (lease: ShardWriter, end: LeaseEnd) => Promise<void>;
  /** Called each time the states of all shards were read. */
  readonly onLook: () => void;
  /** Called with the error when the store does not answer, and with undefined after each success. */
  readonly onTrouble: (error: unknown) => void;
  readonly timing?: Partial<LeaseTiming> | undefined;
  /** Returns milliseconds of a clock that never goes back. */
  readonly localMs?: () => number;
}

export class LeaseKeeper {
  readonly clock: StoreClock;
  readonly #options: LeaseKeeperOptions;
  readonly #timing: LeaseTiming;
  readonly #localMs: () => number;
  readonly #held = new Map<number, ShardWriter>();
  /** Shards that this replica has not finished writing yet, although their lease ends. */
  readonly #ending = new Map<number, Promise<void>>();
  #states: readonly ShardState[] = [];
  #life = '';
  #sentUids: readonly string[] | undefined;
  #beatAtMs = Number.NEGATIVE_INFINITY;
  #writesUntilMs = Number.NEGATIVE_INFINITY;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /**
   * When the store began to answer without interruption, in milliseconds of `#localMs`; undefined while it does not
   * answer.
   */
  #answersSinceMs: number | undefined;
  #guard: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
    this.#timing = { ...defaultLeaseTiming, ...options.timing };
    this.#localMs = options.localMs ?? (() => performance.now());
    this.clock = makeStoreClock(this.#localMs);
  }

  /**
   * Sends the first heartbeat and takes leases, then repeats both.
   * @throws GatewayError (rejects) INDEX_UNAVAILABLE when the store does not answer
   */
  async start(): Promise<void> {
    await this.#beat();
    await this.#look();
    this.#answersSinceMs = this.#localMs();
    this.#schedule();
  }

  /** The states of all shards as they were last read from the store. */
  get states(): readonly ShardState[] {
    return this.#states;
  }

  /** Whether `states` were read lately, so that they still tell which shards are followed. */
  get isCurrent(): boolean {
    return this.#localMs() - this.#lookedAtMs < this.#timing.currentMs;
  }

  get held(): ReadonlyMap<number, ShardWriter> {
    return this.#held;
  }

  /** Whether this replica may still write with a lease. When the last heartbeat is too old, it drops all its leases. */
  mayWrite({ shard, epoch }: ShardWriter): boolean {
    if (this.#localMs() >= this.#writesUntilMs) this.#dropAll();
    return this.#held.get(shard)?.epoch === epoch;
  }

  /** Drops a lease after the store has refused a write with it. */
  refused({ shard, epoch }: ShardWriter): void {
    if (this.#held.get(shard)?.epoch === epoch) this.#drop(shard, 'lost');
  }

  /** Gives all leases back, so that other replicas can take them at once, and stops. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#round;
    const { leases, replica } = this.#options;
    for (const shard of [...this.#held.keys()]) this.#drop(shard, 'given back');
    await Promise.all(this.#ending.values());
    clearTimeout(this.#guard);
    // Without this call, other replicas would wait for this one until its last heartbeat is too old.
    await this.#within(leases.leave(replica)).catch(() => undefined);
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#round = this.#next().finally(() => this.#schedule());
    }, this.#timing.lookMs);
  }

  async #next(): Promise<void> {
    const { onTrouble } = this.#options;
    try {
      if (this.#localMs() - this.#beatAtMs >= this.#timing.heartbeatMs || this.#hasNews) await this.#beat();
      await this.#look();
      this.#answersSinceMs ??= this.#localMs();
      onTrouble(undefined);
    } catch (error) {
      this.#answersSinceMs = undefined;
      this.#sentUids = undefined;
      this.#beatAtMs = Number.NEGATIVE_INFINITY;
      onTrouble(error);
    }
  }

  get #hasNews(): boolean {
    return this.#options.uids() !== this.#sentUids;
  }

  async #beat(): Promise<void> {
    const { leases, replica, weight, rates } = this.#options;
    const uids = this.#options.uids();
    const sentAtMs = this.#localMs();
    const news = uids === undefined || uids === this.#sentUids ? {} : { uids };
    const answer = await this.#within(leases.beat({ replica, weight, form: rowForm, ...news, rates: rates() }));
    this.clock.note(sentAtMs, this.#localMs(), answer.nowMs);
    this.#sentUids = answer.knowsUids ? uids : undefined;
    if (answer.life !== this.#life) this.#dropAll();
    this.#life = answer.life;
    this.#beatAtMs = sentAtMs;
    this.#writesUntilMs = sentAtMs + this.#timing.leaseMs - this.#timing.marginMs;
    clearTimeout(this.#guard);
    this.#guard = setTimeout(() => this.#dropAll(), this.#writesUntilMs - this.#localMs()).unref();
  }

  async #look(): Promise<void> {
    const { leases, replica, onTake, onLook } = this.#options;
    if (this.#isSettled) await this.#within(leases.plan(assign));
    this.#states = await this.#within(leases.look());
    this.#lookedAtMs = this.#localMs();
    const { free, left } = this.#compareHeld();
    // Gives back leases that ended here while the store did not answer.
    if (left.length > 0) await this.#within(leases.release(left));
    if (free.length > 0 && !this.#isClosed) {
      for (const lease of await this.#within(leases.take(replica, free))) {
        this.#held.set(lease.shard, lease);
        onTake(lease);
      }
    }
    onLook();
  }

  /**
   * Drops the leases that this replica no longer holds, by the states that were read last. Returns the shards that it
   * may take, and leases that ended here but that the store still counts as held by this replica.
   */
  #compareHeld(): { readonly free: readonly number[]; readonly left: readonly ShardWriter[] } {
    const { replica } = this.#options;
    const free: number[] = [];
    const left: ShardWriter[] = [];
    for (const { shard, owner, wanted, epoch, isHeld, hasLostWrites } of this.#states) {
      const held = this.#held.get(shard);
      const isLost = owner !== replica || epoch !== held?.epoch || hasLostWrites;
      if (held !== undefined && isLost) this.#drop(shard, 'lost');
      else if (held !== undefined && wanted !== replica) this.#drop(shard, 'given back');
      const canTake = owner === '' || owner === replica || !isHeld;
      if (this.#held.has(shard) || this.#ending.has(shard)) continue;
      if (wanted === replica && canTake) free.push(shard);
      else if (owner === replica && wanted !== replica) left.push({ shard, epoch });
    }
    return { free, left };
  }

  get #isSettled(): boolean {
    return this.#answersSinceMs !== undefined && this.#localMs() - this.#answersSinceMs >= this.#timing.settleMs;
  }

  #dropAll(): void {
    for (const shard of [...this.#held.keys()]) this.#drop(shard, 'lost');
  }

  #drop(shard: number, end: LeaseEnd): void {
    const { leases, onDrop } = this.#options;
    const lease = this.#held.get(shard)!;
    // While a lease is given back, it is still held, so that running writes can be committed.
    if (end === 'lost') this.#held.delete(shard);
    if (this.#ending.has(shard)) return;
    const ended = onDrop(lease, end)
      .then(async () => {
        this.#held.delete(shard);
        // If the release fails, the lease ends when this replica takes it again or when its heartbeats end.
        if (end === 'given back') await this.#within(leases.release([lease])).catch(() => undefined);
      })
      .finally(() => this.#ending.delete(shard));
    this.#ending.set(shard, ended);
  }

  /** Rejects when the store does not answer in time, so that a hanging connection cannot delay the next heartbeat. */
  async #within<Result>(work: Promise<Result>): Promise<Result> {
    const { answerMs } = this.#timing;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`the store does not answer within ${answerMs} ms`)), answerMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
