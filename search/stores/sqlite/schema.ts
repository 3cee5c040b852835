// Tables of the index in SQLite: a narrow row per object, bodies apart, postings of terms, counters, and the log of
// changes. No planner statistics are kept, so every query names the index it uses (read/conditions.ts, walks/walks.ts).
import type { DatabaseSync } from 'node:sqlite';

import { newStoreId } from '../index-version.ts';

/** `PRAGMA application_id`: "PCix". A file with another one is not ours. */
export const applicationId = 0x50436978;

/** `PRAGMA user_version`; a newer file than ours is set aside, an older one migrated. */
export const schemaVersion = 4;

/** Slots of one incarnation are numbered within its range: `slot = incarnation * slotsPerIncarnation + n`. */
export const slotsPerIncarnation = 2 ** 20;

/** Kind of a row of `change`. */
export const changeKind = { added: 0, modified: 1, deleted: 2 } as const;

/** Keys of `meta`. */
export const metaKey = {
  /** Time of the last commit in microseconds. */
  sequence: 'sequence',
  /** Time of the last change of a role or binding in microseconds; 0 for none. */
  rights: 'rights',
  /** Changes after this one are all in the log. */
  trimmed: 'trimmed',
  /** Grows with every new type, incarnation or slot, so that readers know when to read them again. */
  catalog: 'catalog',
  /** Grows whenever a type of an incarnation comes, goes, becomes whole or stops being so. */
  types: 'types',
  /** Digest of the indexed paths the rows were written with. */
  paths: 'paths',
  /** Id of the store, which its resourceVersions and continue tokens carry. */
  store: 'store',
} as const;

/**
 * `obj.terms` holds the ids of the object's terms, each four bytes, little-endian, ascending. `term.path` is `l:` and a
 * label's key, or `f:` and a path; `term.n` counts its postings. `change` keeps no newer body: what followed is the
 * `change_body` of the next change of the same object, or its body of now. A namespace slot is called `place` here: the
 * name stands in files that exist.
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
 * Makes an empty index in a new file.
 * @param startUs first value of the sequence: what was issued before this file is older than its log
 */
export function createSchema(db: DatabaseSync, startUs: number, pathsDigest: string): void {
  // Neither pragma has an effect inside a transaction or once there is a page.
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

/** Steps from version `i + 1` of the schema to the next; each runs in the transaction that raises `user_version`. */
export const migrations: readonly ((db: DatabaseSync) => void)[] = [
  // Version 1 had no id; resourceVersions it has issued expire once.
  (db) => void db.prepare('INSERT INTO meta (key, value) VALUES (?, ?)').run(metaKey.store, newStoreId()),
  // Version 2 did not note when rights changed, and the last change of all is no older; nor when types changed.
  (db) =>
    void db.exec(
      `INSERT INTO meta SELECT '${metaKey.rights}', value FROM meta WHERE key = '${metaKey.sequence}';
      INSERT INTO meta VALUES ('${metaKey.types}', 0)`,
    ),
  // Version 3 kept nothing that a follower noted with its position.
  (db) => void db.exec(`ALTER TABLE follow ADD COLUMN resume TEXT NOT NULL DEFAULT ''`),
];

/** The id of the store in a file. */
export function readStoreId(db: DatabaseSync): string {
  return String(db.prepare('SELECT value FROM meta WHERE key = ?').get(metaKey.store)!.value);
}

/** `PRAGMA` of one number. */
export function readPragma(
  db: DatabaseSync,
  name: 'application_id' | 'user_version' | 'page_count' | 'freelist_count',
) {
  return Number(db.prepare(`PRAGMA ${name}`).get()![name]);
}
