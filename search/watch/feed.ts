// Reads the change log of the store for all watchers together. A watcher keeps only how far it has read, so a slow one
// costs no memory. Watchers that are up to date share one reading of the same part of the log.
import type { IndexStore, LogEntry } from '../stores/store.ts';
import type { TypeKey } from '../types.ts';

/** A part of the log, and how far one has read with it. */
export interface Reading {
  readonly entries: readonly LogEntry[];
  /** 19 digits. */
  readonly reached: string;
  /** More is there to be read at once. */
  readonly isMore: boolean;
}

/** What of a store a feed reads. */
export type FeedStore = Pick<IndexStore, 'changes' | 'onCommit' | 'resourceVersion'>;

/** See the file comment. */
export interface ChangeFeed {
  /**
   * @param seen a version that the store has shown: all up to it is read. A reader of the store sees commits before
   *   listeners here are called, and before what was read for others is forgotten.
   * @throws GatewayError (rejects) EXPIRED when the log no longer reaches back so far
   */
  read(from: string, types: readonly TypeKey[], seen?: string): Promise<Reading>;
  /** Called soon after commits, once for several of them. Returns the way to end it. */
  onCommit(listener: () => void): () => void;
  /** Watchers now. */
  readonly size: number;
  close(): void;
}

const entriesAtOnce = 500;
/** Readings remembered for other watchers; they hold bodies. */
const mostRemembered = 16;
/**
 * Commits within this time are announced together: each member commits on its own, and after each announcement every
 * watcher of other types reads.
 */
const togetherMs = 10;

/** Makes one over a store. */
export function makeChangeFeed(store: FeedStore): ChangeFeed {
  const listeners = new Set<() => void>();
  let remembered = new Map<string, Promise<Reading>>();
  let announcing: NodeJS.Timeout | undefined;
  const announce = (): void => {
    announcing = undefined;
    for (const listener of listeners) listener();
  };
  const endCommits = store.onCommit(() => {
    remembered = new Map();
    if (listeners.size > 0) announcing ??= setTimeout(announce, togetherMs);
  });
  const readNow = async (from: string, types: readonly TypeKey[], seen: string): Promise<Reading> => {
    // Read before the entries are, so that none up to it can be missing.
    const committed = store.resourceVersion();
    const target = seen > committed ? seen : committed;
    const entries = await store.changes(from, types, entriesAtOnce);
    const last = entries.at(-1)?.resourceVersion ?? from;
    const isMore = entries.length === entriesAtOnce;
    return { entries, reached: isMore || last > target ? last : target > from ? target : from, isMore };
  };
  const remember = (key: string, reading: Promise<Reading>): Promise<Reading> => {
    const into = remembered;
    if (into.size >= mostRemembered) into.clear();
    into.set(key, reading);
    reading.catch(() => into.delete(key));
    return reading;
  };
  return {
    read(from, types, seen = '') {
      const key = `${from} ${types.join()}`;
      const known = remembered.get(key);
      const anew = (): Promise<Reading> => remember(key, readNow(from, types, seen));
      if (known === undefined) return anew();
      if (seen === '') return known;
      return known.then((reading) => (reading.isMore || reading.reached >= seen ? reading : anew()));
    },
    onCommit(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    get size() {
      return listeners.size;
    },
    close() {
      listeners.clear();
      clearTimeout(announcing);
      endCommits();
    },
  };
}
