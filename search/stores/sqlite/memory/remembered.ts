// The interface of everything a reader remembers.
import type { Transaction } from '../transaction.ts';

/** Something that is made of all rows of a type. */
export interface Remembered {
  /** What is kept, in numbers. */
  readonly size: number;
  /** Goes on being built, in as many transactions as it takes; to be refreshed after. */
  readonly build: (session: Transaction, untilMs: number) => 'done' | 'more' | 'too large';
  /** Takes what has changed since. @returns false when it has to be built anew */
  readonly refresh: (session: Transaction) => boolean;
}
