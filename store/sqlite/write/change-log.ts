// The change log, as the writer keeps it: one entry for each change, with the body (the object's JSON) from before the
// change. Old entries are deleted. The body before a change is copied from the object's row, so an entry must be
// written before the row is.
import type { DatabaseSync, StatementSync } from 'node:sqlite';

import { changeKind, metaKey } from '../tables/schema.ts';

/** How much of the log is kept. The oldest entries are deleted when one of these limits is exceeded. */
export interface LogLimits {
  readonly entries: number;
  /** Total size of the bodies (JSON of objects before their changes) in the entries. */
  readonly bytes: number;
  readonly ageMs: number;
}

export const defaultLogLimits: LogLimits = { entries: 100_000, bytes: 64 << 20, ageMs: 24 * 3600_000 };

/** Entries beyond the limit of entries are deleted only when there are more of them than this number. */
const leastTrimmed = 500;

export interface ChangedRow {
  readonly t: number;
  readonly slot: number;
  readonly name: string;
  readonly uid: string;
  readonly id: number;
}

export class ChangeLog {
  readonly #db: DatabaseSync;
  readonly #limits: LogLimits;
  readonly #nowUs: () => number;
  readonly #insert: StatementSync;
  readonly #keepBody: StatementSync;
  readonly #meta: StatementSync;
  #sequence = 0;
  #rights = 0;
  #entries = 0;
  #bytes = 0;

  constructor(db: DatabaseSync, limits: LogLimits, nowUs: () => number) {
    this.#db = db;
    this.#limits = limits;
    this.#nowUs = nowUs;
    this.#insert = db.prepare(
      'INSERT INTO change (sequence, kind, t, place, name, uid, id) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#keepBody = db.prepare('INSERT INTO change_body (sequence, raw) SELECT ?, raw FROM body WHERE id = ?');
    this.#meta = db.prepare('UPDATE meta SET value = ? WHERE key = ?');
    this.reset();
  }

  /** Time of the last change, in microseconds since 1970. Each change has another time. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Notes that the last change was a change of a role or binding. */
  noteRights(): void {
    this.#rights = this.#sequence;
  }

  /**
   * Adds an entry.
   * @param bytes length of the body before the change; 0 for an added object
   */
  append(kind: keyof typeof changeKind, row: ChangedRow, bytes: number): void {
    this.#sequence = Math.max(this.#sequence + 1, this.#nowUs());
    this.#insert.run(this.#sequence, changeKind[kind], row.t, row.slot, row.name, row.uid, row.id);
    this.#entries++;
    if (kind === 'added') return;
    this.#keepBody.run(this.#sequence, row.id);
    this.#bytes += bytes;
  }

  /** Writes the times of the last changes to the file, and deletes old entries. To be called before a commit. */
  flush(): void {
    this.#meta.run(this.#sequence, metaKey.sequence);
    this.#meta.run(this.#rights, metaKey.rights);
    this.#trim();
  }

  /** Reads the times of the last changes from the file, at the start and after a rollback. */
  reset(): void {
    const one = (sql: string): number => Number(Object.values(this.#db.prepare(sql).get()!)[0] ?? 0);
    this.#sequence = one(`SELECT value FROM meta WHERE key = '${metaKey.sequence}'`);
    this.#rights = one(`SELECT value FROM meta WHERE key = '${metaKey.rights}'`);
    this.#entries = one('SELECT count(*) FROM change');
    this.#bytes = one('SELECT sum(length(raw)) FROM change_body');
  }

  #trim(): void {
    const { entries, bytes, ageMs } = this.#limits;
    let upTo = 0;
    if (this.#entries > entries + leastTrimmed) upTo = this.#sequenceAt(this.#entries - entries);
    if (this.#bytes > bytes) upTo = Math.max(upTo, this.#bodiesUpTo(this.#bytes - bytes));
    const oldest = this.#sequenceAt(1);
    const tooOldUs = this.#nowUs() - ageMs * 1000;
    if (oldest !== 0 && oldest < tooOldUs) {
      // Each transaction removes a limited number of entries; later transactions remove more.
      const row = this.#db
        .prepare(
          'SELECT max(sequence) AS s FROM (SELECT sequence FROM change WHERE sequence < ? ORDER BY sequence LIMIT 5000)',
        )
        .get(tooOldUs) as { s: number };
      upTo = Math.max(upTo, row.s);
    }
    if (upTo === 0) return;
    const gone = this.#db.prepare('SELECT sum(length(raw)) AS n FROM change_body WHERE sequence <= ?').get(upTo)!;
    this.#bytes -= Number(gone.n ?? 0);
    this.#db.prepare('DELETE FROM change_body WHERE sequence <= ?').run(upTo);
    this.#entries -= Number(this.#db.prepare('DELETE FROM change WHERE sequence <= ?').run(upTo).changes);
    this.#meta.run(upTo, metaKey.trimmed);
  }

  /** Sequence of the n-th oldest entry; 0 when there are fewer entries. */
  #sequenceAt(n: number): number {
    const row = this.#db.prepare('SELECT sequence FROM change ORDER BY sequence LIMIT 1 OFFSET ?').get(n - 1);
    return Number(row?.sequence ?? 0);
  }

  /** Sequence of the first entry at which the bodies of the oldest entries add up to `excess` bytes or more. */
  #bodiesUpTo(excess: number): number {
    let sum = 0;
    for (const row of this.#db
      .prepare('SELECT sequence, length(raw) AS n FROM change_body ORDER BY sequence')
      .iterate()) {
      sum += Number(row.n);
      if (sum >= excess) return Number(row.sequence);
    }
    return 0;
  }
}
