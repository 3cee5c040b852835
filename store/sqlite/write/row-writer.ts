// Writes single rows with their bodies (the JSON of the objects), postings (pairs of label or indexed value and row),
// counters and log entries. The log entry comes first, because it copies the old body. Changes of postings and counters
// are collected, and written in sorted order at the end of the transaction.
import type { DatabaseSync, StatementSync } from 'node:sqlite';

import type { RowWrite } from '../../store.ts';
import type { ChangeLog } from './change-log.ts';
import { unpackTerms, type TermDictionary } from '../tables/terms.ts';

/** A row as stored before a change. */
interface FoundRow {
  readonly id: number;
  readonly uid: string;
  readonly rv: string;
  readonly terms: Uint8Array;
  /** Length of the stored body in bytes. */
  readonly bytes: number;
  /** 1 when the stored body equals the new one, otherwise 0. */
  readonly same: number;
}

interface Posting {
  readonly term: number;
  readonly slot: number;
  readonly id: number;
  readonly isAdded: boolean;
}

/** What a write did to a row. */
export type Outcome = 'unchanged' | 'written' | 'deleted';

/** By how much a write changes the size of a type in a cluster; negative when the type becomes smaller. */
export interface Growth {
  readonly objects: number;
  readonly bytes: number;
}

export class RowWriter {
  readonly #log: ChangeLog;
  readonly #terms: TermDictionary;
  readonly #statements: ReturnType<typeof prepareAll>;
  readonly #db: DatabaseSync;
  #postings: Posting[] = [];
  readonly #counters = new Map<number, Map<number, number>>();
  #nextId = 0;

  constructor(db: DatabaseSync, log: ChangeLog, terms: TermDictionary) {
    this.#db = db;
    this.#log = log;
    this.#terms = terms;
    this.#statements = prepareAll(db);
    this.reset();
  }

  /** Inserts or updates a row. When the stored object has another uid, it is deleted and the new one inserted. */
  upsert(t: number, slot: number, row: RowWrite): { readonly outcome: Outcome; readonly growth: Growth } {
    const found = this.#statements.find.get(row.raw, t, slot, row.name) as FoundRow | undefined;
    if (found === undefined) return this.#insert(t, slot, row);
    if (found.uid !== row.uid) {
      const removed = this.#remove(t, slot, row.name, found);
      const { growth } = this.#insert(t, slot, row);
      return { outcome: 'written', growth: sum(removed, growth) };
    }
    if (found.same === 1) {
      this.#setUnseen(t, slot, row, found);
      return { outcome: 'unchanged', growth: { objects: 0, bytes: 0 } };
    }
    return this.#update(t, slot, row, found);
  }

  delete(t: number, slot: number, name: string): { readonly outcome: Outcome; readonly growth: Growth } {
    const found = this.#statements.find.get(null, t, slot, name) as FoundRow | undefined;
    if (found === undefined) return { outcome: 'unchanged', growth: { objects: 0, bytes: 0 } };
    return { outcome: 'deleted', growth: this.#remove(t, slot, name, found) };
  }

  /** Writes the collected changes of postings and counters. */
  flush(): void {
    this.#flushPostings();
    for (const [t, slots] of this.#counters) {
      for (const [slot, added] of [...slots].toSorted(([one], [other]) => one - other)) {
        if (added === 0) continue;
        const { n } = this.#statements.count.get(t, slot, added) as { n: number };
        if (n === 0) this.#statements.dropCounter.run(t, slot);
      }
    }
    this.#counters.clear();
  }

  /** Forgets the collected changes after a rollback. */
  reset(): void {
    this.#postings = [];
    this.#counters.clear();
    // The change log contains the ids of deleted objects, so these ids must not be used again.
    const row = this.#db
      .prepare('SELECT max(coalesce((SELECT max(id) FROM obj), 0), coalesce((SELECT max(id) FROM change), 0)) AS n')
      .get() as { n: number };
    this.#nextId = row.n + 1;
  }

  #insert(t: number, slot: number, row: RowWrite): { readonly outcome: Outcome; readonly growth: Growth } {
    const id = this.#nextId++;
    const terms = this.#terms.packedTermsOf(t, row);
    const owner = row.ownerUid === '' ? null : row.ownerUid;
    const { name, uid, createdAtMs, resourceVersion } = row;
    this.#log.append('added', { t, slot, name, uid, id }, 0);
    this.#statements.insertRow.run(id, t, slot, name, uid, owner, createdAtMs, resourceVersion, terms);
    this.#statements.insertBody.run(id, row.raw);
    for (const term of unpackTerms(terms)) this.#post(term, slot, id, true);
    this.#count(t, slot, 1);
    return { outcome: 'written', growth: { objects: 1, bytes: row.raw.byteLength } };
  }

