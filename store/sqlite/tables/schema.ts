// The tables of the index in SQLite: a small row for each object, its body (the object's JSON) in another table, the
// rows of each term (`posting`; a term is a label or indexed value), counters, and the change log. There are no
// statistics for SQLite's planner, so every query names the database index that it uses (../session/conditions.ts,
// ../scans/scans.ts).
import type { DatabaseSync } from 'node:sqlite';

import { newStoreId } from '../../index-version.ts';

/** `PRAGMA application_id` of index files ("PCix"). Files with another value belong to other programs. */
export const applicationId = 0x50436978;

/** `PRAGMA user_version`. A file with a larger value is moved aside; a file with a smaller value is migrated. */
export const schemaVersion = 4;

/** How many slot numbers each incarnation has. The n-th slot is `incarnation * slotsPerIncarnation + n`. */
export const slotsPerIncarnation = 2 ** 20;
/** By how many bits a slot number is shifted right to get the number of the slot's incarnation. */
export const incarnationShift = Math.log2(slotsPerIncarnation);

/** Values of `change.kind`. */
export const changeKind = { added: 0, modified: 1, deleted: 2 } as const;

/** Keys of the table `meta`. */
export const metaKey = {
  /** Time of the last commit, in microseconds since 1970. */
  sequence: 'sequence',
  /** Time of the last change of a role or binding, in microseconds since 1970; 0 when there was none. */
  rights: 'rights',
  /** Microseconds since 1970. The change log contains all changes after this time. */
  trimmed: 'trimmed',
  /** Grows with every new type, incarnation or slot, so that readers know when to read the catalog again. */
  catalog: 'catalog',
  /**
   * Grows when a type of an incarnation was added, removed or described differently, or when its first complete list
   * was stored or lost.
   */
  types: 'types',
  /** Digest of the list of indexed paths with which the rows were written. */
  paths: 'paths',
  /** The store's id, which is part of its resourceVersions and continue tokens. */
  store: 'store',
} as const;

/**
 * `obj.terms` holds the ids of the object's terms, each as four bytes, little-endian, ascending. `term.path` is `l:`
 * and the key of a label, or `f:` and a path; `term.n` is the number of rows that have the term. A row of `change` does
 * not have the body after the change: it is in `change_body` of the next change of the same object, or else in `body`.
 * A namespace slot is called `place` in the tables, because existing files use that name.
 */
const tables = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE type (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE incarnation (id INTEGER PRIMARY KEY, incarnation TEXT NOT NULL UNIQUE, cluster TEXT NOT NULL);
CREATE TABLE place (id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, added INTEGER NOT NULL);
CREATE INDEX place_added ON place (added);
CREATE TABLE follow (
  t INTEGER NOT NULL, inc INTEGER NOT NULL, info TEXT NOT NULL, version TEXT NOT NULL, confirmed INTEGER NOT NULL,
  objects INTEGER NOT NULL, bytes INTEGER NOT NULL, resume TEXT NOT NULL DEFAULT '', PRIMARY KEY (t, inc)
) WITHOUT ROWID;
CREATE TABLE obj (
  id INTEGER PRIMARY KEY, t INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, owner TEXT,
  created INTEGER NOT NULL, rv TEXT NOT NULL, terms BLOB NOT NULL
);
CREATE UNIQUE INDEX obj_key ON obj (t, place, name);
CREATE INDEX obj_name ON obj (t, name, place);
CREATE INDEX obj_created ON obj (t, created, place);
CREATE INDEX obj_owner ON obj (owner) WHERE owner IS NOT NULL;
CREATE INDEX obj_uid ON obj (uid);
CREATE TABLE body (id INTEGER PRIMARY KEY, raw BLOB NOT NULL);
CREATE TABLE term (id INTEGER PRIMARY KEY, t INTEGER NOT NULL, path TEXT NOT NULL, value TEXT NOT NULL, n INTEGER NOT NULL);
CREATE UNIQUE INDEX term_key ON term (t, path, value);
CREATE TABLE posting (
  term INTEGER NOT NULL, place INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (term, place, id)
) WITHOUT ROWID;
CREATE TABLE counter (t INTEGER NOT NULL, place INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (t, place)) WITHOUT ROWID;
CREATE TABLE change (
  sequence INTEGER PRIMARY KEY, kind INTEGER NOT NULL, t INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL,
  uid TEXT NOT NULL, id INTEGER NOT NULL
);
CREATE INDEX change_id ON change (id, sequence);
CREATE TABLE change_body (sequence INTEGER PRIMARY KEY, raw BLOB NOT NULL);
`;

/**
 * Creates an empty index in a new file.
 * @param startUs where the sequence begins, in microseconds since 1970; earlier resourceVersions are older than the log
 */
export function createSchema(db: DatabaseSync, startUs: number, pathsDigest: string): void {
  // Neither of these pragmas works inside a transaction, or after the first page was written.
  db.exec('PRAGMA page_size = 16384; PRAGMA auto_vacuum = NONE; PRAGMA journal_mode = WAL');
  db.exec('BEGIN EXCLUSIVE');
  db.exec(tables);
  const meta = db.prepare('INSERT INTO meta (key, value) VALUES (?, ?)');
  meta.run(metaKey.sequence, startUs);
  meta.run(metaKey.rights, 0);
  meta.run(metaKey.trimmed, startUs);
  meta.run(metaKey.catalog, 0);
  meta.run(metaKey.types, 0);
  meta.run(metaKey.paths, pathsDigest);
  meta.run(metaKey.store, newStoreId());
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}`);
  db.exec('COMMIT');
}

/**
 * Migrations. Element `i` leads from schema version `i + 1` to the next; it runs in the transaction that raises
 * `user_version`.
 */
export const migrations: readonly ((db: DatabaseSync) => void)[] = [
  // Version 1 had no store id. The new id makes the resourceVersions given out before expire.
  (db) => void db.prepare('INSERT INTO meta (key, value) VALUES (?, ?)').run(metaKey.store, newStoreId()),
  // Version 2 did not store when rights or types last changed. The time of the last change of any row stands in for
  // that of rights, since no change of rights is newer.
  (db) =>
    void db.exec(
      `INSERT INTO meta SELECT '${metaKey.rights}', value FROM meta WHERE key = '${metaKey.sequence}';
      INSERT INTO meta VALUES ('${metaKey.types}', 0)`,
    ),
  // Version 3 had no column for the text that a follower stores with its position (`SyncPosition.resume`).
  (db) => void db.exec(`ALTER TABLE follow ADD COLUMN resume TEXT NOT NULL DEFAULT ''`),
];

/** The id of the store in an open file. */
export function readStoreId(db: DatabaseSync): string {
  return String(db.prepare('SELECT value FROM meta WHERE key = ?').get(metaKey.store)!.value);
}

/** The value of a `PRAGMA` that is a number. */
export function readPragma(
  db: DatabaseSync,
  name: 'application_id' | 'user_version' | 'page_count' | 'freelist_count',
) {
  return Number(db.prepare(`PRAGMA ${name}`).get()![name]);
}
