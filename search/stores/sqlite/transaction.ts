// One read transaction: its statements, and the state of the index that it sees. Numbers of terms are valid in one
// transaction only; an answer that takes several transactions reads the numbers again in each of them.
import type { IndexVersions } from '../index-version.ts';
import type { Catalog } from './catalog.ts';
import type { Sql } from './sql.ts';
import { unpackTerms } from './terms.ts';

/** Sets of term numbers, for the SQL function `holds`. */
export class TermTestSets {
  readonly #sets: ReadonlySet<number>[] = [];

  add(ids: readonly number[]): number {
    return this.#sets.push(new Set(ids)) - 1;
  }

  clear(): void {
    this.#sets.length = 0;
  }

  /** Whether a row's packed terms include a member of the set with this number. */
  holds(packed: Uint8Array, number: number): boolean {
    const set = this.#sets[number]!;
    return unpackTerms(packed).some((id) => set.has(id));
  }
}

/** The state of the index that a transaction sees; times in microseconds. */
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
  readonly tests: TermTestSets;
  readonly memory: RowCountMemory;
}

/** The number of rows of a type in each namespace slot, kept between transactions. */
export interface RowCountMemory {
  rowCounts(transaction: Transaction, t: number): { of(slot: number): number };
}

/** Runs `work` in its own transaction. */
export type Slice<S extends Transaction = Transaction> = <T>(work: (session: S) => T) => T;

/** How a question shares the reader thread with other questions. */
export interface Turns<S extends Transaction = Transaction> {
  readonly slice: Slice<S>;
  /** Lets other questions run. No transaction is open meanwhile. */
  readonly pause: () => Promise<void>;
}

/** After this time a question lets others run. */
export const sliceMs = 40;
