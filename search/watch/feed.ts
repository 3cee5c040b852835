// Reads the store's change log for all watchers together. A watcher keeps only its position in the log, not the
// entries, so a slow watcher costs no memory. Watchers at the same position share one read. A commit wakes only
// watchers of the types that changed.
import type { IndexStore, LogEntry } from '../../store/store.ts';
import type { TypeKey } from '../../query/types.ts';

/** The result of one read of the change log: some entries, and the resourceVersion from which to read on. */
export interface Reading {
  readonly entries: readonly LogEntry[];
  /** The resourceVersion (19 digits) up to which these entries are complete. The next read starts from it. */
  readonly reached: string;
  /**
   * True when the log had more entries than one read returns. The caller can read again without waiting for a commit.
   */
  readonly isMore: boolean;
}

/** The methods of a store that a change feed uses. */
export type FeedStore = Pick<IndexStore, 'changes' | 'onCommit' | 'resourceVersion'>;

/** Gives all watchers the entries of a store's change log. */
export interface ChangeFeed {
  /**
   * Reads changes of these types after `from`.
   * @param seen a resourceVersion that the caller has already seen in the store. The result covers everything up to
   *   `seen`. (A reader can see a commit before this process is notified of the commit.)
   * @throws GatewayError (rejects) with code EXPIRED when the log no longer reaches back to `from`
   */
  read(from: string, types: readonly TypeKey[], seen?: string): Promise<Reading>;
  /**
   * Calls the listener soon after commits that changed one of these types. Commits within 10 milliseconds cause one
   * call. Returns a function that removes the listener.
   */
  onCommit(listener: () => void, types: readonly TypeKey[]): () => void;
  /** Number of listeners that {@link onCommit} has added, one for each watcher. */
  readonly size: number;
  close(): void;
}

const entriesAtOnce = 500;
/**
 * The number of reads whose entries are kept for other watchers. When there are more, all are dropped, because entries
 * hold objects and take much memory.
 */
const mostRemembered = 16;
/**
 * Milliseconds. Commits within this time wake the watchers once. Each cluster commits on its own, and each wake-up
 * costs one read for every set of watched types.
 */
const togetherMs = 10;

/** A range of resourceVersions in which the types of an {@link Audience} have no changes. */
interface Stretch {
  readonly from: string;
  readonly to: string;
}

/** The watchers that watch exactly the same types, and what is known of changes of these types. */
interface Audience {
  readonly types: readonly TypeKey[];
  readonly listeners: Set<() => void>;
  /** The latest range of resourceVersions that is known to hold no changes of these types. */
  quiet: Stretch;
  /**
   * What `quiet` was before watchers were last woken. A woken watcher may have reached any resourceVersion in this
   * range. All of them read on from the end of the range, so that they share one read.
   */
  quietBefore: Stretch | undefined;
}

/** Makes a change feed that reads the log of a store. */
export function makeChangeFeed(store: FeedStore): ChangeFeed {
  return new SharedChangeFeed(store);
}

class SharedChangeFeed implements ChangeFeed {
  readonly #store: FeedStore;
  readonly #endCommits: () => void;
  /** The watchers by the types they watch. A key is the list of types as text. */
  readonly #audiences = new Map<string, Audience>();
  /** Reads since the last commit. A key is the resourceVersion that was read from, and the list of types as text. */
  #remembered = new Map<string, Promise<Reading>>();
  #announcing: NodeJS.Timeout | undefined;
  #size = 0;

  constructor(store: FeedStore) {
    this.#store = store;
    this.#endCommits = store.onCommit(() => {
      this.#remembered = new Map();
      if (this.#size > 0) this.#announcing ??= setTimeout(() => this.#announce(), togetherMs);
    });
  }

  read(from: string, types: readonly TypeKey[], seen?: string): Promise<Reading> {
    const audience = this.#audiences.get(types.join());
    const stretches = audience === undefined ? [] : [audience.quiet, audience.quietBefore];
    const quiet = stretches.find((each) => each !== undefined && each.from <= from && from <= each.to);
    return this.#readShared(quiet?.to ?? from, types, seen);
  }

  onCommit(listener: () => void, types: readonly TypeKey[]): () => void {
    const key = types.join();
    const audience = this.#audiences.get(key) ?? this.#newAudience(key, types);
    audience.listeners.add(listener);
    this.#size += 1;
    return () => {
      if (!audience.listeners.delete(listener)) return;
      this.#size -= 1;
      if (audience.listeners.size === 0) this.#audiences.delete(key);
    };
  }

  get size(): number {
    return this.#size;
  }

  close(): void {
    for (const { listeners } of this.#audiences.values()) listeners.clear();
    this.#audiences.clear();
    this.#size = 0;
    clearTimeout(this.#announcing);
    this.#endCommits();
  }

  #newAudience(key: string, types: readonly TypeKey[]): Audience {
    const at = this.#store.resourceVersion();
    const audience: Audience = {
      types,
      listeners: new Set(),
      quiet: { from: at, to: at },
      quietBefore: undefined,
    };
    this.#audiences.set(key, audience);
    return audience;
  }

  #announce(): void {
    this.#announcing = undefined;
    for (const audience of this.#audiences.values()) void this.#wake(audience);
  }

  /** Reads once for all watchers of the same types, and wakes them if something has changed. */
  async #wake(audience: Audience): Promise<void> {
    const from = audience.quiet.to;
    // An error is ignored here: woken watchers read too, meet the same error and report it to their clients.
    const reading = await this.#readShared(from, audience.types).catch(() => undefined);
    const { quiet } = audience;
    const isNothing = reading?.entries.length === 0;
    // Another call may have moved the range on during the read. Then this result is older and must not replace it.
    if (reading !== undefined && from === quiet.to) {
      const { reached } = reading;
      if (isNothing) audience.quiet = { from: quiet.from, to: reached };
      else Object.assign(audience, { quietBefore: quiet, quiet: { from: reached, to: reached } });
    }
    if (!isNothing) for (const listener of audience.listeners) listener();
  }

  #readShared(from: string, types: readonly TypeKey[], seen = ''): Promise<Reading> {
    const key = `${from} ${types.join()}`;
    const known = this.#remembered.get(key);
    const anew = (): Promise<Reading> => this.#remember(key, this.#readNow(from, types, seen));
    if (known === undefined) return anew();
    if (seen === '') return known;
    return known.then((reading) => (reading.isMore || reading.reached >= seen ? reading : anew()));
  }

  #remember(key: string, reading: Promise<Reading>): Promise<Reading> {
    const into = this.#remembered;
    if (into.size >= mostRemembered) into.clear();
    into.set(key, reading);
    reading.catch(() => into.delete(key));
    return reading;
  }

  async #readNow(from: string, types: readonly TypeKey[], seen: string): Promise<Reading> {
    // The committed resourceVersion is read before the entries. Read after them, it could cover a commit whose entries
    // are missing from the result.
    const committed = this.#store.resourceVersion();
    const target = seen > committed ? seen : committed;
    const entries = await this.#store.changes(from, types, entriesAtOnce);
    const last = entries.at(-1)?.resourceVersion ?? from;
    const isMore = entries.length === entriesAtOnce;
    return { entries, reached: isMore || last > target ? last : target > from ? target : from, isMore };
  }
}
