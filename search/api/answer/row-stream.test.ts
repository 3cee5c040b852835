import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeOpenStreams } from '../../../routing/forward/open-streams.ts';
import type { RowRead } from '../../stores/store.ts';
import type { IndexRequest } from '../request.ts';
import { sendRows } from './row-stream.ts';

const document = { head: Buffer.from('['), item: ({ raw }: RowRead) => raw, tail: Buffer.from(']') };

/** A page of one row, and a client whose answer is on its way until it is closed. */
async function sendOne() {
  const written: Buffer[] = [];
  let over: (aborted: boolean) => void = () => undefined;
  const inbound = {
    method: 'GET',
    respond: () => undefined,
    write: (chunk: Buffer) => written.push(chunk) > 0,
    end: () => undefined,
    onClose: (listener: (aborted: boolean) => void) => (over = listener),
  };
  const progress = { status: 0, bytesOut: 0 };
  const request = { inbound, progress, auditId: 'id' } as unknown as IndexRequest;
  const bodies = new Uint8Array(Buffer.from(',{"a":1}'));
  const chunks = (async function* () {
    yield [{ raw: bodies.subarray(1) } as RowRead];
  })();
  let released = 0;
  const release = (): void => {
    released++;
    bodies.buffer.transfer(0);
  };
  await sendRows(request, document, { chunks, release }, [], { openStreams: makeOpenStreams(), onError: assert.fail });
  return { text: () => Buffer.concat(written).toString(), close: over, released: () => released, progress };
}

test('the memory of a page is given back when its last byte has left, not before', async () => {
  const sent = await sendOne();
  assert.deepEqual([sent.text(), sent.progress.bytesOut, sent.released()], ['[{"a":1}]', 9, 0]);
  sent.close(false);
  assert.equal(sent.released(), 1);
});

test('the memory of an answer that was cut is left alone: a write may still be under way', async () => {
  const sent = await sendOne();
  sent.close(true);
  assert.deepEqual([sent.text(), sent.released()], ['[{"a":1}]', 0]);
});
