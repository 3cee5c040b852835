import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';

import { NameColumn } from './name-column.ts';
import { SlotNumbers } from './slot-numbers.ts';
import { changeKind, createSchema, metaKey } from '../tables/schema.ts';
import type { Session } from './session.ts';
import { Sql } from '../tables/sql.ts';

const t = 1;
const slot = 2 ** 20;

test('objects that come and go while all names are being read are counted once, or not at all', () => {
  const db = new DatabaseSync(':memory:');
  createSchema(db, 1, '');
  const insert = db.prepare(
    `INSERT INTO obj (id, t, place, name, uid, created, rv, terms) VALUES (?, ?, ?, ?, ?, 0, '', x'')`,
  );
  const log = db.prepare(`INSERT INTO change (sequence, kind, t, place, name, uid, id) VALUES (?, ?, ?, ?, ?, '', ?)`);
  let sequence = 1;
  const session = (): Session => {
    db.prepare('UPDATE meta SET value = ? WHERE key = ?').run(sequence, metaKey.sequence);
    return { sql: new Sql(db), sequence } as Session;
  };
  const nameOf = (id: number): string => `web-${String(id).padStart(5, '0')}`;
  const rows = 12_000;
  db.exec('BEGIN');
  for (let id = 1; id <= rows; id++) insert.run(id, t, slot, nameOf(id), String(id));
  db.exec('COMMIT');
  const numbers = new SlotNumbers();
  const column = new NameColumn(t, numbers);
  // The first piece alone.
  assert.equal(column.build(session(), 0), 'more');
  // One that was read goes, one that was not goes, and one comes where names have not been read yet.
  for (const id of [3, rows - 3]) {
    db.prepare('DELETE FROM obj WHERE id = ?').run(id);
    log.run(++sequence, changeKind.deleted, t, slot, nameOf(id), id);
  }
  insert.run(rows + 1, t, slot, 'web-99999', 'new');
  log.run(++sequence, changeKind.added, t, slot, 'web-99999', rows + 1);
  while (column.build(session(), 0) === 'more');
  assert.equal(column.refresh(session()), true);
  const count = (part: string): number => {
    let n = 0;
    column.find([part], (number) => {
      assert.equal(numbers.slotOf(number), slot);
      n++;
    });
    return n;
  };
  assert.equal(count('web-'), rows - 1);
  assert.equal(count('web-99999'), 1);
  assert.equal(count('web-00003'), 0);
  assert.equal(count(nameOf(rows - 3)), 0);
  assert.equal(count('web-0000'), 8);
  // A number that comes again stands for another object: everything is read anew.
  log.run(++sequence, changeKind.added, t, slot, 'web-again', 3);
  assert.equal(column.refresh(session()), false);
});
