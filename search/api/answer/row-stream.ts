// Sends the rows of a page as one JSON document, and reads them while it sends. An error before the first byte becomes
// a Status. After a later error the connection is closed, so that the client does not take the part it has for a
// complete list.
import type { Page, RowRead } from '../../stores/store.ts';
import type { Warning } from './answer-body.ts';
import { sendParts, sendPieces } from './compressed-body.ts';
import type { AnswerParts, Write } from './compressed-body.ts';
import { asBuffer, piecesOf } from '../../../lib/json/raw-json.ts';
import type { IndexRequest } from '../request.ts';

/** The JSON text of an answer around its rows: what precedes them, how each row is written, and what follows them. */
export interface RowDocument {
  readonly head: Buffer;
  item(row: RowRead): Uint8Array;
  readonly tail: Buffer;
}

/** Sends all rows and ends the answer. @throws GatewayError (rejects) only while nothing has been sent */
export async function sendRows(
  request: IndexRequest,
  document: RowDocument,
  { chunks, release }: Pick<Page, 'chunks' | 'release'>,
  warnings: readonly Warning[],
  parts: AnswerParts,
): Promise<void> {
  const rows = chunks[Symbol.asyncIterator]();
  try {
    const first = await rows.next();
    const items = first.done === true ? [] : first.value.map((row) => document.item(row));
    const second = first.done === true ? first : await rows.next();
    const opening = [document.head, ...piecesOf(items, true)];
    if (second.done === true) {
      // Most answers are short and sent at once, with Content-Length. The memory of the page is not copied; it is
      // released when the last byte has been sent.
      if (release !== undefined) request.inbound.onClose((aborted) => aborted || release());
      await sendPieces(request, [...opening, document.tail].map(asBuffer), { warnings }, parts);
      return;
    }
    const begun: Begun = { opening, isFirst: items.length === 0, second: second.value, rows };
    await sendParts(request, { warnings }, parts, (write) => writeRest(document, begun, write));
  } finally {
    await rows.return?.();
  }
}

interface Begun {
  readonly opening: readonly Uint8Array[];
  readonly isFirst: boolean;
  readonly second: readonly RowRead[];
  readonly rows: AsyncIterator<readonly RowRead[]>;
}

async function writeRest(
  document: RowDocument,
  { opening, second, rows, ...begun }: Begun,
  write: Write,
): Promise<void> {
  let isFirst = begun.isFirst;
  await write(inOne(opening));
  let chunk: readonly RowRead[] | undefined = second;
  while (chunk !== undefined) {
    if (chunk.length > 0) {
      const items = chunk.map((row) => document.item(row));
      await write(inOne(piecesOf(items, isFirst)));
      isFirst = false;
    }
    const next = await rows.next();
    chunk = next.done === true ? undefined : next.value;
  }
  await write(document.tail);
}

function inOne(pieces: readonly Uint8Array[]): Buffer {
  return pieces.length === 1 ? asBuffer(pieces[0]!) : Buffer.concat(pieces);
}
