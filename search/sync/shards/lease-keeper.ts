// Keeps this replica alive in the store, takes the leases that are meant for it, and gives up those that are not. Easy
// to get wrong: who cannot renew must stop writing before others may take its leases. So a lease counts from when its
// heartbeat was sent, ends a margin early, and is looked at before each write.
import type { Leases, ShardState } from '../../stores/leases.ts';
import type { ShardWriter } from '../../stores/store.ts';
import { assign } from './assignment.ts';
import { makeStoreClock, type StoreClock } from './store-clock.ts';

/** Milliseconds. */
export interface LeaseTiming {
  readonly lookMs: number;
  readonly heartbeatMs: number;
  /** The store's: a silent replica loses its leases after this. */
  readonly leaseMs: number;
  /** Writing ends this long before. */
  readonly marginMs: number;
  /** The store must have answered for this long before this replica decides: others are back by then, too. */
  readonly settleMs: number;
  /** Longest wait for an answer. */
  readonly answerMs: number;
}

export const defaultLeaseTiming: LeaseTiming = Object.freeze({
  lookMs: 1_000,
  heartbeatMs: 3_000,
  leaseMs: 15_000,
  marginMs: 3_000,
  settleMs: 4_000,
  answerMs: 5_000,
});

/** How a lease ends: it is given back when `onDrop` has resolved, or is gone already. */
export type LeaseEnd = 'given back' | 'lost';

export interface LeaseKeeperOptions {
  readonly leases: Leases;
  /** Name of this replica; another one after each start. */
  readonly replica: string;
  readonly weight: number;
  /** UIDs of the records that it would follow; undefined before they are known. The same array until they change. */
  readonly uids: () => readonly string[] | undefined;
  /** Changes a second, by shard. */
  readonly rates: () => readonly number[];
  /** This replica may write the shard now. */
  readonly onTake: (lease: ShardWriter) => void;
  /** It ends writing the shard: resolves when nothing more of it is written. */
  readonly onDrop: (lease: ShardWriter, end: LeaseEnd) => Promise<void>;
  /** Called after each look. */
  readonly onLook: () => void;
  /** With undefined when it works again. */
  readonly onTrouble: (error: unknown) => void;
  readonly timing?: Partial<LeaseTiming> | undefined;
  /** A clock that never goes back, milliseconds. */
  readonly localMs?: () => number;
}

export class LeaseKeeper {
  readonly clock: StoreClock;
  readonly #options: LeaseKeeperOptions;
  readonly #timing: LeaseTiming;
  readonly #localMs: () => number;
  readonly #held = new Map<number, ShardWriter>();
  /** Shards that this replica has not finished writing yet. */
  readonly #ending = new Map<number, Promise<void>>();
  #states: readonly ShardState[] = [];
  #life = '';
  #sentUids: readonly string[] | undefined;
  #beatAtMs = Number.NEGATIVE_INFINITY;
  #writesUntilMs = Number.NEGATIVE_INFINITY;
  /** Since when the store answers; undefined while it does not. */
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

  /** Begins. @throws GatewayError (rejects) INDEX_UNAVAILABLE when the store does not answer */
  async start(): Promise<void> {
    await this.#beat();
    await this.#look();
    this.#answersSinceMs = this.#localMs();
    this.#schedule();
  }

  /** All shards as they were at the last look. */
  get states(): readonly ShardState[] {
    return this.#states;
  }

  get held(): ReadonlyMap<number, ShardWriter> {
    return this.#held;
  }

  /** Whether a lease still holds. When none can, all are dropped. */
  mayWrite({ shard, epoch }: ShardWriter): boolean {
    if (this.#localMs() >= this.#writesUntilMs) this.#dropAll();
    return this.#held.get(shard)?.epoch === epoch;
  }

  /** The store has refused a write with this lease. */
  refused({ shard, epoch }: ShardWriter): void {
    if (this.#held.get(shard)?.epoch === epoch) this.#drop(shard, 'lost');
  }

  /** Gives all leases back, so that other replicas go on at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#round;
    const { leases, replica } = this.#options;
    for (const shard of [...this.#held.keys()]) this.#drop(shard, 'given back');
    await Promise.all(this.#ending.values());
    clearTimeout(this.#guard);
    // Otherwise the others take it for dead a little later.
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
    const answer = await this.#within(leases.beat({ replica, weight, ...news, rates: rates() }));
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
    const { free, left } = this.#compareHeld();
    // Ended here while the store was away.
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
   * Drops the leases that are no longer this replica's, by the states that were read last. Returns the shards that it
   * may take, and the leases that the store still has for it although it has ended them.
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
    // What is under way may still be committed while a lease is given back.
    if (end === 'lost') this.#held.delete(shard);
    if (this.#ending.has(shard)) return;
    const ended = onDrop(lease, end)
      .then(async () => {
        this.#held.delete(shard);
        // What is not given back ends with this replica's life, or when it takes it anew.
        if (end === 'given back') await this.#within(leases.release([lease])).catch(() => undefined);
      })
      .finally(() => this.#ending.delete(shard));
    this.#ending.set(shard, ended);
  }

  /** A connection that hangs must not keep the next heartbeat. */
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
