// The interface of the structures that a reader thread keeps in memory.
import type { Transaction } from '../transaction.ts';

/** A structure that is built from all rows of a type. */
export interface Remembered {
  /** How many numbers it keeps, to limit the memory used. */
  readonly size: number;
  /**
   * Continues building until `untilMs` (`performance.now()`), and is called in as many transactions as it takes. After
   * `done`, call `refresh` before use.
   */
  readonly build: (session: Transaction, untilMs: number) => 'done' | 'more' | 'too large';
  /** Applies the changes since the last call. @returns false when it must be built again */
  readonly refresh: (session: Transaction) => boolean;
}
