// How many rows of each namespace slot (a namespace of one cluster) have each value of one path, so that a facet is a
// sum over slots. For users with 3,000 namespaces the time of a facet falls from 113 to 0.6 ms for a label with 60
// values, from 36 to 0.2 for the phase, from 89 to 0.6 for the node, and from 550 to 1.9 for the image
// (docs/performance.md). Easy to get wrong: the number of a deleted term can be used again for another path. So the
// caller must look up each number in table `term`.
import type { Remembered } from './remembered.ts';
import type { SlotNumbers } from './slot-numbers.ts';
import type { Transaction } from '../tables/transaction.ts';
import { unpackTerms } from '../tables/terms.ts';
import { changesOfType } from './type-changes.ts';

/**
 * A path is not kept in memory when it has more terms (values) than this, or more postings (pairs of row and value)
 * than the next constant.
 */
const mostTerms = 100_000;
export const mostPostings = 1_500_000;
/** When more namespace slots than this have changed since the counts were built, they are built again from all rows. */
const mostRecounted = 2000;

export class TermCounts implements Remembered {
  readonly #t: number;
  readonly #path: string;
  readonly #numbers: SlotNumbers;
  /** Microseconds since 1970: the last change that the counts contain. Changes after it are applied by `refresh`. */
  #sequence = 0;
  /** Numbers of the terms whose rows were not counted yet; undefined before building begins. */
  #left: number[] | undefined;
  #terms: number[] = [];
  /** For each term, where its slots begin in `#slots` and `#counts`; one more element marks the end. */
  #starts: number[] = [0];
  #slots: number[] | Int32Array = [];
  #counts: number[] | Int32Array = [];
  /** Newer counts of the slots that have changed since building: by the slot's number, then by term. */
  readonly #recounted = new Map<number, ReadonlyMap<number, number>>();
  readonly #known = new Set<number>();

  /** @param path the name of the path in table `term`, such as `l:app` for the label `app` */
  constructor(t: number, path: string, numbers: SlotNumbers) {
    this.#t = t;
    this.#path = path;
    this.#numbers = numbers;
  }

  /** The number of pairs of slot and term, as {@link Remembered.size} requires. */
  get size(): number {
    return this.#slots.length + this.#terms.length + 1;
  }

  build(session: Transaction, untilMs: number): 'done' | 'more' | 'too large' {
    const { sql } = session;
    if (this.#left === undefined) {
      const terms = sql.all<[number, number]>(
        'SELECT id, n FROM term INDEXED BY term_key WHERE t = ? AND path = ? LIMIT ?',
        [this.#t, this.#path, mostTerms + 1],
      );
      const postings = terms.reduce((sum, [, n]) => sum + n, 0);
      if (terms.length > mostTerms || postings > mostPostings) return 'too large';
      this.#sequence = session.sequence;
      this.#left = terms.map(([id]) => id);
    }
    const slots = this.#slots as number[];
    const counts = this.#counts as number[];
    while (this.#left.length > 0) {
      const term = this.#left.pop()!;
      const found = sql.all<[number, number]>('SELECT place, count(*) FROM posting WHERE term = ? GROUP BY place', [
        term,
      ]);
      for (const [slot, n] of found) {
        slots.push(this.#numbers.of(slot));
        counts.push(n);
      }
      this.#terms.push(term);
      this.#known.add(term);
      this.#starts.push(slots.length);
      if (performance.now() > untilMs) return 'more';
    }
    this.#slots = Int32Array.from(slots);
    this.#counts = Int32Array.from(counts);
    return 'done';
  }

  refresh(session: Transaction): boolean {
    const changes = changesOfType(session, this.#t, this.#sequence);
    if (changes === undefined) return false;
    const changed = [...new Set(changes.map(({ slot }) => slot))];
    if (changed.length > 0) this.#recount(session, changed);
    this.#sequence = session.sequence;
    return this.#recounted.size <= mostRecounted;
  }

  /**
   * Whether this number belonged to a term of the path when the counts were built. It may have become a term of another
   * path since.
   */
  mayBeTerm(term: number): boolean {
    return this.#known.has(term);
  }

  /**
   * The number of rows with each term, in those slots whose byte is 1 in `members` (from {@link SlotNumbers.among}).
   * The result may include terms that belong to another path by now.
   */
  count(members: Uint8Array): Map<number, number> {
    const sums = new Map<number, number>();
    const asBefore = members.slice();
    for (const [number, terms] of this.#recounted) {
      asBefore[number] = 0;
      if (members[number] !== 1) continue;
      for (const [term, n] of terms) sums.set(term, (sums.get(term) ?? 0) + n);
    }
    for (const [i, term] of this.#terms.entries()) {
      let sum = 0;
      const end = this.#starts[i + 1]!;
      for (let at = this.#starts[i]!; at < end; at++) if (asBefore[this.#slots[at]!] === 1) sum += this.#counts[at]!;
      if (sum > 0) sums.set(term, (sums.get(term) ?? 0) + sum);
    }
    return sums;
  }

  #recount({ sql }: Transaction, slots: readonly number[]): void {
    const counts = new Map(slots.map((slot) => [slot, new Map<number, number>()]));
    const rows = sql.all<[number, Uint8Array]>(
      `SELECT o.place, o.terms FROM json_each(?) j CROSS JOIN obj o INDEXED BY obj_key ON o.t = ? AND o.place = j.value`,
      [JSON.stringify(slots), this.#t],
    );
    for (const [slot, terms] of rows) {
      const inSlot = counts.get(slot)!;
      for (const term of unpackTerms(terms)) inSlot.set(term, (inSlot.get(term) ?? 0) + 1);
    }
    const found = new Set([...counts.values()].flatMap((inSlot) => [...inSlot.keys()]));
    const ofPath = new Set(
      sql
        .all<[number]>(
          'SELECT k.id FROM json_each(?) j CROSS JOIN term k NOT INDEXED ON k.id = j.value WHERE k.t = ? AND k.path = ?',
          [JSON.stringify([...found]), this.#t, this.#path],
        )
        .map(([id]) => id),
    );
    for (const id of ofPath) this.#known.add(id);
    for (const [slot, inSlot] of counts) {
      for (const term of inSlot.keys()) if (!ofPath.has(term)) inSlot.delete(term);
      this.#recounted.set(this.#numbers.of(slot), inSlot);
    }
  }
}
