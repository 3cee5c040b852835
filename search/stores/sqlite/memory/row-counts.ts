// How many rows of a type each slot has, in memory, so that thousands of namespaces are summed without a look-up for
// each. The bench needs it for counts by users of 3,000 namespaces: count 2.4 ms before the memories of this folder
// were added and 0.2 since, by namespace 3.8 and 0.6 (docs/performance.md). A slot without a counter has no rows.
import type { Remembered } from './remembered.ts';
import type { Transaction } from '../transaction.ts';
import { changesOfType } from './type-changes.ts';

export class RowCounts implements Remembered {
  readonly #t: number;
  readonly #counts = new Map<number, number>();
  #sequence = 0;

  constructor(t: number) {
    this.#t = t;
  }

  /** In slots. */
  get size(): number {
    return this.#counts.size + 1;
  }

  build({ sql, sequence }: Transaction): 'done' {
    for (const [slot, n] of sql.all<[number, number]>('SELECT place, n FROM counter WHERE t = ?', [this.#t])) {
      this.#counts.set(slot, n);
    }
    this.#sequence = sequence;
    return 'done';
  }

  refresh(session: Transaction): boolean {
    const changes = changesOfType(session, this.#t, this.#sequence);
    if (changes === undefined) return false;
    for (const slot of new Set(changes.map((change) => change.slot))) {
      const text = 'SELECT n FROM counter WHERE t = ? AND place = ?';
      this.#counts.set(slot, session.sql.first<[number]>(text, [this.#t, slot])?.[0] ?? 0);
    }
    this.#sequence = session.sequence;
    return true;
  }

  of(slot: number): number {
    return this.#counts.get(slot) ?? 0;
  }
}
