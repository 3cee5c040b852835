// Collects the changes of one type, and commits them together with the resourceVersion (position) that they lead to. A
// batch is committed when it has enough rows or bytes, or is old enough. Easy to get wrong: a position must never be
// committed before a change that precedes it. While the index store is slow, reading from the member cluster waits.
import type { Backoff } from '../../lib/backoff.ts';
import { FencedError } from '../../store/fenced-error.ts';
import { isIndexFull } from '../../store/index-full.ts';
import type { Commit, RowWrite, SyncPosition, WriteBatch } from '../../store/store.ts';
import type { ObjectKey } from '../../query/types.ts';
import { pause, type ByteBudget } from '../../lib/concurrency/gates.ts';

/** Takes the changes of one type and commits them in batches. */
export interface Batcher {
  /**
   * Adds a row to the batch. When a promise is returned, the caller must await it before it reads the next object.
   * @param position the resourceVersion that is reached with this change; committed together with it
   */
  put(row: RowWrite, position?: SyncPosition): Promise<void> | undefined;
  remove(key: ObjectKey, position?: SyncPosition): Promise<void> | undefined;
  /**
   * Says that all changes so far lead to this position (a resourceVersion and a time). The position is committed with
   * the next changes. Without changes it is committed after `positionEveryMs`, or after `waitMs` when `soon` is true.
   */
  reach(position: SyncPosition, soon: boolean): void;
  /**
   * Resolves when everything that was added is committed. Rejects when the store has refused it for good (`failure`).
   */
  flush(): Promise<void>;
  /**
   * While `isHeld` is true, batches are committed only by `flush`, or when `heldBytes` are exceeded. Used for lists of
   * RBAC objects, so that access is never decided with half of a new list.
   */
  hold(isHeld: boolean): void;
  /**
   * The error with which the store refused a batch for good: it is full, or another process writes this cluster.
   * Undefined otherwise. While it is set, `put` and `remove` throw, until `retry` is called. Changes since the last
   * commit are lost.
   */
  readonly failure: Error | undefined;
  retry(): void;
  /**
   * When the oldest uncommitted change was added, in milliseconds of `performance.now()`; undefined when all is
   * committed.
   */
  readonly oldestMs: number | undefined;
}

export interface BatcherOptions {
  readonly apply: (batch: Pick<WriteBatch, 'upserts' | 'deletes' | 'position'>) => Promise<Commit>;
  readonly budget: ByteBudget;
  readonly waitMs: number;
  readonly positionEveryMs: number;
  readonly waits: Backoff;
  /**
   * Aborted when reading from the member cluster has ended. Changes that wait for room in the byte budget then fail.
   */
  readonly reading: AbortSignal;
  /** Aborted when a failed commit shall not be tried again. */
  readonly signal: AbortSignal;
  /** Called after each commit. */
  readonly onCommit: (commit: Commit, position: SyncPosition | undefined) => void;
  /**
   * Called with the error when a commit failed and will be tried again, and with undefined when it has then succeeded.
   */
  readonly onFault: (error: unknown) => void;
  /**
   * Called when the index store is full: the deletions of the batch were committed, but its rows and its
   * resourceVersion were not. The type must be listed again.
   */
  readonly onFull: () => void;
  /** Called when another process writes this cluster: nothing of the batch was written, and no later batch will be. */
  readonly onFenced: (error: FencedError) => void;
  readonly limits?: BatchLimits;
}

export interface BatchLimits {
  readonly objects: number;
  readonly bytes: number;
  readonly heldBytes: number;
}

const defaultLimits: BatchLimits = { objects: 500, bytes: 2 * 1024 * 1024, heldBytes: 64 * 1024 * 1024 };

/** Estimated size of a row's labels and searchable values, in bytes, which is added to the size of its object. */
const rowOverheadBytes = 512;

interface Gathered {
  readonly upserts: Map<string, RowWrite>;
  readonly deletes: Map<string, ObjectKey>;
  bytes: number;
  /** How many of `bytes` were taken from the budget, and must be returned to it. */
  taken: number;
  sinceMs: number | undefined;
  position: SyncPosition | undefined;
}

function nothing(): Gathered {
  return { upserts: new Map(), deletes: new Map(), bytes: 0, taken: 0, sinceMs: undefined, position: undefined };
}

export function makeBatcher(options: BatcherOptions): Batcher {
  return new RowBatcher(options);
}

