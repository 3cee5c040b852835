// Makes a page from the answer of a reader thread, for the code that asked the store. The first rows are in the answer;
// the others are requested from the thread chunk by chunk while the page is consumed.
import type { Page, ReadPoint, RowRead } from '../../store.ts';
import { rowsOfChunk, type BodyChunk } from './bodies.ts';
import type { ReadPage } from './reader.ts';

/** The most row ids that are sent to a reader thread at a time. The thread may read fewer rows when they are large. */
const idsAtOnce = 1000;

/** Reads the bodies of rows by id, as they were at time `sequence` (microseconds). */
export type ReadChunk = (ids: Float64Array, sequence: number) => Promise<BodyChunk>;

/**
 * Makes the page of a list.
 * @param read asks a reader thread for the rows after the first ones
 */
export function pageOf(
  { sequence, left, next, remaining, warnings, first }: ReadPage,
  point: ReadPoint,
  read: ReadChunk,
): Page {
  return {
    ...point,
    next,
    remaining,
    ...(warnings === undefined ? {} : { warnings }),
    chunks: { [Symbol.asyncIterator]: () => chunksOf(left, sequence, first, read) },
    ...(left !== undefined ? {} : { release: () => void (first.bodies.buffer as ArrayBuffer).transfer(0) }),
  };
}

async function* chunksOf(
  ids: Float64Array = new Float64Array(),
  sequence: number,
  first: BodyChunk,
  read: ReadChunk,
): AsyncGenerator<readonly RowRead[]> {
  let chunk = first;
  for (let done = 0; ; done += chunk.done) {
    // The next chunk is read while this one is consumed. The consumer may stop early, so an error of reading it is
    // ignored until the chunk is needed.
    const next = done < ids.length ? read(ids.slice(done, done + idsAtOnce), sequence) : undefined;
    next?.catch(() => undefined);
    if (chunk.bytes.length > 0) yield rowsOfChunk(chunk);
    if (next === undefined) return;
    chunk = await next;
  }
}
