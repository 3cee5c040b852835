// Wakes a watch: at a commit, when rights may have changed, when a bookmark is due, and when its time is up.
import type { WatchDependencies, WatchQuestion } from './watch-question.ts';

type Alarm = 'rightsChanged' | 'bookmarkDue' | 'timeUp';

/** The timers and listeners of one watch. */
export class WatchAlarms {
  readonly #rung = new Set<Alarm>();
  #isAwake = true;
  #resolve: () => void = () => undefined;
  #ends: readonly (() => void)[] = [];
  #later: NodeJS.Timeout | undefined;

  /** Starts all timers and listeners; `end` stops them. */
  set(
    { timeoutMs, bookmarks, keys, onRightsChange }: WatchQuestion,
    { feed, bookmarkIntervalMs, rightsPollMs }: WatchDependencies,
  ): void {
    const timeout = timeoutMs === undefined ? undefined : setTimeout(() => this.ring('timeUp'), timeoutMs);
    const bookmark = bookmarks ? setInterval(() => this.ring('bookmarkDue'), bookmarkIntervalMs) : undefined;
    const look = setInterval(() => this.ring('rightsChanged'), rightsPollMs);
    this.#ends = [
      feed.onCommit(() => this.wake(), keys),
      onRightsChange(() => this.ring('rightsChanged')),
      () => clearTimeout(timeout),
      () => clearInterval(bookmark),
      () => clearInterval(look),
    ];
  }

  ring(alarm: Alarm): void {
    this.#rung.add(alarm);
    this.wake();
  }

  /** Rings the alarm once, in `ms` milliseconds. A later call replaces an alarm that has not rung yet. */
  ringIn(alarm: Alarm, ms: number): void {
    clearTimeout(this.#later);
    this.#later = setTimeout(() => this.ring(alarm), ms);
  }

  /** Whether this alarm has rung since the last call of `take` for it. */
  take(alarm: Alarm): boolean {
    return this.#rung.delete(alarm);
  }

  wake(): void {
    this.#isAwake = true;
    this.#resolve();
  }

  /** Resolves at the next alarm or commit, or at once if there was one since the last call. */
  async idle(): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
    }
    this.#isAwake = false;
  }

  end(): void {
    clearTimeout(this.#later);
    for (const end of this.#ends) end();
  }
}
