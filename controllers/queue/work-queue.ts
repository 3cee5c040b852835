// A queue of keys to reconcile, as controllers of Kubernetes have it: a key that is added several times waits once, a
// key is never handled twice at the same time, and a failed key is retried after a waiting time that grows.
import { makeBackoff, type Backoff } from '../../lib/backoff.ts';
import { longestTimerMs } from '../../lib/duration.ts';

/**
 * The result of reconciling one key. `retry`: it failed; handle the key again after a waiting time that grows with each
 * failure. `afterMs`: it did not fail; handle the key again after so many milliseconds.
 */
export type Outcome = 'done' | 'retry' | { readonly afterMs: number };

export interface WorkQueueOptions {
  /**
   * Reads the object of the key and brings everything into the state that the object asks for. An error that is thrown
   * goes to `onError` and counts as `retry`.
   */
  readonly reconcile: (key: string) => Promise<Outcome>;
  readonly onError: (key: string, error: unknown) => void;
  /** How many keys are handled at the same time; 10 by default. */
  readonly workers?: number;
  /** Shortest and longest waiting time after failures, in milliseconds; 500 and 60,000 by default. */
  readonly firstRetryMs?: number;
  readonly maxRetryMs?: number;
  /** Returns a number between 0 and 1, by which waiting times vary at random; tests replace it. */
  readonly random?: () => number;
}

export interface WorkQueue {
  /**
   * Adds a key, which is handled when a worker is free. A key that is being handled now is handled once more
   * afterwards.
   */
  add(key: string): void;
  /** For how many milliseconds the key that has waited longest has waited for a worker; 0 when no key waits. */
  longestWaitMs(): number;
  /** Starts no further key. Keys that are being handled now are finished, and their outcomes are ignored. */
  close(): void;
}

export function makeWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { reconcile, onError, workers = 10 } = options;
  /** For each waiting key the time since when it has waited, on the clock of `performance.now()`. */
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
    // A key that was added while it was being handled is handled again at once. The outcome of that second run decides
    // whether the key is repeated, so this outcome is not used.
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

/** Timers that add keys to the queue again when their waiting time has passed. */
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
      // Timers of Node cannot wait longer than longestTimerMs. A key with a longer wait is handled too early then, and
      // its outcome asks for another wait.
      timers.set(key, setTimeout(add, Math.min(waitOf(key, outcome), longestTimerMs), key).unref());
    },
    cancel(key: string): void {
      clearTimeout(timers.get(key));
      timers.delete(key);
    },
    /** Called after a success: the next failure of the key waits for the shortest time again. */
    forgetFailures: (key: string): boolean => failures.delete(key),
    close(): void {
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}
