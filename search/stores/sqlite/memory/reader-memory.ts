// What a reader remembers of rows between transactions, so that many namespaces or a large offset need no look at every
// row. It is built in slices and kept current by the log. A memory is valid in a transaction only after `refresh` in
// it.
import { LRUCache } from 'lru-cache';

import { CreatedColumn } from './created-column.ts';
import { NameColumn } from './name-column.ts';
import { SlotNumbers } from './slot-numbers.ts';
import { RowCounts } from './row-counts.ts';
import { sliceMs, type Turns } from '../transaction.ts';
import type { Transaction } from '../transaction.ts';
import { mostPostings, TermCounts } from './term-counts.ts';
import type { Remembered } from './remembered.ts';

/** About 16 bytes each. */
const mostKept = 2 * mostPostings;
/** What was too large is tried again after this. */
const tooLargeForMs = 60_000;
/** Names are read for the second question within this time. */
const askedForMs = 600_000;

export class ReaderMemory {
  readonly slots = new SlotNumbers();
  readonly #ready = new LRUCache<string, Remembered>({ maxSize: mostKept, sizeCalculation: ({ size }) => size });
  readonly #unfinished = new Map<string, Remembered>();
  readonly #tooLarge = new LRUCache<string, true>({ max: 1000, ttl: tooLargeForMs });
  readonly #asked = new LRUCache<string, true>({ max: 1000, ttl: askedForMs });

  /** Builds {@link ReaderMemory.termCounts} of a path, unless there are too many. */
  async prepareTermCounts(turns: Turns, t: number, path: string): Promise<void> {
    await this.#prepare(turns, termsKey(t, path), () => new TermCounts(t, path, this.slots));
  }

  /** @returns undefined when they are not ready */
  termCounts(session: Transaction, t: number, path: string): TermCounts | undefined {
    return this.#current(session, termsKey(t, path)) as TermCounts | undefined;
  }

  /** Builds {@link ReaderMemory.createdColumn} of a type, unless it is too large. */
  async prepareCreatedColumn(turns: Turns, t: number): Promise<void> {
    await this.#prepare(turns, columnKey(t), () => new CreatedColumn(t, this.slots));
  }

  /** @returns undefined when it is not ready */
  createdColumn(session: Transaction, t: number): CreatedColumn | undefined {
    return this.#current(session, columnKey(t)) as CreatedColumn | undefined;
  }

  /**
   * Builds {@link ReaderMemory.nameColumn} of a type at the second question, unless it is too large: to read all names
   * once costs as much as ten searches.
   */
  async prepareNameColumn(turns: Turns, t: number): Promise<void> {
    const key = namesKey(t);
    if (this.#asked.has(key)) await this.#prepare(turns, key, () => new NameColumn(t, this.slots));
    this.#asked.set(key, true);
  }

  /** @returns undefined when it is not ready */
  nameColumn(session: Transaction, t: number): NameColumn | undefined {
    return this.#current(session, namesKey(t)) as NameColumn | undefined;
  }

  /** Rows of a type by slot; made at once, there are no more of them than slots. */
  rowCounts(session: Transaction, t: number): RowCounts {
    const known = this.#current(session, countsKey(t)) as RowCounts | undefined;
    if (known !== undefined) return known;
    const made = new RowCounts(t);
    made.build(session);
    this.#ready.set(countsKey(t), made);
    return made;
  }

  #current(session: Transaction, key: string): Remembered | undefined {
    const ready = this.#ready.get(key);
    if (ready === undefined || ready.refresh(session)) return ready;
    this.#ready.delete(key);
    return undefined;
  }

  async #prepare({ slice, pause }: Turns, key: string, make: () => Remembered): Promise<void> {
    const isDone = (session: Transaction): boolean => {
      if (this.#tooLarge.has(key) || this.#current(session, key) !== undefined) return true;
      // Questions that need the same memory build it together.
      const made = this.#unfinished.get(key) ?? make();
      // Not kept if building throws.
      this.#unfinished.delete(key);
      const state = made.build(session, performance.now() + sliceMs);
      if (state === 'more') this.#unfinished.set(key, made);
      if (state === 'too large') this.#tooLarge.set(key, true);
      if (state === 'done' && made.refresh(session)) this.#ready.set(key, made);
      return state !== 'more';
    };
    while (!slice(isDone)) await pause();
  }
}

const termsKey = (t: number, path: string): string => `${t} terms ${path}`;
const columnKey = (t: number): string => `${t} created`;
const namesKey = (t: number): string => `${t} names`;
const countsKey = (t: number): string => `${t} rows`;
