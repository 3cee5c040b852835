// Clusters that are to be read anew. Who is asked for it may be another process than the one that follows the cluster,
// so the request is kept beside the rows until that one has done it: in a folder, or in the database. A process that
// ends in the middle leaves the request to the next.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SharedValues } from '../stores/postgres/shared-values.ts';
import type { SyncHandle } from '../sync/sync-types.ts';

/** Clusters are named by the UIDs of their records. */
export interface RebuildRequests {
  add(uids: readonly string[]): Promise<void>;
  pending(): Promise<readonly string[]>;
  done(uid: string): Promise<void>;
}

/** Keeps each request as an empty file, so that processes do not write over what another has written. */
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

/** Keeps the requests as one list, which is changed under a lock. */
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
 * Reads anew, again and again, what is requested of the clusters that this process follows.
 * @returns a function that ends this; it resolves when nothing more is done
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
