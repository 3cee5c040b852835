// What a reader thread keeps in memory between transactions, so that questions over many namespaces, or with a large
// offset, need not read every row. Each structure is built over several transactions and then kept up to date from the
// change log. Easy to get wrong: in each transaction `refresh` must be called before a structure is used.
import { LRUCache } from 'lru-cache';

import { CreatedColumn } from './created-column.ts';
import { NameColumn } from './name-column.ts';
import { SlotNumbers } from './slot-numbers.ts';
import { RowCounts } from './row-counts.ts';
import { sliceMs, type TimeSlices } from '../tables/transaction.ts';
import type { Transaction } from '../tables/transaction.ts';
import { mostPostings, TermCounts } from './term-counts.ts';
import type { Remembered } from './remembered.ts';

/**
 * The most numbers that all structures keep together; each takes about 16 bytes. Beyond this limit the least recently
 * used structures are dropped.
 */
const mostKept = 2 * mostPostings;
/** Milliseconds after which building a structure that was too large is tried again. */
const tooLargeForMs = 60_000;
/** Milliseconds. Names are read into memory when a second question needs them within this time. */
const askedForMs = 600_000;

export class ReaderMemory {
  readonly slots = new SlotNumbers();
  readonly #ready = new LRUCache<string, Remembered>({ maxSize: mostKept, sizeCalculation: ({ size }) => size });
  readonly #unfinished = new Map<string, Remembered>();
  readonly #tooLarge = new LRUCache<string, true>({ max: 1000, ttl: tooLargeForMs });
  readonly #asked = new LRUCache<string, true>({ max: 1000, ttl: askedForMs });

  /** Builds the {@link ReaderMemory.termCounts} of a path, unless they would be too large. */
  async prepareTermCounts(timeSlices: TimeSlices, t: number, path: string): Promise<void> {
    await this.#prepare(timeSlices, termsKey(t, path), () => new TermCounts(t, path, this.slots));
  }

  /**
   * The number of rows for each namespace slot and each value of one path.
   * @returns undefined when it was not built
   */
  termCounts(session: Transaction, t: number, path: string): TermCounts | undefined {
    return this.#current(session, termsKey(t, path)) as TermCounts | undefined;
  }

  /** Builds the {@link ReaderMemory.createdColumn} of a type, unless it would be too large. */
  async prepareCreatedColumn(timeSlices: TimeSlices, t: number): Promise<void> {
    await this.#prepare(timeSlices, columnKey(t), () => new CreatedColumn(t, this.slots));
  }

  /**
   * The creation times of all objects of a type.
   * @returns undefined when they were not read into memory
   */
  createdColumn(session: Transaction, t: number): CreatedColumn | undefined {
    return this.#current(session, columnKey(t)) as CreatedColumn | undefined;
  }

  /**
   * Builds the {@link ReaderMemory.nameColumn} of a type when it is needed for the second time, unless it would be too
   * large. The first time it would not pay: reading all names costs as much as ten searches in the file.
   */
  async prepareNameColumn(timeSlices: TimeSlices, t: number): Promise<void> {
    const key = namesKey(t);
    if (this.#asked.has(key)) await this.#prepare(timeSlices, key, () => new NameColumn(t, this.slots));
    this.#asked.set(key, true);
  }

  /**
   * The names of all objects of a type.
   * @returns undefined when they were not read into memory
   */
  nameColumn(session: Transaction, t: number): NameColumn | undefined {
    return this.#current(session, namesKey(t)) as NameColumn | undefined;
  }

  /**
   * The number of rows of a type in each namespace slot. It is one number for each slot at most, so it is built at once
   * when it is missing.
   */
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

  async #prepare({ slice, pause }: TimeSlices, key: string, make: () => Remembered): Promise<void> {
    const isDone = (session: Transaction): boolean => {
      if (this.#tooLarge.has(key) || this.#current(session, key) !== undefined) return true;
      // Questions that need the same structure at the same time build it together.
      const made = this.#unfinished.get(key) ?? make();
      // Removed first, so that a half-built structure is not kept when building throws.
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
