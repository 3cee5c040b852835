// Sends the rows of a page as one JSON document, and reads them while it sends. An error before the first byte becomes
// a Status. After a later error the connection is closed, so that the client does not take the part it has for a
// complete list.
import { setImmediate as turn } from 'node:timers/promises';
import type { Page, RowRead } from '../../store/store.ts';
import type { Warning } from './answer-body.ts';
import { sendParts, sendPieces } from './compressed-body.ts';
import type { AnswerParts, Write } from './compressed-body.ts';
import { asBuffer, piecesOf } from '../../lib/json/raw-json.ts';
import type { IndexRequest } from '../request/request.ts';

/** The JSON text of an answer around its rows: what precedes them, how each row is written, and what follows them. */
export interface RowDocument {
  readonly head: Buffer;
  item(row: RowRead): Uint8Array;
  readonly tail: Buffer;
}

/**
 * After making rows for so many milliseconds, the event loop may handle other work: the authors of CRDs decide what the
 * columns of their types compute, and one row may take some milliseconds.
 */
const atOnceMs = 10;
/**
 * Rows are sent when they have this many bytes. The cells of a row may be many times as long as the object that they
 * are made of.
 */
const mostAtOnce = 4 << 20;

/** Sends all rows and ends the answer. @throws GatewayError (rejects) only while nothing has been sent */
export async function sendRows(
  request: IndexRequest,
  document: RowDocument,
  { chunks, release }: Pick<Page, 'chunks' | 'release'>,
  warnings: readonly Warning[],
  parts: AnswerParts,
): Promise<void> {
  const batches = batchesOf(document, chunks);
  try {
    const first = await batches.next();
    const items = first.done === true ? [] : first.value;
    const second = first.done === true ? first : await batches.next();
    const opening = [document.head, ...piecesOf(items, true)];
    if (second.done === true) {
      // Most answers are short and sent at once, with Content-Length. The memory of the page is not copied; it is
      // released when the last byte has been sent.
      if (release !== undefined) request.inbound.onClose((aborted) => aborted || release());
      await sendPieces(request, [...opening, document.tail].map(asBuffer), { warnings }, parts);
      return;
    }
    const begun: Begun = { opening, isFirst: items.length === 0, second: second.value, batches };
    await sendParts(request, { warnings }, parts, (write) => writeRest(document, begun, write));
  } finally {
    await batches.return();
  }
}

type Items = readonly Uint8Array[];

/**
 * Writes the rows of each chunk as JSON, and gives them in batches: one chunk, or as many rows as may be sent at once.
 */
async function* batchesOf(document: RowDocument, chunks: Page['chunks']): AsyncGenerator<Items, void, void> {
  let sinceMs = performance.now();
  for await (const chunk of chunks) {
    let items: Uint8Array[] = [];
    let bytes = 0;
    for (const row of chunk) {
      const item = document.item(row);
      items.push(item);
      bytes += item.byteLength;
      if (bytes >= mostAtOnce) {
        yield items;
        [items, bytes] = [[], 0];
      }
      if (performance.now() - sinceMs > atOnceMs) {
        await turn();
        sinceMs = performance.now();
      }
    }
    if (items.length > 0 || chunk.length === 0) yield items;
    sinceMs = performance.now();
  }
}

interface Begun {
  readonly opening: Items;
  readonly isFirst: boolean;
  readonly second: Items;
  readonly batches: AsyncGenerator<Items, void, void>;
}

async function writeRest(
  document: RowDocument,
  { opening, second, batches, ...begun }: Begun,
  write: Write,
): Promise<void> {
  let isFirst = begun.isFirst;
  await write(inOne(opening));
  let items: Items | undefined = second;
  while (items !== undefined) {
    if (items.length > 0) {
      await write(inOne(piecesOf(items, isFirst)));
      isFirst = false;
    }
    const next = await batches.next();
    items = next.done === true ? undefined : next.value;
  }
  await write(document.tail);
}

function inOne(pieces: Items): Buffer {
  return pieces.length === 1 ? asBuffer(pieces[0]!) : Buffer.concat(pieces);
}
