// Takes the rows of a page from a stream of keys: passes over the offset, stops when the page is full, and says where
// the next page begins and how many rows remain (remainingItemCount). Every store reads its pages with this.
import type { ResourceType } from '../query/types.ts';
import { BodyBudget, TooManyBodies, type BodyLimits, type BodyAllowance } from './body-budget.ts';
import { makeCursor, type KeyRow, type RowOrder } from './row-order.ts';
import type { Page, PageRequest } from './store.ts';

/** The stream that rows are taken from, as far as it says where the page ends. */
export interface PageSource {
  readonly order: RowOrder;
  /** How many rows of the query come before the first row of the stream. */
  readonly rowsBefore: number;
  /** The last row that was examined when the stream has ended early because its budget was used up. */
  readonly cutAt: KeyRow | undefined;
}

/** What a page says about the rows after it; `warnings` is absent when there are none. */
export type PageEnd = Pick<Page, 'next' | 'remaining' | 'warnings'>;

/** The offset and the limit of a page. */
export interface Wanted {
  /** How many rows to skip at the beginning. */
  readonly offset: number;
  /** How many rows to give after the skipped ones. Undefined: all. */
  readonly limit: number | undefined;
}

export class PageKeys<Row extends KeyRow> {
  /** The budget of bodies for the page, and what happens when it is used up. */
  readonly allowance: BodyAllowance;
  readonly wanted: Wanted;
  readonly #page: PageRequest;
  readonly #add: (row: Row) => void;
  #skipped = 0;
  #count = 0;
  #last: Row | undefined;
  #hasMore = false;

  /** @param add called with each row of the page, in order */
  constructor(
    types: readonly ResourceType[],
    page: PageRequest,
    bodyLimits: BodyLimits | undefined,
    add: (row: Row) => void,
  ) {
    this.#page = page;
    this.#add = add;
    this.allowance = { budget: new BodyBudget(types, bodyLimits), over: overBudgetOf(page) };
    this.wanted = { offset: page.offset ?? 0, limit: page.limit };
  }

  /**
   * Tells how many rows of the offset the stream leaves out by itself, so that `take` does not skip them again. To be
   * called before `take`.
   */
  skip(rows: number): void {
    this.#skipped = rows;
  }

  /**
   * Adds rows to the page.
   * @returns true when the page is full and there is at least one row after it
   */
  take(rows: readonly Row[]): boolean {
    const { limit, offset } = this.wanted;
    for (const row of rows) {
      if (this.#skipped < offset) this.#skipped++;
      else if (limit !== undefined && this.#count >= limit) {
        this.#hasMore = true;
        return true;
      } else {
        this.#count++;
        this.#add(row);
        this.#last = row;
      }
    }
    return false;
  }

  /**
   * To be called after the last row.
   * @throws TooManyBodies when the stream has ended early and the page may not
   */
  check({ cutAt }: PageSource): void {
    const { budget, over } = this.allowance;
    if (over === 'refuse' && cutAt !== undefined && this.#isShort) throw budget.tooManyForPage();
  }

  /**
   * Finds out where the next page begins, how many rows remain, and of what the client is to be warned.
   * @param countAll counts all rows of the query; rejects with TooManyBodies when that would read too many bodies
   */
  async end(source: PageSource, countAll: () => Promise<number>): Promise<PageEnd> {
    const { budget } = this.allowance;
    const rowsUpTo = source.rowsBefore + this.#skipped + this.#count;
    const end = this.#hasMore ? this.#last : source.cutAt;
    const next = end === undefined ? undefined : makeCursor(source.order, end, rowsUpTo);
    const warnings: string[] = [];
    if (!this.#hasMore && next !== undefined && this.#isShort) warnings.push(budget.endedText());
    let remaining: number | undefined;
    if (this.#page.withRemaining === true) {
      remaining = next === undefined ? 0 : await remainingAfter(rowsUpTo, source, countAll);
      if (remaining === undefined) warnings.push(budget.uncountedText());
    }
    return { next, remaining, ...(warnings.length === 0 ? {} : { warnings }) };
  }

  get #isShort(): boolean {
    return this.#count < this.#page.limit!;
  }
}

/**
 * The number of matching rows after the first `rows`; undefined when counting them would read more bodies than a
 * question may.
 */
async function remainingAfter(
  rows: number,
  { cutAt }: PageSource,
  countAll: () => Promise<number>,
): Promise<number | undefined> {
  if (cutAt !== undefined) return undefined;
  try {
    return Math.max(1, (await countAll()) - rows);
  } catch (error) {
    if (!(error instanceof TooManyBodies)) throw error;
    return undefined;
  }
}

/**
 * Whether a page ends early, is refused, or reads on when the budget of bodies is used up. A list without a limit reads
 * on beyond the budget. A page with an offset cannot end early, because no cursor can point to one of the skipped rows.
 */
function overBudgetOf({ limit, offset = 0, overBudget }: PageRequest): PageRequest['overBudget'] {
  if (limit === undefined) return undefined;
  return overBudget === 'end' && offset > 0 ? 'refuse' : overBudget;
}
