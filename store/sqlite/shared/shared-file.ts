// The index file as seen by a process that may not write it: what was committed last, whether the file was replaced,
// and whether another process writes it. Finding out takes microseconds, so it is done on the main thread.
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { damagedFile } from '../write/file.ts';
import { applicationId, metaKey, readPragma, readStoreId, schemaVersion } from '../tables/schema.ts';
import type { Opened } from '../store.ts';
import type { WriterState } from '../tables/messages.ts';

/** An index file opened for reading. */
export interface SharedFile {
  readonly opened: Opened;
  /** The state of the index after the last commit of any process. */
  newest(): WriterState;
  /** True when the file was replaced, moved aside or marked as damaged. Then the caller must open it again. */
  isGone(): boolean;
  close(): void;
}

/** Opens the file. Undefined while there is no index file that this program can read. */
export function openSharedFile(file: string): SharedFile | undefined {
  if (!existsSync(file)) return undefined;
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    db.exec('PRAGMA busy_timeout = 20; PRAGMA trusted_schema = OFF');
    if (readPragma(db, 'application_id') === applicationId && readPragma(db, 'user_version') === schemaVersion)
      return new ReadFile(db, file);
  } catch {
    // Another process may be just creating the file.
  }
  db.close();
  return undefined;
}

class ReadFile implements SharedFile {
  readonly opened: Opened;
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #dataVersion;
  readonly #state;
  readonly #identity: string;
  /** The value of `PRAGMA data_version` at the last read. It changes with each commit of another connection. */
  #seenVersion: unknown;
  #newest: WriterState = { sequence: 0, typesVersion: 0 };

  constructor(db: DatabaseSync, file: string) {
    this.#db = db;
    this.#file = file;
    this.#dataVersion = db.prepare('PRAGMA data_version');
    this.#state = db.prepare(
      `SELECT value AS sequence, (SELECT value FROM meta WHERE key = '${metaKey.types}') AS types
      FROM meta WHERE key = '${metaKey.sequence}'`,
    );
    this.opened = { file, storeId: readStoreId(db), state: this.newest() };
    this.#identity = identityOf(file);
  }

  newest(): WriterState {
    try {
      const version = this.#dataVersion.get()!['data_version'];
      if (version === this.#seenVersion) return this.#newest;
      const { sequence, types } = this.#state.get()!;
      this.#newest = { sequence: Number(sequence), typesVersion: Number(types) };
      this.#seenVersion = version;
    } catch {
      // The file is locked for a moment, or damaged. Damage is noticed and reported by the reader threads.
    }
    return this.#newest;
  }

  isGone(): boolean {
    return identityOf(this.#file) !== this.#identity || existsSync(damagedFile(this.#file));
  }

  close(): void {
    this.#db.close();
  }
}

/** Inode numbers of the file and of its write-ahead log. They change when either file is replaced. */
function identityOf(file: string): string {
  return [file, `${file}-wal`].map((one) => statSync(one, { throwIfNoEntry: false })?.ino ?? '').join(' ');
}

/**
 * Finds out whether another process writes the index. Does not keep the lock, so this process does not become writer.
 */
export class WriterLook {
  readonly #file: string;
  #lock: DatabaseSync | undefined;

  /** @param file the lock file */
  constructor(file: string) {
    this.#file = file;
  }

  /** True when no process holds the lock now. */
  isFree(): boolean {
    if (!existsSync(this.#file)) return true;
    try {
      this.#lock ??= new DatabaseSync(this.#file);
      this.#lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE; ROLLBACK');
      return true;
    } catch {
      return false;
    }
  }

  close(): void {
    this.#lock?.close();
    this.#lock = undefined;
  }
}
