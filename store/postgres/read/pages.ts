// Reads a page: first the keys of its rows, then the bodies. The first chunk of bodies is read in the same transaction
// as the keys.
import type { Cursor } from '../../../query/continue.ts';
import type { PageRequest, RowRead } from '../../store.ts';
import { BodyBudget, TooManyBodies, type BodyLimits } from '../../body-budget.ts';
import { makeCursor, type KeyRow } from '../../row-order.ts';
import type { PageRows } from './bodies.ts';
import { countRows } from './counts.ts';
import type { FoundRow } from './key-order.ts';
import { KeyStream } from './key-stream.ts';
import type { Question } from './plans.ts';
import type { Snapshot } from './snapshot.ts';

/** The result of reading keys: which rows are on the page, and what the answer says about the rows after it. */
export interface KeyPage {
  /** Ids of the rows, in order. */
  readonly ids: PageRows;
  /** The first rows, when they were read together with their keys; otherwise empty. */
  readonly first: readonly RowRead[];
  readonly next: Cursor | undefined;
  readonly remaining: number | undefined;
  readonly warnings: readonly string[];
}

/**
 * Reads the keys of a page.
 * @throws TooManyBodies (rejects) when too many bodies must be read and the page may not end early
 */
export async function readKeys(
  snapshot: Snapshot,
  question: Question,
  page: PageRequest,
  bodyLimits: BodyLimits | undefined,
): Promise<KeyPage> {
  const budget = new BodyBudget(question.query.types, bodyLimits);
  return new PageReading(snapshot, question, page, budget).read();
}

class PageReading {
  readonly #snapshot: Snapshot;
  readonly #question: Question;
  readonly #page: PageRequest;
  readonly #budget: BodyBudget;
  readonly #over: PageRequest['overBudget'];
  readonly #stream: KeyStream;
  readonly #rows: Rows = new Rows();
  #skipped = 0;
  #last: KeyRow | undefined;
  #hasMore = false;

  constructor(snapshot: Snapshot, question: Question, page: PageRequest, budget: BodyBudget) {
    const { limit, offset = 0, after } = page;
    this.#snapshot = snapshot;
    this.#question = question;
    this.#page = page;
    this.#budget = budget;
    this.#over = overBudgetOf(page);
    this.#stream = new KeyStream(snapshot, question, after, { offset, limit }, { budget, over: this.#over });
  }

  async read(): Promise<KeyPage> {
    const stream = this.#stream;
    this.#skipped = await stream.open();
    for (;;) {
      const rows = await stream.next();
      if (rows === undefined || this.#take(rows)) break;
    }
    if (this.#over === 'refuse' && stream.cutAt !== undefined && this.#isShort) throw this.#budget.tooManyForPage();
    return this.#finish();
  }

  async #finish(): Promise<KeyPage> {
    const stream = this.#stream;
    const rowsUpTo = stream.rowsBefore + this.#skipped + this.#rows.count;
    const end = this.#hasMore ? this.#last : stream.cutAt;
    const next = end === undefined ? undefined : makeCursor(stream.order, end, rowsUpTo);
    const warnings: string[] = [];
    if (!this.#hasMore && next !== undefined && this.#isShort) warnings.push(this.#budget.endedText());
    let remaining: number | undefined;
    if (this.#page.withRemaining === true) {
      remaining = next === undefined ? 0 : await this.#remainingAfter(rowsUpTo);
      if (remaining === undefined) warnings.push(this.#budget.uncountedText());
    }
    return { ids: this.#rows.packed(), first: this.#rows.first, next, remaining, warnings };
  }

  get #isShort(): boolean {
    return this.#rows.count < this.#page.limit!;
  }

  /**
   * Adds rows to the page.
   * @returns true when the page is full and there is at least one row after it
   */
  #take(rows: readonly FoundRow[]): boolean {
    const { limit, offset = 0 } = this.#page;
    for (const row of rows) {
      if (this.#skipped < offset) this.#skipped++;
      else if (limit !== undefined && this.#rows.count >= limit) {
        this.#hasMore = true;
        return true;
      } else {
        this.#rows.add(row);
        this.#last = row;
      }
    }
    return false;
  }

  /**
   * The number of matching rows after the first `rows`; undefined when counting them would read more bodies than a
   * question may.
   */
  async #remainingAfter(rows: number): Promise<number | undefined> {
    if (this.#stream.cutAt !== undefined) return undefined;
    try {
      const looks = { budget: this.#budget, over: this.#over };
      return Math.max(1, (await countRows(this.#snapshot, this.#question, looks)) - rows);
    } catch (error) {
      if (!(error instanceof TooManyBodies)) throw error;
      return undefined;
    }
  }
}

/** The rows of a page as arrays of numbers, which take little memory: a list may contain every row of the index. */
class Rows {
  readonly #ids: number[] = [];
  readonly #incs: number[] = [];
  readonly #bytes: number[] = [];
  readonly first: RowRead[] = [];

  get count(): number {
    return this.#ids.length;
  }

  add({ id, type, slot, name, bytes, rest }: FoundRow): void {
    if (rest !== undefined && this.first.length === this.#ids.length) {
      const { id: incarnation, cluster } = slot.incarnation;
      this.first.push({ type, cluster, incarnation, namespace: slot.namespace, name, ...rest });
    }
    this.#ids.push(id);
    this.#incs.push(slot.incarnation.number);
    this.#bytes.push(bytes);
  }

  packed(): PageRows {
    return {
      ids: Float64Array.from(this.#ids),
      incs: Int32Array.from(this.#incs),
      bytes: Int32Array.from(this.#bytes),
    };
  }
}

/**
 * What to do when the budget of bodies is used up. A list without a limit reads on beyond the budget. A page with an
 * offset cannot end early, because no cursor can point to one of the skipped rows.
 */
function overBudgetOf({ limit, offset = 0, overBudget }: PageRequest): PageRequest['overBudget'] {
  if (limit === undefined) return undefined;
  return overBudget === 'end' && offset > 0 ? 'refuse' : overBudget;
}
