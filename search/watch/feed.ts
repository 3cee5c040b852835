// Reads the change log of the store for all watchers together. A watcher keeps only how far it has read, so a slow one
// costs no memory. Watchers that are up to date share one reading of the same part of the log. Commits wake only those
// who watch their types.
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
  /**
   * Called soon after commits with changes of one of these types, once for several commits. Returns the way to end it.
   */
  onCommit(listener: () => void, types: readonly TypeKey[]): () => void;
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

/** A part of the log without changes of some types. */
interface Stretch {
  readonly from: string;
  readonly to: string;
}

/** Watchers of the same types. */
interface Audience {
  readonly types: readonly TypeKey[];
  readonly listeners: Set<() => void>;
  /** Up to where commits were announced, or found to be of other types. */
  quiet: Stretch;
  /** The stretch before the last announcement: watchers that were woken by it read on from its end, all together. */
  quietBefore: Stretch | undefined;
}

/** Makes one over a store. */
export function makeChangeFeed(store: FeedStore): ChangeFeed {
  const audiences = new Map<string, Audience>();
  let size = 0;
  let remembered = new Map<string, Promise<Reading>>();
  let announcing: NodeJS.Timeout | undefined;
  const announce = (): void => {
    announcing = undefined;
    for (const audience of audiences.values()) void tell(audience);
  };
  const endCommits = store.onCommit(() => {
    remembered = new Map();
    if (size > 0) announcing ??= setTimeout(announce, togetherMs);
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
  const readShared = (from: string, types: readonly TypeKey[], seen = ''): Promise<Reading> => {
    const key = `${from} ${types.join()}`;
    const known = remembered.get(key);
    const anew = (): Promise<Reading> => remember(key, readNow(from, types, seen));
    if (known === undefined) return anew();
    if (seen === '') return known;
    return known.then((reading) => (reading.isMore || reading.reached >= seen ? reading : anew()));
  };
  /** Reads once for all of them. */
  const tell = async (audience: Audience): Promise<void> => {
    const from = audience.quiet.to;
    // Watchers that read meet the same error, and tell their clients.
    const reading = await readShared(from, audience.types).catch(() => undefined);
    const { quiet } = audience;
    const isNothing = reading?.entries.length === 0;
    // Another announcement may have come further meanwhile.
    if (reading !== undefined && from === quiet.to) {
      const { reached } = reading;
      if (isNothing) audience.quiet = { from: quiet.from, to: reached };
      else Object.assign(audience, { quietBefore: quiet, quiet: { from: reached, to: reached } });
    }
    if (!isNothing) for (const listener of audience.listeners) listener();
  };
  return {
    read(from, types, seen) {
      const audience = audiences.get(types.join());
      const stretches = audience === undefined ? [] : [audience.quiet, audience.quietBefore];
      const quiet = stretches.find((each) => each !== undefined && each.from <= from && from <= each.to);
      return readShared(quiet?.to ?? from, types, seen);
    },
    onCommit(listener, types) {
      const key = types.join();
      let audience = audiences.get(key);
      if (audience === undefined) {
        const at = store.resourceVersion();
        audience = { types, listeners: new Set(), quiet: { from: at, to: at }, quietBefore: undefined };
        audiences.set(key, audience);
      }
      const mine = audience;
      mine.listeners.add(listener);
      size += 1;
      return () => {
        if (!mine.listeners.delete(listener)) return;
        size -= 1;
        if (mine.listeners.size === 0) audiences.delete(key);
      };
    },
    get size() {
      return size;
    },
    close() {
      for (const { listeners } of audiences.values()) listeners.clear();
      audiences.clear();
      size = 0;
      clearTimeout(announcing);
      endCommits();
    },
  };
}
