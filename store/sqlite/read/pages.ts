// Reads a page: first the keys of its rows, then the bodies. The keys of a long list take several transactions, and
// other questions run between these. The page's resourceVersion is that of the first transaction.
import type { SlotRow } from '../tables/catalog.ts';
import type { Cursor } from '../../../query/continue.ts';
import type { PageRequest } from '../../store.ts';
import { BodyBudget, TooManyBodies, type BodyLimits } from '../../body-budget.ts';
import { countRows } from './counts.ts';
import { prepareSkip } from '../session/created-skip.ts';
import { KeyStream } from './key-stream.ts';
import { makeCursor } from '../../row-order.ts';
import { sliceMs, type Turns } from '../tables/transaction.ts';
import { type Question, type Session } from '../session/session.ts';

/** The result of reading keys: which rows are on the page, and what the answer says about the rows after it. */
export interface KeyPage {
  readonly sequence: number;
  /** Ids of the rows, in order. */
  readonly ids: Float64Array;
  readonly next: Cursor | undefined;
  readonly remaining: number | undefined;
  readonly warnings?: readonly string[];
}

/**
 * Reads the keys of a page.
 * @param readFirst reads the first bodies; called with all keys, in the transaction that found the last of them
 * @throws TooManyBodies (rejects) when too many bodies must be read and the page may not end early
 */
export async function readPage<First>(
  turns: Turns<Session>,
  question: Question,
  page: PageRequest,
  bodyLimits: BodyLimits | undefined,
  readFirst: ReadFirst<First>,
): Promise<KeyPage & { readonly first: First }> {
  if (page.after === undefined) await prepareSkip(turns, question, page.offset ?? 0);
  const reading = new PageReading(question, page, bodyLimits);
  for (;;) {
    const found = turns.slice((session) => reading.goOn(session, readFirst));
    if (found !== undefined) return { ...(await reading.finish(turns)), ...found };
    await turns.pause();
  }
}

type ReadFirst<First> = (session: Session, ids: Float64Array, sequence: number) => First;

/** Collects the keys of one page over several transactions. */
class PageReading {
  readonly #question: Question;
  readonly #page: PageRequest;
  readonly #budget: BodyBudget;
  readonly #over: PageRequest['overBudget'];
  readonly #stream: KeyStream;
  readonly #ids: number[] = [];
  #sequence: number | undefined;
  #skipped: number | undefined;
  #last: SlotRow | undefined;
  #hasMore = false;

  constructor(question: Question, page: PageRequest, bodyLimits: BodyLimits | undefined) {
    const { limit, offset = 0, after } = page;
    this.#question = question;
    this.#page = page;
    this.#budget = new BodyBudget(question.query.types, bodyLimits);
    this.#over = overBudgetOf(page);
    this.#stream = new KeyStream(question, after, { offset, limit }, { budget: this.#budget, over: this.#over });
  }

  /**
   * Reads keys for a limited time (`sliceMs`). Undefined when the page is not complete yet.
   * @throws TooManyBodies when too many bodies must be read and the page may not end early
   */
  goOn<First>(
    session: Session,
    readFirst: ReadFirst<First>,
  ): { readonly ids: Float64Array; readonly first: First } | undefined {
    const stream = this.#stream;
    this.#sequence ??= session.sequence;
    const untilMs = performance.now() + sliceMs;
    stream.enter(session);
    this.#skipped ??= stream.skip(session, this.#page.offset ?? 0);
    do {
      const rows = stream.next(session);
      if (rows !== undefined && !this.#take(rows)) continue;
      if (this.#over === 'refuse' && stream.cutAt !== undefined && this.#isShort) throw this.#budget.tooManyForPage();
      const ids = Float64Array.from(this.#ids);
      return { ids, first: readFirst(session, ids, this.#sequence) };
    } while (performance.now() < untilMs);
    return undefined;
  }

  /** Finds out where the next page begins, how many rows remain, and of what the client is to be warned. */
  async finish(turns: Turns<Session>): Promise<Omit<KeyPage, 'ids'>> {
    const stream = this.#stream;
    const rowsUpTo = stream.rowsBefore + this.#skipped! + this.#ids.length;
    const end = this.#hasMore ? this.#last : stream.cutAt;
    const next = end === undefined ? undefined : makeCursor(stream.order, end, rowsUpTo);
    const warnings: string[] = [];
    if (!this.#hasMore && next !== undefined && this.#isShort) warnings.push(this.#budget.endedText());
    let remaining: number | undefined;
    if (this.#page.withRemaining === true) {
      remaining = next === undefined ? 0 : await this.#remainingAfter(turns, rowsUpTo);
      if (remaining === undefined) warnings.push(this.#budget.uncountedText());
    }
    const keys = { sequence: this.#sequence!, next, remaining };
    return warnings.length === 0 ? keys : { ...keys, warnings };
  }

  get #isShort(): boolean {
    return this.#ids.length < this.#page.limit!;
  }

  /**
   * Adds rows to the page.
   * @returns true when the page is full and there is at least one row after it
   */
  #take(rows: readonly SlotRow[]): boolean {
    const { limit, offset = 0 } = this.#page;
    for (const row of rows) {
      if (this.#skipped! < offset) this.#skipped!++;
      else if (limit !== undefined && this.#ids.length >= limit) {
        this.#hasMore = true;
        return true;
      } else {
        this.#ids.push(row.id);
        this.#last = row;
      }
    }
    return false;
  }

  /**
   * The number of matching rows after the first `rows`; undefined when counting them would read more bodies than a
   * question may.
   */
  async #remainingAfter(turns: Turns<Session>, rows: number): Promise<number | undefined> {
    if (this.#stream.cutAt !== undefined) return undefined;
    try {
      const all = await countRows(turns, this.#question, { budget: this.#budget, over: this.#over });
      return Math.max(1, all - rows);
    } catch (error) {
      if (!(error instanceof TooManyBodies)) throw error;
      return undefined;
    }
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
