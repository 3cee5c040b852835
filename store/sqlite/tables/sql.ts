// Runs statements for a reader. Each text is prepared once, and rows are returned as arrays. Values are always bound
// and never part of the text. The varying parts of texts come only from ../session/conditions.ts
// and ../scans/scans.ts.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

import { LRUCache } from 'lru-cache';

import type { SqlFragment as SqlPiece } from '../../sql/sql-fragment.ts';

export type SqlValue = SQLInputValue;

/** A part of an SQL statement with values for SQLite. */
export type SqlFragment = SqlPiece<SqlValue>;

const mostPrepared = 300;

export class Sql {
  readonly db: DatabaseSync;
  readonly #prepared = new LRUCache<string, StatementSync>({ max: mostPrepared });

  constructor(db: DatabaseSync) {
    this.db = db;
  }

  /** All rows, each an array of its columns. */
  all<Row extends readonly unknown[]>(text: string, values: readonly SqlValue[]): readonly Row[] {
    return this.#prepare(text).all(...values) as unknown as readonly Row[];
  }

  /** The first row; undefined when there is none. */
  first<Row extends readonly unknown[]>(text: string, values: readonly SqlValue[]): Row | undefined {
    return this.#prepare(text).get(...values) as unknown as Row | undefined;
  }

  /** Gives rows one by one. The same statement must not be run again before the last row was taken. */
  iterate<Row extends readonly unknown[]>(text: string, values: readonly SqlValue[]): Iterable<Row> {
    return this.#prepare(text).iterate(...values) as unknown as Iterable<Row>;
  }

  #prepare(text: string): StatementSync {
    const known = this.#prepared.get(text);
    if (known !== undefined) return known;
    // SQLite's planner looks at the value that is bound to `LIMIT ?`, and so prepares the statement again for each
    // value. It does not look at the value of an expression.
    const statement = this.db.prepare(text.replaceAll('LIMIT ?', 'LIMIT ? + 0'));
    statement.setReturnArrays(true);
    this.#prepared.set(text, statement);
    return statement;
  }
}
