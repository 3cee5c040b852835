// Gathers changes of one type until they are many, large or old enough, and commits them with the position they lead
// to. Easy to get wrong: a position must never be committed before a change that came before it. While the store is
// slow, the reader of the member waits.
import type { Backoff } from '../../../lib/backoff.ts';
import { FencedError } from '../../stores/fenced-error.ts';
import { isIndexFull } from '../../stores/index-full.ts';
import type { Commit, RowWrite, SyncPosition, WriteBatch } from '../../stores/store.ts';
import type { ObjectKey } from '../../types.ts';
import { pause, type ByteBudget } from './bounds.ts';

/** Where changes of one type go. */
export interface Batcher {
  /**
   * A promise is to be awaited before anything else is read.
   * @param position where this change leads to; committed with it
   */
  put(row: RowWrite, position?: SyncPosition): Promise<void> | undefined;
  remove(key: ObjectKey, position?: SyncPosition): Promise<void> | undefined;
  /** Everything given so far leads here. Written with the next changes, or alone, at once only when `soon`. */
  reach(position: SyncPosition, soon: boolean): void;
  /** Everything given so far is committed. */
  flush(): Promise<void>;
  /** While held nothing is committed but by `flush` or past `heldBytes`: a relist of rights is seen whole. */
  hold(isHeld: boolean): void;
  /**
   * The store is full: nothing is taken until `retry`, and what was given since the last commit is lost. Or it is
   * written by another process: a FencedError, for good.
   */
  readonly failure: Error | undefined;
  retry(): void;
  /** When the oldest change was given that is not committed, by `performance.now`; undefined for none. */
  readonly oldestMs: number | undefined;
}

export interface BatcherOptions {
  readonly apply: (batch: Pick<WriteBatch, 'upserts' | 'deletes' | 'position'>) => Promise<Commit>;
  readonly budget: ByteBudget;
  readonly waitMs: number;
  readonly positionEveryMs: number;
  readonly waits: Backoff;
  /** Aborted when reading has ended: waits for room end. */
  readonly reading: AbortSignal;
  /** Aborted when nothing is to be written any more; a commit under way may still succeed. */
  readonly signal: AbortSignal;
  /** After each commit. */
  readonly onCommit: (commit: Commit, position: SyncPosition | undefined) => void;
  /** The store refused and will be asked again. Undefined: it took what it had refused. */
  readonly onFault: (error: unknown) => void;
  /** Deletions were made, rows and position were not: what was lost must be read again. */
  readonly onFull: () => void;
  /** Another process writes this cluster: nothing of the batch was taken, and nothing will be. */
  readonly onFenced: (error: FencedError) => void;
  readonly limits?: BatchLimits;
}

export interface BatchLimits {
  readonly objects: number;
  readonly bytes: number;
  readonly heldBytes: number;
}

const defaultLimits: BatchLimits = { objects: 500, bytes: 2 * 1024 * 1024, heldBytes: 64 * 1024 * 1024 };

/** Beside the bytes of an object: its terms and labels. */
const rowOverheadBytes = 512;

interface Gathered {
  readonly upserts: Map<string, RowWrite>;
  readonly deletes: Map<string, ObjectKey>;
  bytes: number;
  /** Of `bytes`, what was taken from the budget. */
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

  /** Counts the bytes of a change. @returns a promise where its room must be waited for */
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
    // One batch is written while the next is gathered, no more.
    else return this.#underWay.done.then(() => void this.#start());
    return undefined;
  }

  #isFull(): boolean {
    const { bytes, upserts, deletes } = this.#gathered;
    if (this.#isHeld) return bytes >= this.#limits.heldBytes;
    return upserts.size + deletes.size >= this.#limits.objects || bytes >= this.#limits.bytes;
  }

  /** Commits in so many milliseconds, or when it is due before that. */
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

  /** Begins a commit of what is there, after the one under way. */
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

  /** Asks the store until it takes the batch, is full or another's, or is not to be asked again. */
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

  /** Deletions make room; a position would claim rows that were not taken. */
  async #giveUp(batch: Gathered, error: Error): Promise<void> {
    const { apply, onFull } = this.#options;
    this.#failure = error;
    try {
      if (batch.deletes.size > 0) await apply({ upserts: [], deletes: [...batch.deletes.values()] });
    } catch {
      // They are found again by the list that follows.
    }
    onFull();
  }
}

/** One text for an object's key. */
export function keyText({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}
