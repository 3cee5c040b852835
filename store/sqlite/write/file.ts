// Opens the index file for the one process that may write it. A file of another program, of a newer version of this
// program, or with damage is moved aside and replaced by an empty index. The write-ahead log is examined before SQLite
// opens the file, because on opening SQLite can already copy a damaged log into the file.
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { GatewayError } from '../../../model/errors.ts';
import { checkpoint, companions, examineLog } from './checkpoint.ts';
import { applicationId, createSchema, metaKey, migrations, readPragma, schemaVersion } from '../tables/schema.ts';

/** The open index. No other process can write it until it is closed. */
export interface IndexFile {
  readonly db: DatabaseSync;
  readonly file: string;
  /** Copies the write-ahead log into the file and closes the file. */
  readonly close: () => void;
}

export interface FileOptions {
  readonly directory: string;
  /** Digest of the list of indexed paths. A file that was written with another list is replaced by an empty one. */
  readonly pathsDigest: string;
  /** Size of this connection's page cache in bytes. */
  readonly cacheBytes: number;
  /** Gives microseconds since 1970. */
  readonly nowUs: () => number;
  /** Called with a message for the operator when an index was moved aside. */
  readonly onSetAside: (message: string) => void;
}

/** The database file of an index directory, and the file whose lock the writer holds. */
export function indexFiles(directory: string): { readonly file: string; readonly lock: string } {
  return { file: path.join(directory, 'index.db'), lock: path.join(directory, 'index.lock') };
}

/**
 * Opens the index for writing. When there is no file, or none that can be used, makes an empty one.
 * @throws GatewayError INDEX_UNAVAILABLE when another process has opened the index
 */
