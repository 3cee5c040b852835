// Copies the write-ahead log into the database file, in such a way that a damaged log never goes unnoticed. Easy to get
// wrong: SQLite ignores the damaged end of a log, but may have copied pages of that end before. A record file beside
// the database says whether copying had begun, and which bytes of the log must be intact.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';

/**
 * The contents of the record file: which part of a write-ahead log is being copied into the database, or was copied.
 */
interface CheckpointRecord {
  /** `begun`: pages may be in both files. `done`: the database contains all of these bytes of the log. */
  readonly state: 'begun' | 'done';
  /** How many bytes of the log are copied, and their CRC-32. */
  readonly bytes: number;
  readonly crc: number;
  /** The salts in the log's header, which differ for every log (SQLite file format, section 4.1). */
  readonly salts: string;
}

/**
 * What to do with the files before SQLite opens them. `sound`: nothing. `drop-log`: the log is damaged and is to be
 * deleted, since the database already contains all of it. `mixed`: the database may contain a part of a damaged log, so
 * it cannot be used.
 */
export type LogState = 'sound' | 'drop-log' | 'mixed';

const pieceBytes = 1 << 20;

/**
 * Copies the log into the database, and empties the log unless a reader still needs it. Takes time in proportion to the
 * length of the log, and waits at most 50 ms for readers.
 */
export function checkpoint(db: DatabaseSync, file: string): void {
  const log = readLog(`${file}-wal`);
  if (log === undefined) return;
  const record = { ...log, state: 'begun' } as const;
  writeRecord(file, record);
  const { busy, log: frames, checkpointed } = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() as unknown as Result;
  if (busy !== 0 || frames !== checkpointed) return;
  writeRecord(file, { ...record, state: 'done' });
  // Emptying the log waits up to 50 ms for readers. If they take longer, the next checkpoint empties it.
  db.exec('PRAGMA busy_timeout = 50; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = 10000');
}

interface Result {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * Tells whether the write-ahead log may be used, by comparing it with the record file of the last checkpoint. Must be
 * called before SQLite opens the database, because SQLite silently ignores the damaged end of a log.
 */
export function examineLog(file: string): LogState {
  const record = readRecord(file);
  if (record === undefined) return 'sound';
  if (record === 'unreadable') return 'mixed';
  const log = readLog(`${file}-wal`, record.bytes);
  if (log === undefined || log.salts !== record.salts) return record.state === 'done' ? 'sound' : 'mixed';
  if (log.bytes === record.bytes && log.crc === record.crc) return 'sound';
  return record.state === 'done' ? 'drop-log' : 'mixed';
}

/** The files that belong to a database file and must be moved with it. */
export function companions(file: string): readonly string[] {
  return [`${file}-wal`, `${file}-shm`, recordFile(file)];
}

function recordFile(file: string): string {
  return `${file}-checkpoint`;
}

function readLog(file: string, atMost = Number.POSITIVE_INFINITY): Omit<CheckpointRecord, 'state'> | undefined {
  if (!existsSync(file)) return undefined;
  const size = Math.min(statSync(file).size, atMost);
  if (size < 32) return undefined;
  const handle = openSync(file, 'r');
  try {
    const fragment = Buffer.allocUnsafe(Math.min(pieceBytes, size));
    let salts = '';
    let crc = 0;
    let bytes = 0;
    while (bytes < size) {
      const read = readSync(handle, fragment, 0, Math.min(fragment.length, size - bytes), bytes);
      if (read === 0) break;
      if (bytes === 0) salts = fragment.toString('hex', 16, 24);
      crc = crc32(fragment.subarray(0, read), crc);
      bytes += read;
    }
    return { bytes, crc, salts };
  } finally {
    closeSync(handle);
  }
}

function readRecord(file: string): CheckpointRecord | 'unreadable' | undefined {
  if (!existsSync(recordFile(file))) return undefined;
  try {
    return JSON.parse(readFileSync(recordFile(file), 'utf8')) as CheckpointRecord;
  } catch {
    return 'unreadable';
  }
}

function writeRecord(file: string, record: CheckpointRecord): void {
  const next = `${recordFile(file)}.new`;
  rmSync(next, { force: true });
  const handle = openSync(next, 'wx', 0o600);
  try {
    writeSync(handle, JSON.stringify(record));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(next, recordFile(file));
}
