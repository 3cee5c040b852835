// What one cluster may take at once: lists under way, and bytes that wait for the store. A reader that waits for room
// must not hold what others wait for: a batch is committed by its own clock, whatever its reader does.

/** Lets a bounded number in. */
export interface Gate {
  /** Runs `work` when there is a place. Rejects with the signal's reason when that comes first. */
  run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

export function makeGate(places: number): Gate {
  let free = places;
  const waiting: (() => void)[] = [];
  return {
    async run(signal, work) {
      signal.throwIfAborted();
      if (free > 0) free -= 1;
      else await turn(signal, waiting);
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}

/** Bytes that may be held. */
export interface ByteBudget {
  /** Waits until there is room. One that is larger than all the room gets it when no other has any. */
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

/** Resolves after that time, or when the signal is aborted; never rejects. */
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
