// Makes a page: keys first, bodies last. Easy to get wrong: keys of a long list take several transactions; each slice
// ends before the next question may run, and the page says the state its first slice saw.
import type { Cursor, PageRequest } from '../../store.ts';
import { BodyBudget, TooManyBodies, type BodyLimits } from './body-budget.ts';
import { countRows } from './counts.ts';
import { prepareSkip } from '../memory/created-skip.ts';
import { KeyStream } from './key-stream.ts';
import { makeCursor, type KeyRow } from './order.ts';
import { sliceMs, type Turns } from '../transaction.ts';
import { type Question, type Session } from '../session.ts';

/** The keys of a page. */
export interface KeyPage {
  readonly sequence: number;
  /** Rows in order. */
  readonly ids: Float64Array;
  readonly next: Cursor | undefined;
  readonly remaining: number | undefined;
  readonly warnings?: readonly string[];
}

/**
 * @param readFirst is called with the keys in the transaction that found the last of them
 * @throws TooManyBodies (rejects) where the page may neither end early nor read on, and for an order by paths of too
 *   many objects
 */
export async function readPage<First>(
  turns: Turns<Session>,
  question: Question,
  page: PageRequest,
  bodyLimits: BodyLimits | undefined,
  readFirst: (session: Session, ids: Float64Array, sequence: number) => First,
): Promise<KeyPage & { readonly first: First }> {
  const { slice, pause } = turns;
  const { limit, offset = 0, after, withRemaining = false } = page;
  if (after === undefined) await prepareSkip(turns, question, offset);
  const budget = new BodyBudget(question.query.types, bodyLimits);
  const over = overBudgetOf(page);
  const stream = new KeyStream(question, after, { offset, limit }, { budget, over });
  const ids: number[] = [];
  let sequence: number | undefined;
  let skipped = 0;
  let isFirst = true;
  let last: KeyRow | undefined;
  let hasMore = false;
  let read: { readonly ids: Float64Array; readonly first: First } | undefined;
  /** Whether that is enough. */
  const take = (rows: readonly KeyRow[]): boolean => {
    for (const row of rows) {
      if (skipped < offset) skipped++;
      else if (limit !== undefined && ids.length >= limit) {
        hasMore = true;
        return true;
      } else {
        ids.push(row.id);
        last = row;
      }
    }
    return false;
  };
  while (read === undefined) {
    read = slice((session) => {
      sequence ??= session.sequence;
      const untilMs = performance.now() + sliceMs;
      stream.enter(session);
      if (isFirst) skipped = stream.skip(session, offset);
      isFirst = false;
      do {
        const rows = stream.next(session);
        if (rows !== undefined && !take(rows)) continue;
        if (over === 'refuse' && stream.cutAt !== undefined && ids.length < limit!) throw budget.tooManyForPage();
        const found = Float64Array.from(ids);
        return { ids: found, first: readFirst(session, found, sequence) };
      } while (performance.now() < untilMs);
      return undefined;
    });
    if (read === undefined) await pause();
  }
  const rowsUpTo = stream.rowsBefore + skipped + ids.length;
  const end = hasMore ? last : stream.cutAt;
  const next = end === undefined ? undefined : makeCursor(stream.order, end, rowsUpTo);
  const warnings: string[] = [];
  if (!hasMore && next !== undefined && ids.length < limit!) warnings.push(budget.endedText());
  const remaining = withRemaining ? (next === undefined ? 0 : await remainingAfter(rowsUpTo)) : undefined;
  const keys = { sequence: sequence!, ids: read.ids, next, remaining, first: read.first };
  return warnings.length === 0 ? keys : { ...keys, warnings };

  async function remainingAfter(rows: number): Promise<number | undefined> {
    if (stream.cutAt !== undefined) {
      warnings.push(budget.uncountedText());
      return undefined;
    }
    try {
      const all = await countRows(turns, question, { budget, over });
      return Math.max(1, all - rows);
    } catch (error) {
      if (!(error instanceof TooManyBodies)) throw error;
      warnings.push(budget.uncountedText());
      return undefined;
    }
  }
}

/**
 * Without a limit everything is wanted, whatever it costs; an offset counts rows that match, so no cursor can stand
 * among them.
 */
function overBudgetOf({ limit, offset = 0, overBudget }: PageRequest): PageRequest['overBudget'] {
  if (limit === undefined) return undefined;
  return overBudget === 'end' && offset > 0 ? 'refuse' : overBudget;
}