  #update(
    t: number,
    slot: number,
    row: RowWrite,
    found: FoundRow,
  ): { readonly outcome: Outcome; readonly growth: Growth } {
    const { id } = found;
    this.#log.append('modified', { t, slot, name: row.name, uid: row.uid, id }, found.bytes);
    this.#setRow(slot, row, found, this.#terms.packedTermsOf(t, row));
    this.#statements.updateBody.run(row.raw, id);
    return { outcome: 'written', growth: { objects: 0, bytes: row.raw.byteLength - found.bytes } };
  }

  /** Updates columns that are not part of the body. Clients cannot see a difference, so no log entry is made. */
  #setUnseen(t: number, slot: number, row: RowWrite, found: FoundRow): void {
    const terms = this.#terms.packedTermsOf(t, row);
    if (found.rv === row.resourceVersion && Buffer.compare(terms, found.terms) === 0) return;
    this.#setRow(slot, row, found, terms);
  }

  #setRow(slot: number, row: RowWrite, found: FoundRow, terms: Uint8Array): void {
    const owner = row.ownerUid === '' ? null : row.ownerUid;
    this.#statements.updateRow.run(owner, row.createdAtMs, row.resourceVersion, terms, found.id);
    const before = new Set(unpackTerms(found.terms));
    const after = new Set(unpackTerms(terms));
    for (const term of before) if (!after.has(term)) this.#post(term, slot, found.id, false);
    for (const term of after) if (!before.has(term)) this.#post(term, slot, found.id, true);
  }

  #remove(t: number, slot: number, name: string, found: FoundRow): Growth {
    const { id, uid, bytes } = found;
    this.#log.append('deleted', { t, slot, name, uid, id }, bytes);
    this.#statements.deleteRow.run(id);
    this.#statements.deleteBody.run(id);
    for (const term of unpackTerms(found.terms)) this.#post(term, slot, id, false);
    this.#count(t, slot, -1);
    return { objects: -1, bytes: -bytes };
  }

  #post(term: number, slot: number, id: number, isAdded: boolean): void {
    this.#postings.push({ term, slot, id, isAdded });
    this.#terms.count(term, isAdded ? 1 : -1);
  }

  #count(t: number, slot: number, added: number): void {
    const slots = this.#counters.get(t) ?? new Map<number, number>();
    if (slots.size === 0) this.#counters.set(t, slots);
    slots.set(slot, (slots.get(slot) ?? 0) + added);
  }

  /**
   * Writes the changes of postings in sorted order, so that neighbouring entries are written together. The sort is
   * stable, so the last change of an entry wins.
   */
  #flushPostings(): void {
    const postings = this.#postings.toSorted((a, b) => a.term - b.term || a.slot - b.slot || a.id - b.id);
    for (const { term, slot, id, isAdded } of postings) {
      (isAdded ? this.#statements.addPosting : this.#statements.dropPosting).run(term, slot, id);
    }
    this.#postings = [];
  }
}

function sum(one: Growth, other: Growth): Growth {
  return { objects: one.objects + other.objects, bytes: one.bytes + other.bytes };
}

function prepareAll(
  db: DatabaseSync,
): Readonly<
  Record<
    | 'find'
    | 'insertRow'
    | 'insertBody'
    | 'updateRow'
    | 'updateBody'
    | 'deleteRow'
    | 'deleteBody'
    | 'addPosting'
    | 'dropPosting'
    | 'count'
    | 'dropCounter',
    StatementSync
  >
> {
  return {
    find: db.prepare(
      `SELECT o.id, o.uid, o.rv, o.terms, length(b.raw) AS bytes, b.raw IS ? AS same
      FROM obj o INDEXED BY obj_key CROSS JOIN body b ON b.id = o.id WHERE o.t = ? AND o.place = ? AND o.name = ?`,
    ),
    insertRow: db.prepare(
      'INSERT INTO obj (id, t, place, name, uid, owner, created, rv, terms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    insertBody: db.prepare('INSERT INTO body (id, raw) VALUES (?, ?)'),
    updateRow: db.prepare('UPDATE obj SET owner = ?, created = ?, rv = ?, terms = ? WHERE id = ?'),
    updateBody: db.prepare('UPDATE body SET raw = ? WHERE id = ?'),
    deleteRow: db.prepare('DELETE FROM obj WHERE id = ?'),
    deleteBody: db.prepare('DELETE FROM body WHERE id = ?'),
    addPosting: db.prepare('INSERT OR IGNORE INTO posting (term, place, id) VALUES (?, ?, ?)'),
    dropPosting: db.prepare('DELETE FROM posting WHERE term = ? AND place = ? AND id = ?'),
    count: db.prepare(
      'INSERT INTO counter (t, place, n) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n RETURNING n',
    ),
    dropCounter: db.prepare('DELETE FROM counter WHERE t = ? AND place = ?'),
  };
}
