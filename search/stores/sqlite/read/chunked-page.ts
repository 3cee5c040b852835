// Makes the page a caller reads from what a reader has answered: the first rows are there, the rest are asked for chunk
// by chunk as the consumer goes on.
import type { Page, ReadPoint, RowRead } from '../../store.ts';
import { rowsOfChunk, type BodyChunk } from './bodies.ts';
import type { PointRead } from './point-reader.ts';
import type { ReadPage } from './reader.ts';

/** Ids that are sent at a time to be read; a chunk ends sooner if its rows are large. */
const idsAtOnce = 1000;

/** Reads the bodies of some ids as they were at a sequence. */
export type ReadChunk = (ids: Float64Array, sequence: number) => Promise<BodyChunk>;

/** @param read asks a reader for the rows behind the first ones */
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

/** The page of one object that was read by its key. */
export function pointPage({ rows }: PointRead, point: ReadPoint, withRemaining = false): Page {
  const chunks = async function* (): AsyncGenerator<readonly RowRead[]> {
    if (rows.length > 0) yield rows;
  };
  return {
    ...point,
    next: undefined,
    remaining: withRemaining ? 0 : undefined,
    chunks: { [Symbol.asyncIterator]: chunks },
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
    // One chunk is read ahead; the consumer may stop before it asks for it.
    const next = done < ids.length ? read(ids.slice(done, done + idsAtOnce), sequence) : undefined;
    next?.catch(() => undefined);
    if (chunk.bytes.length > 0) yield rowsOfChunk(chunk);
    if (next === undefined) return;
    chunk = await next;
  }
}
