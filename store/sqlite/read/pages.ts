// Reads a page: first the keys of its rows, then the bodies (the JSON of the objects). The keys of a long list take
// several transactions, and other questions run between these. The page's resourceVersion is that of the first
// transaction.
import type { SlotRow } from '../tables/catalog.ts';
import type { PageRequest } from '../../store.ts';
import type { BodyLimits } from '../../body-budget.ts';
import { countRows } from './counts.ts';
import { prepareSkip } from '../session/created-skip.ts';
import { KeyStream } from './key-stream.ts';
import { PageKeys, type PageEnd } from '../../page-keys.ts';
import { sliceMs, type TimeSlices } from '../tables/transaction.ts';
import { type Question, type Session } from '../session/session.ts';

/** The result of reading keys: which rows are on the page, and what the answer says about the rows after it. */
export interface KeyPage extends PageEnd {
  readonly sequence: number;
  /** Ids of the rows, in order. */
  readonly ids: Float64Array;
}

/**
 * Reads the keys of a page.
 * @param readFirst reads the first bodies; called with all keys, in the transaction that found the last of them
 * @throws TooManyBodies (rejects) when too many bodies must be read and the page may not end early
 */
export async function readPage<First>(
  timeSlices: TimeSlices<Session>,
  question: Question,
  page: PageRequest,
  bodyLimits: BodyLimits | undefined,
  readFirst: ReadFirst<First>,
): Promise<KeyPage & { readonly first: First }> {
  const ids: number[] = [];
  const keys = new PageKeys<SlotRow>(question.query.types, page, bodyLimits, ({ id }) => ids.push(id));
  const { wanted, allowance } = keys;
  if (page.after === undefined) await prepareSkip(timeSlices, question, wanted.offset);
  const stream = new KeyStream(question, page.after, wanted, allowance);
  let sequence: number | undefined;
  /** Reads keys for a limited time (`sliceMs`). Undefined when the page is not complete yet. */
  const goOn = (session: Session): { readonly ids: Float64Array; readonly first: First } | undefined => {
    const untilMs = performance.now() + sliceMs;
    stream.enter(session);
    if (sequence === undefined) keys.skip(stream.skip(session, wanted.offset));
    sequence ??= session.sequence;
    do {
      const rows = stream.next(session);
      if (rows !== undefined && !keys.take(rows)) continue;
      keys.check(stream);
      const found = Float64Array.from(ids);
      return { ids: found, first: readFirst(session, found, sequence) };
    } while (performance.now() < untilMs);
    return undefined;
  };
  for (;;) {
    const found = timeSlices.slice(goOn);
    if (found !== undefined) {
      const end = await keys.end(stream, () => countRows(timeSlices, question, allowance));
      return { sequence: sequence!, ...end, ...found };
    }
    await timeSlices.pause();
  }
}

type ReadFirst<First> = (session: Session, ids: Float64Array, sequence: number) => First;
