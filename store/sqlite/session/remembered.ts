// The interface of the structures that a reader thread keeps in memory.
import type { Transaction } from '../tables/transaction.ts';

/** A structure in memory that is built from all rows of a type, and then follows their changes. */
export interface Remembered {
  /** How many numbers the structure keeps. The sum over all structures is limited. */
  readonly size: number;
  /**
   * Continues building until the time `untilMs` (of `performance.now()`). It is called again, in another transaction
   * each time, while it returns `more`. After `done`, `refresh` must be called before the structure is used.
   */
  readonly build: (session: Transaction, untilMs: number) => 'done' | 'more' | 'too large';
  /**
   * Applies the changes since the last call.
   * @returns false when the structure must be built again
   */
  readonly refresh: (session: Transaction) => boolean;
}
