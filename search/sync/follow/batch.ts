// Gathers changes of one type until they are many, large or old enough, and commits them with the position they lead
// to. Easy to get wrong: a position must never be committed before a change that came before it; while the store is
// slow, whoever reads the member must wait, not gather.
import type { Backoff } from '../../../lib/backoff.ts';
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
  /** The store is full: nothing is taken until `retry`, and what was given since the last commit is lost. */
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
  /** Nobody reads any more; who waits for room is told. */
  readonly reading: AbortSignal;
  /** A store that refuses is not asked again. */
  readonly signal: AbortSignal;
  /** After each commit. */
  readonly onCommit: (commit: Commit, position: SyncPosition | undefined) => void;
  /** The store refused; it is asked again. Undefined: it took what it had refused. */
  readonly onFault: (error: unknown) => void;
  /** Its deletions were made, its rows and position were not; whoever reads must read again what was lost. */
  readonly onFull: () => void;
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
  const { budget, waitMs, signal } = options;
  const limits = options.limits ?? defaultLimits;
  let gathered = nothing();
  let underWay: { readonly done: Promise<void>; readonly sinceMs: number | undefined } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let dueAtMs = Number.POSITIVE_INFINITY;
  let isHeld = false;
  let positionAtMs = performance.now();
  let failure: Error | undefined;

  const isFull = (): boolean =>
    isHeld
      ? gathered.bytes >= limits.heldBytes
      : gathered.upserts.size + gathered.deletes.size >= limits.objects || gathered.bytes >= limits.bytes;

  const arm = (ms: number): void => {
    const atMs = performance.now() + ms;
    if (isHeld || signal.aborted || atMs >= dueAtMs) return;
    clearTimeout(timer);
    dueAtMs = atMs;
    timer = setTimeout(() => {
      disarm();
      if (!isHeld) void start();
    }, ms);
  };

  const disarm = (): void => {
    clearTimeout(timer);
    dueAtMs = Number.POSITIVE_INFINITY;
  };

  /** Begins a commit of what is there, after the one under way. */
  const start = async (): Promise<void> => {
    if (underWay !== undefined) {
      await underWay.done;
      await start();
      return;
    }
    disarm();
    if (failure !== undefined || (gathered.sinceMs === undefined && gathered.position === undefined)) return;
    const batch = gathered;
    gathered = nothing();
    const done = commit(batch).finally(() => {
      underWay = undefined;
      budget.give(batch.taken);
    });
    underWay = { done, sinceMs: batch.sinceMs };
    await done;
  };

  const commit = async (batch: Gathered): Promise<void> => {
    let isFailing = false;
    for (;;) {
      try {
        const { position } = batch;
        const made = await options.apply({
          upserts: [...batch.upserts.values()],
          deletes: [...batch.deletes.values()],
          ...(position === undefined ? {} : { position }),
        });
        if (position !== undefined) positionAtMs = performance.now();
        if (isFailing) options.onFault(undefined);
        options.waits.reset();
        options.onCommit(made, position);
        return;
      } catch (error) {
        if (signal.aborted) return;
        isFailing = true;
        options.onFault(error);
        if (isIndexFull(error)) {
          await giveUp(batch, error);
          return;
        }
        await pause(options.waits.next(), signal);
        if (signal.aborted) return;
      }
    }
  };

  /** Deletions make room; a position would claim rows that were not taken. */
  const giveUp = async (batch: Gathered, error: Error): Promise<void> => {
    failure = error;
    try {
      if (batch.deletes.size > 0) await options.apply({ upserts: [], deletes: [...batch.deletes.values()] });
    } catch {
      // They are found again by the list that follows.
    }
    options.onFull();
  };

  const add = (
    key: ObjectKey,
    row: RowWrite | undefined,
    position: SyncPosition | undefined,
  ): Promise<void> | undefined => {
    if (failure !== undefined) throw failure;
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
    if (!isFull()) arm(waitMs);
    else if (underWay === undefined) void start();
    // One batch is written while the next is gathered, no more.
    else return underWay.done.then(() => void start());
    return undefined;
  };

  const weigh = (bytes: number): Promise<void> | undefined => {
    if (isHeld) {
      gathered.bytes += bytes;
      return undefined;
    }
    const room = budget.take(bytes, options.reading);
    const count = (): void => {
      gathered.bytes += bytes;
      gathered.taken += bytes;
    };
    if (room === undefined) {
      count();
      return undefined;
    }
    return room.then(count);
  };

  return {
    put(row, position) {
      const room = weigh(row.raw.length + rowOverheadBytes);
      return room === undefined ? add(row, row, position) : room.then(() => add(row, row, position));
    },
    remove(key, position) {
      const room = weigh(rowOverheadBytes);
      return room === undefined ? add(key, undefined, position) : room.then(() => add(key, undefined, position));
    },
    reach(position, soon) {
      gathered.position = position;
      if (gathered.sinceMs !== undefined || soon) arm(waitMs);
      else arm(Math.max(waitMs, options.positionEveryMs - (performance.now() - positionAtMs)));
    },
    async flush() {
      await start();
      if (failure !== undefined) throw failure;
    },
    get failure() {
      return failure;
    },
    retry() {
      failure = undefined;
      budget.give(gathered.taken);
      gathered = nothing();
      disarm();
    },
    hold(held) {
      isHeld = held;
      if (!held && gathered.sinceMs !== undefined) arm(waitMs);
    },
    get oldestMs() {
      return underWay?.sinceMs ?? gathered.sinceMs;
    },
  };
}

/** One text for an object's key. */
export function keyText({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}
