// A queue of keys to reconcile, as controllers of Kubernetes have it: a key that is added several times waits once, a
// key is never handled twice at the same time, and a failed key is repeated after growing waiting times.
import { makeBackoff, type Backoff } from '../../lib/backoff.ts';

/**
 * `retry`: handle the key again after a growing waiting time. `afterMs`: handle it again after that time; that is no
 * failure.
 */
export type Outcome = 'done' | 'retry' | { readonly afterMs: number };

export interface WorkQueueOptions {
  /**
   * Makes the cluster as the object of the key asks for. An error that it throws goes to `onError` and counts as
   * `retry`.
   */
  readonly reconcile: (key: string) => Promise<Outcome>;
  readonly onError: (key: string, error: unknown) => void;
  /** How many keys are handled at once. */
  readonly workers?: number;
  /** Shortest and longest waiting time after failures, in milliseconds. */
  readonly firstRetryMs?: number;
  readonly maxRetryMs?: number;
  /** Returns a number between 0 and 1, by which waiting times vary; tests replace it. */
  readonly random?: () => number;
}

export interface WorkQueue {
  /** Adds a key, to be handled when a worker is free. A key that is being handled is handled once more afterwards. */
  add(key: string): void;
  /** How many milliseconds the longest waiting key has waited for a worker; 0 when none waits. */
  longestWaitMs(): number;
  /** Starts no further key. Keys that are being handled are finished, and their outcomes are ignored. */
  close(): void;
}

export function makeWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { reconcile, onError, workers = 10 } = options;
  /** Since when each key has waited, on the clock of `performance.now()`. */
  const waiting = new Map<string, number>();
  const active = new Set<string>();
  const repeats = makeRepeats(options, add);
  let closed = false;

  function add(key: string): void {
    if (closed) return;
    repeats.cancel(key);
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
    if (outcome !== 'retry') repeats.forgetFailures(key);
    // A key that was added while it was being handled is handled again at once, and that outcome decides whether it is
    // repeated.
    if (outcome !== 'done' && !waiting.has(key)) repeats.start(key, outcome);
    next();
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
      repeats.close();
    },
  };
}

/** The keys that are added again when a time has passed. */
function makeRepeats(options: Partial<WorkQueueOptions>, add: (key: string) => void) {
  const { firstRetryMs = 500, maxRetryMs = 60_000, random = Math.random } = options;
  const timers = new Map<string, NodeJS.Timeout>();
  const failures = new Map<string, Backoff>();
  const waitOf = (key: string, outcome: Exclude<Outcome, 'done'>): number => {
    if (outcome !== 'retry') return outcome.afterMs;
    const backoff = failures.get(key) ?? makeBackoff(firstRetryMs, maxRetryMs, random);
    failures.set(key, backoff);
    return backoff.next();
  };
  return {
    start(key: string, outcome: Exclude<Outcome, 'done'>): void {
      clearTimeout(timers.get(key));
      timers.set(key, setTimeout(add, waitOf(key, outcome), key).unref());
    },
    cancel(key: string): void {
      clearTimeout(timers.get(key));
      timers.delete(key);
    },
    /** The next failure of the key waits for the shortest time again. */
    forgetFailures: (key: string): boolean => failures.delete(key),
    close(): void {
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}