export function openIndexFile(options: FileOptions): IndexFile {
  const { directory, onSetAside } = options;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { file, lock: lockFile } = indexFiles(directory);
  const lock = acquireLock(lockFile, directory);
  try {
    const fault = faultBeforeOpening(file);
    if (fault !== undefined) setAside(file, fault, onSetAside);
    const db = openOrReplace(file, options);
    return {
      db,
      file,
      close: () => {
        if (db.isOpen) {
          if (!existsSync(damagedFile(file))) checkpoint(db, file);
          db.close();
        }
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Writes a marker file beside the index, by which the next start moves the index aside because reading it failed. */
export function markDamaged(file: string, why: string): void {
  writeFileSync(damagedFile(file), why, { mode: 0o600 });
}

/** Whether SQLite's error means that the file is damaged (SQLITE_CORRUPT, SQLITE_NOTADB). */
export function isDamage(error: unknown): boolean {
  const code = (error as { readonly errcode?: unknown }).errcode;
  return typeof code === 'number' && (code & 0xff) in damageCodes;
}

/**
 * Whether a failed write comes from damage that SQLite has not noticed. A sign of such damage is that SQLite refuses a
 * row as a duplicate (SQLITE_CONSTRAINT) although the writer has just checked that the row is not there. Only then is
 * the whole file checked, which reads all of it.
 */
export function isContradicted(db: DatabaseSync, error: unknown): boolean {
  const code = (error as { readonly errcode?: unknown }).errcode;
  if (typeof code !== 'number' || (code & 0xff) !== constraintCode) return false;
  try {
    return db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'] !== 'ok';
  } catch (fault) {
    return isDamage(fault);
  }
}

/** Applies the settings that every connection to the file needs. */
export function configure(db: DatabaseSync, cacheBytes: number): void {
  db.exec(`PRAGMA busy_timeout = 10000; PRAGMA wal_autocheckpoint = 0; PRAGMA trusted_schema = OFF`);
  db.exec(`PRAGMA cache_size = -${Math.floor(cacheBytes / 1024)}`);
}

const damageCodes: Readonly<Record<number, true>> = { 11: true, 26: true };
const busyCode = 5;
const constraintCode = 19;

/** The marker file that says that an index file is damaged, until the index is moved aside. */
export function damagedFile(file: string): string {
  return `${file}-damaged`;
}

/** Locks the index with an open transaction. The lock ends with the process even if the process is killed. */
function acquireLock(file: string, directory: string): DatabaseSync {
  const lock = openPrivate(file);
  try {
    lock.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if (((error as { errcode?: number }).errcode ?? 0) % 256 !== busyCode) throw error;
    const message = `the index in ${directory} is used by another process: stop it, or give this one another data directory`;
    throw new GatewayError('INDEX_UNAVAILABLE', message, { cause: error });
  }
}

function faultBeforeOpening(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  if (existsSync(damagedFile(file))) return 'reading it failed';
  const state = examineLog(file);
  if (state === 'mixed') return 'its write-ahead log was damaged while it was copied';
  if (state === 'drop-log') for (const companion of companions(file).slice(0, 2)) rmSync(companion, { force: true });
  return undefined;
}

function openOrReplace(file: string, options: FileOptions): DatabaseSync {
  let fault: string;
  let cause: unknown;
  let db = openPrivate(file);
  try {
    const found = prepare(db, options);
    if (found === undefined) return db;
    fault = found;
  } catch (error) {
    if (!isDamage(error)) {
      db.close();
      throw error;
    }
    fault = 'it is damaged';
    cause = error;
  }
  db.close();
  setAside(file, cause instanceof Error ? `${fault}: ${cause.message}` : fault, options.onSetAside);
  db = openPrivate(file);
  const again = prepare(db, options);
  if (again !== undefined) throw new GatewayError('INDEX_UNAVAILABLE', `a new index cannot be made: ${again}`);
  return db;
}

/**
 * Creates the file so that only its owner can read it; SQLite gives its companion files the same mode. Easy to get
 * wrong: an existing file must not be opened and closed here, because closing releases all locks that this process has
 * on the file (POSIX fcntl).
 */
function openPrivate(file: string): DatabaseSync {
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  return new DatabaseSync(file);
}

/** Migrates the schema to the current version. Returns why the file cannot be used; undefined when it can be. */
function prepare(db: DatabaseSync, options: FileOptions): string | undefined {
  configure(db, options.cacheBytes);
  const id = readPragma(db, 'application_id');
  const tables = Number(db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()!.n);
  if (id === 0 && tables === 0) createSchema(db, options.nowUs(), options.pathsDigest);
  else if (id !== applicationId) return 'it is not an index of this program';
  const version = readPragma(db, 'user_version');
  if (version > schemaVersion) return `it has version ${version} of the schema, this program knows ${schemaVersion}`;
  // With cache_spill, SQLite would write pages of a large transaction before its end, and some of them twice.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_spill = OFF');
  migrate(db, version);
  const paths = db.prepare('SELECT value FROM meta WHERE key = ?').get(metaKey.paths)?.value;
  return paths === options.pathsDigest ? undefined : 'it was written for other indexed paths';
}

function migrate(db: DatabaseSync, version: number): void {
  for (let at = version; at < schemaVersion; at++) {
    db.exec('BEGIN IMMEDIATE');
    migrations[at - 1]!(db);
    db.exec(`PRAGMA user_version = ${at + 1}; COMMIT`);
  }
}

/** Moves the file aside. Only the latest file is kept, so that repeated failures cannot fill the disk. */
function setAside(file: string, why: string, onSetAside: (message: string) => void): void {
  const directory = path.dirname(file);
  const prefix = `${path.basename(file)}.aside`;
  for (const old of readdirSync(directory).filter((name) => name.startsWith(prefix))) {
    rmSync(path.join(directory, old), { force: true });
  }
  const aside = `${file}.aside`;
  for (const [from, to] of [
    [file, aside],
    ...companions(file).map((one) => [one, one.replace(file, aside)]),
  ] as const) {
    if (existsSync(from!)) renameSync(from!, to!);
  }
  rmSync(damagedFile(file), { force: true });
  onSetAside(`the index ${file} was set aside as ${aside} and is built anew: ${why}`);
}
