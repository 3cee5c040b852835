// The index file as a process sees it that may not write: what was committed last, whether the file is still the one
// that was opened, and whether somebody writes. All of it takes microseconds, so it is read on the main thread.
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { damagedFile } from '../file.ts';
import { applicationId, metaKey, readPragma, readStoreId, schemaVersion } from '../schema.ts';
import type { Opened } from '../store.ts';
import type { WriterState } from '../threads/messages.ts';

/** See the file comment. */
export interface SharedFile {
  readonly opened: Opened;
  /** What was committed last. */
  newest(): WriterState;
  /** The file was replaced, set aside, or marked as damaged: it must be opened again. */
  isGone(): boolean;
  close(): void;
}

/** Undefined while there is no index that this program can read. */
export function openSharedFile(file: string): SharedFile | undefined {
  if (!existsSync(file)) return undefined;
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    db.exec('PRAGMA busy_timeout = 20; PRAGMA trusted_schema = OFF');
    if (readPragma(db, 'application_id') === applicationId && readPragma(db, 'user_version') === schemaVersion)
      return new ReadFile(db, file);
  } catch {
    // A new file that is still being made.
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
  /** `PRAGMA data_version` changes with each commit of another connection. */
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
      // Locked for a moment, or damaged, which the readers notice and report.
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

/** Of the file and of its write-ahead log, which a writer removes when it is damaged. */
function identityOf(file: string): string {
  return [file, `${file}-wal`].map((one) => statSync(one, { throwIfNoEntry: false })?.ino ?? '').join(' ');
}

/** Looks whether somebody writes, without starting what would write. */
export class WriterLook {
  readonly #file: string;
  #lock: DatabaseSync | undefined;

  /** @param file the lock */
  constructor(file: string) {
    this.#file = file;
  }

  /** True when nobody holds the lock now. */
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
