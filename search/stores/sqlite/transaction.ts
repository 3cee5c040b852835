// One read transaction: the statements, and what is known of the index at its moment. Numbers of terms and namespaces
// belong to this transaction; a longer answer opens the next one and reads them again.
import type { IndexVersions } from '../index-version.ts';
import type { Catalog } from './catalog.ts';
import type { Sql } from './sql.ts';
import { unpackTerms } from './terms.ts';

/** Sets of terms by number, which the SQL function `holds` is asked about. */
export class TermTestSets {
  readonly #sets: ReadonlySet<number>[] = [];

  add(ids: readonly number[]): number {
    return this.#sets.push(new Set(ids)) - 1;
  }

  clear(): void {
    this.#sets.length = 0;
  }

  /** Whether a row's packed terms hold one of a set. */
  holds(packed: Uint8Array, number: number): boolean {
    const set = this.#sets[number]!;
    return unpackTerms(packed).some((id) => set.has(id));
  }
}

/** What a reading saw, in microseconds. */
export interface Moment {
  /** Time of the last commit. */
  readonly sequence: number;
  /** Time of the last change of a role or binding; 0 for none. */
  readonly rights: number;
}

/** Of one transaction: the last commit it sees, and the rights in it. */
export interface Transaction extends Moment {
  readonly sql: Sql;
  readonly catalog: Catalog;
  readonly versions: IndexVersions;
  readonly tests: TermTestSets;
  readonly memory: RowCountMemory;
}

/** How many rows of a type each namespace has, remembered between transactions. */
export interface RowCountMemory {
  rowCounts(transaction: Transaction, t: number): { of(slot: number): number };
}

/** Runs work in a transaction of its own. */
export type Slice<S extends Transaction = Transaction> = <T>(work: (session: S) => T) => T;

/** How a question shares its reader with others. */
export interface Turns<S extends Transaction = Transaction> {
  readonly slice: Slice<S>;
  /** Lets other questions run. */
  readonly pause: () => Promise<void>;
}

/** A question lets others run after so long. */
export const sliceMs = 40;