class RowBatcher implements Batcher {
  readonly #options: BatcherOptions;
  readonly #limits: BatchLimits;
  #gathered = nothing();
  #underWay: { readonly done: Promise<void>; readonly sinceMs: number | undefined } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dueAtMs = Number.POSITIVE_INFINITY;
  #isHeld = false;
  #positionAtMs = performance.now();
  #failure: Error | undefined;

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#limits = options.limits ?? defaultLimits;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  get oldestMs(): number | undefined {
    return this.#underWay?.sinceMs ?? this.#gathered.sinceMs;
  }

  put(row: RowWrite, position?: SyncPosition): Promise<void> | undefined {
    const room = this.#weigh(row.raw.length + rowOverheadBytes);
    return room === undefined ? this.#add(row, row, position) : room.then(() => this.#add(row, row, position));
  }

  remove(key: ObjectKey, position?: SyncPosition): Promise<void> | undefined {
    const room = this.#weigh(rowOverheadBytes);
    return room === undefined
      ? this.#add(key, undefined, position)
      : room.then(() => this.#add(key, undefined, position));
  }

  reach(position: SyncPosition, soon: boolean): void {
    const { waitMs, positionEveryMs } = this.#options;
    this.#gathered.position = position;
    if (this.#gathered.sinceMs !== undefined || soon) this.#arm(waitMs);
    else this.#arm(Math.max(waitMs, positionEveryMs - (performance.now() - this.#positionAtMs)));
  }

  async flush(): Promise<void> {
    await this.#start();
    if (this.#failure !== undefined) throw this.#failure;
  }

  retry(): void {
    this.#failure = undefined;
    this.#options.budget.give(this.#gathered.taken);
    this.#gathered = nothing();
    this.#disarm();
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (!isHeld && this.#gathered.sinceMs !== undefined) this.#arm(this.#options.waitMs);
  }

  /** Counts the bytes of a change. @returns a promise to wait for when the budget has no room; undefined otherwise */
  #weigh(bytes: number): Promise<void> | undefined {
    if (this.#isHeld) {
      this.#gathered.bytes += bytes;
      return undefined;
    }
    const room = this.#options.budget.take(bytes, this.#options.reading);
    if (room === undefined) {
      this.#count(bytes);
      return undefined;
    }
    return room.then(() => this.#count(bytes));
  }

  #count(bytes: number): void {
    this.#gathered.bytes += bytes;
    this.#gathered.taken += bytes;
  }

  #add(key: ObjectKey, row: RowWrite | undefined, position: SyncPosition | undefined): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    const gathered = this.#gathered;
    const text = keyText(key);
    if (row === undefined) {
      gathered.upserts.delete(text);
      gathered.deletes.set(text, key);
    } else {
      gathered.deletes.delete(text);
      gathered.upserts.set(text, row);
    }
    gathered.sinceMs ??= performance.now();
    gathered.position = position ?? gathered.position;
    if (!this.#isFull()) this.#arm(this.#options.waitMs);
    else if (this.#underWay === undefined) void this.#start();
    // While a batch is committed, at most one further full batch is collected. Then the reader must wait.
    else return this.#underWay.done.then(() => void this.#start());
    return undefined;
  }

  #isFull(): boolean {
    const { bytes, upserts, deletes } = this.#gathered;
    if (this.#isHeld) return bytes >= this.#limits.heldBytes;
    return upserts.size + deletes.size >= this.#limits.objects || bytes >= this.#limits.bytes;
  }

  /** Schedules a commit in `ms` milliseconds, unless one is scheduled sooner. */
  #arm(ms: number): void {
    const atMs = performance.now() + ms;
    if (this.#isHeld || this.#options.signal.aborted || atMs >= this.#dueAtMs) return;
    clearTimeout(this.#timer);
    this.#dueAtMs = atMs;
    this.#timer = setTimeout(() => {
      this.#disarm();
      if (!this.#isHeld) void this.#start();
    }, ms);
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#dueAtMs = Number.POSITIVE_INFINITY;
  }

  /** Commits the present batch, after a commit that is under way. */
  async #start(): Promise<void> {
    if (this.#underWay !== undefined) {
      await this.#underWay.done;
      await this.#start();
      return;
    }
    this.#disarm();
    const batch = this.#gathered;
    if (this.#failure !== undefined || (batch.sinceMs === undefined && batch.position === undefined)) return;
    this.#gathered = nothing();
    const done = this.#commit(batch).finally(() => {
      this.#underWay = undefined;
      this.#options.budget.give(batch.taken);
    });
    this.#underWay = { done, sinceMs: batch.sinceMs };
    await done;
  }

  /**
   * Repeats the commit until it succeeds, the index store is full, another process writes this cluster, or `signal` is
   * aborted.
   */
  async #commit(batch: Gathered): Promise<void> {
    const { apply, signal, waits, onCommit, onFault, onFenced } = this.#options;
    let isFailing = false;
    while (!signal.aborted) {
      try {
        const { position } = batch;
        const made = await apply({
          upserts: [...batch.upserts.values()],
          deletes: [...batch.deletes.values()],
          ...(position === undefined ? {} : { position }),
        });
        if (position !== undefined) this.#positionAtMs = performance.now();
        if (isFailing) onFault(undefined);
        waits.reset();
        onCommit(made, position);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof FencedError) {
          this.#failure = error;
          onFenced(error);
          return;
        }
        isFailing = true;
        onFault(error);
        if (isIndexFull(error)) {
          await this.#giveUp(batch, error);
          return;
        }
        await pause(waits.next(), signal);
      }
    }
  }

  /**
   * Commits only the deletions of the batch, which free space. Its resourceVersion is not committed, because its rows
   * are not in the index store.
   */
  async #giveUp(batch: Gathered, error: Error): Promise<void> {
    const { apply, onFull } = this.#options;
    this.#failure = error;
    try {
      if (batch.deletes.size > 0) await apply({ upserts: [], deletes: [...batch.deletes.values()] });
    } catch {
      // The type is listed again anyway, and that list finds the same deletions.
    }
    onFull();
  }
}

/** The key of an object in a map: `namespace/name`. */
export function keyText({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}
