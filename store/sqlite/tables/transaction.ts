// One read transaction: its statements, and the state of the index that it sees. Numbers of terms are valid in one
// transaction only, so an answer that takes several transactions reads the numbers again in each of them.
import type { IndexVersions } from '../../index-version.ts';
import type { Catalog } from './catalog.ts';
import type { Sql } from './sql.ts';
import { unpackTerms } from './terms.ts';

/** The sets of term numbers that the SQL function `holds` tests. They are numbered in the order of `add`. */
export class TermTestSets {
  readonly #sets: ReadonlySet<number>[] = [];

  add(ids: readonly number[]): number {
    return this.#sets.push(new Set(ids)) - 1;
  }

  clear(): void {
    this.#sets.length = 0;
  }

  /** Whether one of a row's terms (`packed`) is in the set that `add` gave this number. */
  holds(packed: Uint8Array, number: number): boolean {
    const set = this.#sets[number]!;
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
  readonly tests: TermTestSets;
  readonly memory: RowCountMemory;
}

/** The number of rows of a type in each namespace slot, kept between transactions. */
export interface RowCountMemory {
  rowCounts(transaction: Transaction, t: number): { of(slot: number): number };
}

/** Runs `work` in a transaction of its own, and returns its result. */
export type Slice<S extends Transaction = Transaction> = <T>(work: (session: S) => T) => T;

/** How a question shares its reader thread with other questions: it works in slices, with pauses between them. */
export interface TimeSlices<S extends Transaction = Transaction> {
  readonly slice: Slice<S>;
  /** Lets other questions run. No transaction is open meanwhile. */
  readonly pause: () => Promise<void>;
}

/** Milliseconds after which a question ends its transaction and lets other questions run. */
export const sliceMs = 40;
