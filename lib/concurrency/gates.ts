// Limits on what runs at once: a number of tasks, a number of tasks shared fairly between clusters, and a number of
// bytes. Whoever waits leaves the queue when its signal is aborted.

/** Lets only a limited number of tasks run at the same time; those that run for very long do not count. */
export interface Gate {
  /**
   * Runs `work` as soon as fewer tasks than the limit are running. Rejects with the signal's reason when the signal is
   * aborted before `work` starts.
   */
  run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

/**
 * Milliseconds after which a task that still runs gives its place to the next one. A cluster can make its lists as long
 * as it likes, and the lists of all other clusters must not wait for their end.
 */
const placeMs = 5 * 60_000;

/** Runs a task that has a place. Calls `onEnd` when it has ended, and `giveBack` once, then or after `placeMs`. */
async function inPlace<Result>(work: () => Promise<Result>, giveBack: () => void, onEnd?: () => void): Promise<Result> {
  let isHeld = true;
  const end = (): void => {
    if (isHeld) giveBack();
    isHeld = false;
  };
  const timer = setTimeout(end, placeMs).unref();
  try {
    return await work();
  } finally {
    clearTimeout(timer);
    onEnd?.();
    end();
  }
}

export function makeGate(places: number): Gate {
  let free = places;
  const waiting: (() => void)[] = [];
  return {
    async run(signal, work) {
      signal.throwIfAborted();
      if (free > 0) free -= 1;
      else await turn(signal, waiting);
      return inPlace(work, () => {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      });
    },
  };
}

/** A limit on running tasks that several clusters share. */
export interface SharedGate {
  /**
   * The gate for tasks of one cluster. When another task may run, the cluster with the fewest running tasks is next.
   */
  of(cluster: string): Gate;
}

export function makeSharedGate(places: number): SharedGate {
  let free = places;
  const running = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();
  const count = (cluster: string, by: number): void => {
    const now = (running.get(cluster) ?? 0) + by;
    if (now === 0) running.delete(cluster);
    else running.set(cluster, now);
  };
  const giveBack = (): void => {
    const others = [...waiting].filter(([, wakes]) => wakes.length > 0);
    others.sort(([one], [other]) => (running.get(one) ?? 0) - (running.get(other) ?? 0));
    const next = others[0];
    if (next === undefined) {
      free += 1;
      waiting.clear();
      return;
    }
    // Puts the cluster at the end of the queue, behind clusters with the same number of running tasks.
    waiting.delete(next[0]);
    waiting.set(...next);
    count(next[0], 1);
    next[1].shift()!();
  };
  return {
    of: (cluster) => ({
      async run(signal, work) {
        signal.throwIfAborted();
        if (free > 0) {
          free -= 1;
          count(cluster, 1);
        } else {
          const wakes = waiting.get(cluster) ?? [];
          waiting.set(cluster, wakes);
          await turn(signal, wakes);
        }
        return inPlace(work, giveBack, () => count(cluster, -1));
      },
    }),
  };
}

/** A limited number of bytes that several readers share. */
export interface ByteBudget {
  /**
   * Takes bytes from the budget. Returns undefined when they were taken at once; otherwise a promise that resolves when
   * there was room and they are taken. A request larger than the whole budget succeeds once nothing else is taken.
   */
  take(bytes: number, signal: AbortSignal): Promise<void> | undefined;
  give(bytes: number): void;
  readonly held: number;
}

export function makeByteBudget(maxBytes: number): ByteBudget {
  let held = 0;
  const waiting: (() => void)[] = [];
  const fits = (bytes: number): boolean => held === 0 || held + bytes <= maxBytes;
  async function wait(bytes: number, signal: AbortSignal): Promise<void> {
    while (!fits(bytes)) await turn(signal, waiting);
    held += bytes;
  }
  return {
    take(bytes, signal) {
      if (!fits(bytes)) return wait(bytes, signal);
      held += bytes;
      return undefined;
    },
    give(bytes) {
      held -= bytes;
      for (const wake of waiting.splice(0)) wake();
    },
    get held() {
      return held;
    },
  };
}

function turn(signal: AbortSignal, waiting: (() => void)[]): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const wake = (): void => {
      signal.removeEventListener('abort', abort);
      resolve();
    };
    const abort = (): void => {
      const place = waiting.indexOf(wake);
      if (place !== -1) waiting.splice(place, 1);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    waiting.push(wake);
  });
}

/** Resolves after `ms` milliseconds, or when the signal is aborted. Never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
