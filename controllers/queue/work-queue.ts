// A queue of keys to reconcile, as controllers of Kubernetes have it: a key waits once however often it is added, one
// key is never worked on twice at the same time, and a failure is repeated after growing waits.
import { makeBackoff, type Backoff } from '../../lib/backoff.ts';

/** `retry`: again after a growing wait. A number: again after that many milliseconds, which is no failure. */
export type Outcome = 'done' | 'retry' | { readonly afterMs: number };

export interface WorkQueueOptions {
  /** Brings the world to what the key's object asks for. What it throws goes to `onError` and counts as `retry`. */
  readonly reconcile: (key: string) => Promise<Outcome>;
  readonly onError: (key: string, error: unknown) => void;
  /** How many keys are worked on at once. */
  readonly workers?: number;
  /** Waits after failures, in milliseconds. */
  readonly firstRetryMs?: number;
  readonly maxRetryMs?: number;
  /** Between 0 and 1. */
  readonly random?: () => number;
}

export interface WorkQueue {
  /** As soon as a worker is free; again afterwards when the key is being worked on. */
  add(key: string): void;
  /** How long the key has waited for a worker that waits longest, in milliseconds; 0 when none waits. */
  longestWaitMs(): number;
  /** Takes nothing more. Work that was begun goes on; its outcome is ignored. */
  close(): void;
}

export function makeWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { reconcile, onError, workers = 10, firstRetryMs = 500, maxRetryMs = 60_000, random = Math.random } = options;
  /** Since when each key waits, on the clock of `performance.now()`. */
  const waiting = new Map<string, number>();
  const active = new Set<string>();
  const later = new Map<string, NodeJS.Timeout>();
  const failures = new Map<string, Backoff>();
  let closed = false;

  function add(key: string): void {
    if (closed) return;
    clearTimeout(later.get(key));
    later.delete(key);
    if (!waiting.has(key)) waiting.set(key, performance.now());
    next();
  }

  function next(): void {
    for (const key of waiting.keys()) {
      if (active.size >= workers) return;
      if (active.has(key)) continue;
      waiting.delete(key);
      active.add(key);
      void work(key);
    }
  }

  async function work(key: string): Promise<void> {
    const outcome = await reconcile(key).catch((error: unknown) => {
      if (!closed) onError(key, error);
      return 'retry' as const;
    });
    active.delete(key);
    if (closed) return;
    if (outcome !== 'retry') failures.delete(key);
    // What was added meanwhile is done at once, and decides about a repetition of its own.
    if (outcome !== 'done' && !waiting.has(key)) addAfter(key, waitOf(key, outcome));
    next();
  }

  function waitOf(key: string, outcome: Exclude<Outcome, 'done'>): number {
    if (outcome !== 'retry') return outcome.afterMs;
    const backoff = failures.get(key) ?? makeBackoff(firstRetryMs, maxRetryMs, random);
    failures.set(key, backoff);
    return backoff.next();
  }

  function addAfter(key: string, waitMs: number): void {
    clearTimeout(later.get(key));
    later.set(key, setTimeout(add, waitMs, key).unref());
  }

  return {
    add,
    longestWaitMs() {
      const [since] = waiting.values();
      return since === undefined ? 0 : performance.now() - since;
    },
    close() {
      closed = true;
      waiting.clear();
      for (const timer of later.values()) clearTimeout(timer);
    },
  };
}
