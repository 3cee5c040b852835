// What every client that lists and watches decides alike: how long a watch lasts, when a silent one counts as dead,
// which answers need a new list, and when the next list must wait. Whoever keeps what is read (a reflector, the index)
// has a loop of its own around it.

/** How long a watch lasts, and when it is healthy. `…Ms` are milliseconds. */
export interface WatchTiming {
  readonly watchSecondsMin: number;
  readonly watchSecondsMax: number;
  /** A watch that is still open this long after its `timeoutSeconds` counts as dead and is closed. */
  readonly stallGraceMs: number;
  /** A watch that has lasted this long is healthy, even if it brought no event. */
  readonly healthyMs: number;
}

/**
 * A watch that ends sooner than this counts as refused, although its status was 200. Events are no excuse: a server
 * that ends each watch after one event would be asked without a pause.
 */
const shortestWatchMs = 1000;

/** Returns for how many milliseconds the next watch lasts. The length is random, so that watches end apart. */
export function watchLength({ watchSecondsMin, watchSecondsMax }: WatchTiming, random: () => number): number {
  return Math.round((watchSecondsMin + random() * (watchSecondsMax - watchSecondsMin)) * 1000);
}

/**
 * Query parameters of a watch (meta.k8s.io/v1 ListOptions).
 * @param lastsMs as {@link watchLength} returns it; sent in whole seconds, at least one
 */
export function watchQuery(resourceVersion: string, lastsMs: number): Readonly<Record<string, string>> {
  return {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion,
    timeoutSeconds: String(Math.max(1, Math.round(lastsMs / 1000))),
  };
}

/** How a watch has ended. */
export interface WatchEnd {
  readonly lastedMs: number;
  /** True when it lasted `healthyMs`, or brought an event that could be taken and did not end too soon. */
  readonly isHealthy: boolean;
  /** True when it ended without an error within a second, and sooner than it was asked for. */
  readonly isRefused: boolean;
  /** True when it was closed here because nothing ended it in time. */
  readonly isStalled: boolean;
  /** What the connection or `take` has thrown; undefined when the server ended the watch. */
  readonly error: unknown;
}

/** What to do with an open watch. */
export interface WatchReading<Line> {
  readonly timing: WatchTiming;
  readonly lastsMs: number;
  /** Processes one event. The next event is read when the promise that it returns has resolved. */
  readonly take: (line: Line) => Promise<void> | void;
  /** Closes the watch. Called when it ends, too. */
  readonly cancel: () => void;
}

/** Reads an open watch until it ends, `take` throws, or it is overdue. Never rejects. */
export async function readWatch<Line>(
  lines: AsyncIterable<Line>,
  { timing, lastsMs, take, cancel }: WatchReading<Line>,
): Promise<WatchEnd> {
  const openedAtMs = performance.now();
  let isOverdue = false;
  let taken = 0;
  let error: unknown;
  const deadline = setTimeout(() => {
    isOverdue = true;
    cancel();
  }, lastsMs + timing.stallGraceMs);
  try {
    for await (const line of lines) {
      await take(line);
      taken += 1;
    }
  } catch (thrown) {
    error = thrown;
  } finally {
    clearTimeout(deadline);
    cancel();
  }
  const lastedMs = performance.now() - openedAtMs;
  const isShort = lastedMs < Math.min(shortestWatchMs, lastsMs);
  return {
    lastedMs,
    isHealthy: (taken > 0 && !isShort) || lastedMs >= timing.healthyMs,
    isRefused: error === undefined && isShort,
    isStalled: isOverdue && error !== undefined,
    error,
  };
}

/** True for the Status of an ERROR event that says that the server has dropped the requested version. */
export function isExpired({ code, reason }: { readonly code: number; readonly reason: string }): boolean {
  return code === 410 || reason === 'Expired' || reason === 'Gone';
}

/** True when a server does not accept the resourceVersion of a watch: asking again would be refused again. */
export function needsList(status: number): boolean {
  return status === 400 || status === 422 || status === 504;
}

/**
 * Decides what follows an answer of 410 to a watch. One right after a list is no fault: an API server that has just
 * begun to serve a kind may list it from etcd before its watch cache is as new. But lists that are each followed by
 * 410 would otherwise go on without a pause.
 */
export class ExpiryAfterList {
  readonly #healthyMs: number;
  #listedAtMs = Number.NEGATIVE_INFINITY;
  #isRepeated = false;

  constructor({ healthyMs }: Pick<WatchTiming, 'healthyMs'>) {
    this.#healthyMs = healthyMs;
  }

  /** To be called when a list is complete. */
  listed(): void {
    this.#listedAtMs = performance.now();
  }

  /** To be called after a healthy watch. */
  healthy(): void {
    this.#isRepeated = false;
  }

  /**
   * To be called after an answer of 410.
   * @returns whether to list at once, to wait before, or to report a fault and wait
   */
  next(): 'list' | 'wait' | 'fail' {
    if (performance.now() - this.#listedAtMs >= this.#healthyMs) return 'list';
    const next = this.#isRepeated ? 'fail' : 'wait';
    this.#isRepeated = true;
    return next;
  }
}
