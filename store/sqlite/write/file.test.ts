import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, test } from 'node:test';

import { GatewayError } from '../../../model/errors.ts';
import { isDamage, markDamaged, openIndexFile } from './file.ts';
import { readPragma, readStoreId, schemaVersion } from '../tables/schema.ts';
import { openSqliteStore } from '../store.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

let directory = '';
let said: string[] = [];
const file = (): string => join(directory, 'index.db');
const open = (pathsDigest = 'paths') =>
  openIndexFile({
    directory,
    pathsDigest,
    cacheBytes: 1 << 20,
    nowUs: () => Date.now() * 1000,
    onSetAside: (message) => said.push(message),
  });

describe('the file of the index', () => {
  beforeEach(() => {
    directory = tempDir('file');
    said = [];
  });

  /** Opens once with a mark in it. */
  function makeMarked(): void {
    const { db, close } = open();
    db.exec(`INSERT INTO type (key) VALUES ('pods.')`);
    close();
  }

  function assertAnew(why: RegExp): void {
    const { db, close } = open();
    assert.equal(db.prepare('SELECT count(*) AS n FROM type').get()!.n, 0);
    close();
    assert.equal(said.length, 1);
    assert.match(said[0]!, why);
    assert.ok(existsSync(`${file()}.aside`));
  }

  test('an index is opened again as it was, and readable to its owner alone', () => {
    makeMarked();
    const { db, close } = open();
    assert.equal(db.prepare('SELECT key FROM type').get()!.key, 'pods.');
    assert.equal(readPragma(db, 'user_version'), schemaVersion);
    for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o077, 0, name);
    close();
    assert.deepEqual(said, []);
    assert.ok(!existsSync(`${file()}-wal`), 'closing copies the log');
  });

  test('a file that is no database is moved aside and said so', () => {
    writeFileSync(file(), 'not a database at all, '.repeat(100));
    assertAnew(/not a database/);
    assert.match(readFileSync(`${file()}.aside`, 'utf8'), /^not a database at all/);
  });

  test('a database of another program is moved aside', () => {
    const other = new DatabaseSync(file());
    other.exec('CREATE TABLE mine (a)');
    other.close();
    assertAnew(/not an index of this program/);
  });

  test('an index of a newer schema is moved aside, not guessed at', () => {
    makeMarked();
    const newer = new DatabaseSync(file());
    newer.exec(`PRAGMA user_version = ${schemaVersion + 1}`);
    newer.close();
    assertAnew(/this program knows/);
  });

  test('an index of the first schema is kept, gets a name of its own and counts its last change as one of rights', () => {
    makeMarked();
    const older = new DatabaseSync(file());
    older.exec(`DELETE FROM meta WHERE key IN ('store', 'rights', 'types'); PRAGMA user_version = 1;
      ALTER TABLE follow DROP COLUMN resume`);
    older.close();
    const { db, close } = open();
    const id = readStoreId(db);
    assert.match(id, /^[\da-f]{16}$/);
    assert.equal(db.prepare('SELECT key FROM type').get()!.key, 'pods.');
    const valueOf = (key: string) => db.prepare('SELECT value FROM meta WHERE key = ?').get(key)!.value;
    assert.equal(valueOf('rights'), valueOf('sequence'));
    close();
    const again = open();
    assert.equal(readStoreId(again.db), id);
    again.close();
    assert.deepEqual(said, []);
  });

  test('an index written for other indexed paths is built anew', () => {
    open('other paths').close();
    assertAnew(/other indexed paths/);
  });

  test('an index found damaged while it was read is set aside at the next start', () => {
    makeMarked();
    markDamaged(file(), 'database disk image is malformed');
    assertAnew(/reading it failed/);
    said = [];
    open().close();
    assert.deepEqual(said, []);
  });

  test('an index with a broken schema page is damaged', () => {
    makeMarked();
    const bytes = readFileSync(file());
    bytes.fill(0xff, 100, 4000);
    writeFileSync(file(), bytes);
    assertAnew(/damaged/);
    assert.ok(isDamage(Object.assign(new Error('x'), { errcode: 11 })));
    assert.ok(!isDamage(new Error('x')));
  });

  test('a second process is refused, and may open once the first has closed', async () => {
    const first = open();
    const isRefused = (error: unknown): boolean =>
      error instanceof GatewayError && error.code === 'INDEX_UNAVAILABLE' && /another process/.test(error.message);
    assert.throws(open, isRefused);
    await assert.rejects(openSqliteStore({ directory }), isRefused);
    first.close();
    open().close();
  });
});
