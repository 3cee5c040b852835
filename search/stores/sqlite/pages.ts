// Makes a page: keys first, bodies last. Easy to get wrong: keys of a long list take several transactions; each slice ends before the next question
// may run, and the page says the state its first slice saw.
import type { Cursor, PageRequest } from '../store.ts';
import { countRows } from './counts.ts';
import { prepareSkip } from './created-skip.ts';
import { KeyStream } from './key-stream.ts';
import { makeCursor, type KeyRow } from './order.ts';
import { sliceMs, type Question, type Session, type Turns } from './session.ts';

/** The keys of a page. */
export interface KeyPage {
  readonly sequence: number;
  /** Rows in order. */
  readonly ids: Float64Array;
  readonly next: Cursor | undefined;
  readonly remaining: number | undefined;
}

/** @param readFirst is called with the keys in the transaction that found the last of them */
export async function readPage<First>(
  turns: Turns,
  question: Question,
  page: PageRequest,
  readFirst: (session: Session, ids: Float64Array, sequence: number) => First,
): Promise<KeyPage & { readonly first: First }> {
  const { slice, pause } = turns;
  const { limit, offset = 0, after, withRemaining = false } = page;
  if (after === undefined) await prepareSkip(turns, question, offset);
  const stream = new KeyStream(question, after, { offset, limit });
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
        const found = Float64Array.from(ids);
        return { ids: found, first: readFirst(session, found, sequence) };
      } while (performance.now() < untilMs);
      return undefined;
    });
    if (read === undefined) await pause();
  }
  const rowsUpTo = stream.rowsBefore + skipped + ids.length;
  const next = hasMore && last !== undefined ? makeCursor(stream.order, last, rowsUpTo) : undefined;
  const remaining = withRemaining ? (next === undefined ? 0 : await remainingAfter(rowsUpTo)) : undefined;
  return { sequence: sequence!, ids: read.ids, next, remaining, first: read.first };

  async function remainingAfter(rows: number): Promise<number> {
    const all = await countRows(turns, question);
    return Math.max(1, all - rows);
  }
}
