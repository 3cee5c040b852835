// Wakes a watch at a commit, when rights may have changed, when a bookmark is due, and at the end of the watch's time.
import type { WatchDependencies, WatchQuestion } from './watch-question.ts';

type Alarm = 'rightsChanged' | 'bookmarkDue' | 'timeUp';

/** The timers and listeners of one watch, and which of them have fired. */
export class WatchAlarms {
  readonly #rung = new Set<Alarm>();
  #isAwake = true;
  #resolve: () => void = () => undefined;
  #ends: readonly (() => void)[] = [];
  #later: NodeJS.Timeout | undefined;

  /** Starts all timers and listeners; `end` stops them. Called once. */
  set(
    { timeoutMs, bookmarks, keys, onRightsChange }: WatchQuestion,
    { feed, bookmarkIntervalMs, rightsPollMs }: WatchDependencies,
  ): void {
    const timeout = timeoutMs === undefined ? undefined : setTimeout(() => this.ring('timeUp'), timeoutMs);
    const bookmark = bookmarks ? setInterval(() => this.ring('bookmarkDue'), bookmarkIntervalMs) : undefined;
    // The interval varies by 10 %: watches that were opened together would otherwise all check their rights at once.
    const look = setInterval(() => this.ring('rightsChanged'), rightsPollMs * (0.9 + Math.random() / 5));
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

  /** Rings the alarm in `ms` milliseconds. A later call replaces an alarm that has not rung yet. */
  ringIn(alarm: Alarm, ms: number): void {
    clearTimeout(this.#later);
    this.#later = setTimeout(() => this.ring(alarm), ms);
  }

  /** Whether this alarm has rung since `take` was last called for it. */
  take(alarm: Alarm): boolean {
    return this.#rung.delete(alarm);
  }

  wake(): void {
    this.#isAwake = true;
    this.#resolve();
  }

  /** Resolves at the next alarm or commit; at once when there was one since the last call of `idle`. */
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
