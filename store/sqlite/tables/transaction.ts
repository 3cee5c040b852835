// One read transaction: its statements, and the state of the index that it sees. Numbers of terms (labels and indexed
// values) are valid in one transaction only, so an answer that takes several transactions reads the numbers again in
// each of them.
import type { DatabaseSync } from 'node:sqlite';

import type { IndexVersions } from '../../index-version.ts';
import type { Catalog } from './catalog.ts';
import type { Sql } from './sql.ts';
import { unpackTerms } from './terms.ts';

/** Tests the columns of a row: its slot, name, uid and time of creation in Unix milliseconds. */
export type ColumnTest = (slot: number, name: string, uid: string, createdAtMs: number) => boolean;

/**
 * The tests that the SQL functions `holds` (terms) and `columns_hold` (columns) run. SQL names a test by its number,
 * which `addTerms` and `addColumns` return.
 */
export class RowTestRegistry {
  readonly #terms: ReadonlySet<number>[] = [];
  readonly #columns: ColumnTest[] = [];

  addTerms(ids: readonly number[]): number {
    return this.#terms.push(new Set(ids)) - 1;
  }

  addColumns(test: ColumnTest): number {
    return this.#columns.push(test) - 1;
  }

  clear(): void {
    this.#terms.length = this.#columns.length = 0;
  }

  /** Adds both SQL functions to a connection. One of their arguments is the number of a test. */
  register(db: DatabaseSync): void {
    const options = { deterministic: true };
    db.function('holds', options, (packed, number) => (this.#hasTerm(packed as Uint8Array, Number(number)) ? 1 : 0));
    db.function('columns_hold', options, (number, slot, name, uid, created) => {
      const test = this.#columns[Number(number)]!;
      return test(Number(slot), String(name), String(uid), Number(created)) ? 1 : 0;
    });
  }

  /** Whether one of a row's terms (`packed`) is in the set that `addTerms` gave this number. */
  #hasTerm(packed: Uint8Array, number: number): boolean {
    const set = this.#terms[number]!;
    return unpackTerms(packed).some((id) => set.has(id));
  }
}

/** The state of the index that a transaction sees. Times are microseconds since 1970. */
export interface Moment {
  /** Time of the last commit. */
  readonly sequence: number;
  /** Time of the last change of a role or binding; 0 when there is none. */
  readonly rights: number;
}

/** A read transaction and the state it sees. */
export interface Transaction extends Moment {
  readonly sql: Sql;
  readonly catalog: Catalog;
  readonly versions: IndexVersions;
  readonly tests: RowTestRegistry;
  readonly memory: RowCountMemory;
}

/** The number of rows of a type in each namespace slot, kept between transactions. */
export interface RowCountMemory {
  rowCounts(transaction: Transaction, t: number): { of(slot: number): number };
}

/** Runs `work` in a transaction of its own, and returns its result. */
export type Slice<S extends Transaction = Transaction> = <T>(work: (session: S) => T) => T;

/**
 * Lets a question share its reader thread with other questions: the question works in transactions of limited time,
 * with pauses between them.
 */
export interface TimeSlices<S extends Transaction = Transaction> {
  readonly slice: Slice<S>;
  /** Lets other questions run. No transaction is open meanwhile. */
  readonly pause: () => Promise<void>;
}

/** Milliseconds after which a question ends its transaction and lets other questions run. */
export const sliceMs = 40;
