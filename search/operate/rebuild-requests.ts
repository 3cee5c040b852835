// Stores which clusters must be rebuilt, that is, read again from the beginning. The process that gets such a request
// need not be the one that lists and watches the cluster. So the request is stored in the folder or database of the
// index until the process that watches the cluster has carried it out. If that process ends before, the next one that
// watches the cluster does it.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SharedValues } from '../../store/postgres/shared-values.ts';
import type { SyncHandle } from '../../sync/member/sync-types.ts';

/** The clusters that must be rebuilt, as UIDs of their cluster records. `done` removes one. */
export interface RebuildRequests {
  add(uids: readonly string[]): Promise<void>;
  pending(): Promise<readonly string[]>;
  done(uid: string): Promise<void>;
}

/** Stores each request as an empty file with the UID as its name, so that no process overwrites another's request. */
export function requestsInFolder(folder: string): RebuildRequests {
  const fileOf = (uid: string): string => join(folder, encodeURIComponent(uid));
  return {
    async add(uids) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      for (const uid of uids) writeFileSync(fileOf(uid), '', { mode: 0o600 });
    },
    async pending() {
      try {
        return readdirSync(folder).map(decodeURIComponent);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
        throw error;
      }
    },
    done: async (uid) => rmSync(fileOf(uid), { force: true }),
  };
}

/** Stores the requests in PostgreSQL, as a single JSON list of UIDs that processes change under a lock. */
export function requestsInDatabase(shared: SharedValues): RebuildRequests {
  const name = 'clusters to read anew';
  const parse = (kept: string | undefined): readonly string[] =>
    kept === undefined || kept === '' ? [] : (JSON.parse(kept) as readonly string[]);
  const change = (next: (uids: readonly string[]) => readonly string[]): Promise<void> =>
    shared.change(name, (kept) => Buffer.from(JSON.stringify(next(parse(kept.toString())))));
  return {
    add: (uids) => change((there) => [...new Set([...there, ...uids])]),
    pending: async () => parse((await shared.read(name))?.toString()),
    done: (uid) => change((there) => there.filter((each) => each !== uid)),
  };
}

const lookEveryMs = 1_000;

/**
 * Looks every second for requests, and rebuilds those requested clusters that this process follows.
 * @returns a function that stops looking; it resolves when a rebuild that has begun has deleted the rows and its
 * request
 */
export function followRequests(
  requests: RebuildRequests,
  sync: Pick<SyncHandle, 'rebuild'>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let isClosed = false;
  let looking: Promise<void> = Promise.resolve();
  let isLooking = false;
  const look = async (): Promise<void> => {
    for (const uid of await requests.pending()) {
      if (!isClosed && (await sync.rebuild(uid))) await requests.done(uid);
    }
  };
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    looking = look()
      .catch(onError)
      .finally(() => (isLooking = false));
  }, lookEveryMs).unref();
  return async () => {
    isClosed = true;
    clearInterval(timer);
    await looking;
  };
}
