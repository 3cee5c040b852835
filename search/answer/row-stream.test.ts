import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeOpenStreams } from '../../routing/forward/open-streams.ts';
import type { RowRead } from '../../store/store.ts';
import type { IndexRequest } from '../request/request.ts';
import { sendRows } from './row-stream.ts';

const asItIs = { head: Buffer.from('['), item: ({ raw }: RowRead) => raw, tail: Buffer.from(']') };

const parts = { openStreams: makeOpenStreams(), onError: assert.fail };

/** A client whose answer is on its way until it is closed. */
function client() {
  const written: Buffer[] = [];
  let over: (aborted: boolean) => void = () => undefined;
  const inbound = {
    method: 'GET',
    respond: () => undefined,
    write: (chunk: Buffer) => written.push(chunk) > 0,
    end: () => undefined,
    onDrain: () => undefined,
    onClose: (listener: (aborted: boolean) => void) => (over = listener),
  };
  const progress = { status: 0, bytesOut: 0 };
  const request = { inbound, progress, headers: [], auditId: 'id', query: '' } as unknown as IndexRequest;
  return { request, progress, written, close: (aborted: boolean) => over(aborted) };
}

/** Sends a page of one row. */
async function sendOne() {
  const { request, progress, written, close } = client();
  const bodies = new Uint8Array(Buffer.from(',{"a":1}'));
  const chunks = (async function* () {
    yield [{ raw: bodies.subarray(1) } as RowRead];
  })();
  let released = 0;
  const release = (): void => {
    released++;
    bodies.buffer.transfer(0);
  };
  await sendRows(request, asItIs, { chunks, release }, [], parts);
  return { text: () => Buffer.concat(written).toString(), close, released: () => released, progress };
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

/** A page of rows in one chunk. */
async function* rowsOf(count: number): AsyncGenerator<readonly RowRead[]> {
  yield Array.from({ length: count }, () => ({ raw: Buffer.from('{"a":1}') }) as unknown as RowRead);
}

test('rows that take long to make leave the event loop to others meanwhile (ATT-56)', async () => {
  const { request, written } = client();
  let made = 0;
  const seen: number[] = [];
  const look = (): void => {
    seen.push(made);
    if (made < 30) setImmediate(look);
  };
  setImmediate(look);
  const slow = {
    ...asItIs,
    item(row: RowRead) {
      for (const sinceMs = performance.now(); performance.now() - sinceMs < 4;);
      made += 1;
      return asItIs.item(row);
    },
  };
  await sendRows(request, slow, { chunks: rowsOf(30) }, [], parts);
  assert.equal(Buffer.concat(written).toString(), `[${Array.from({ length: 30 }, () => '{"a":1}').join(',')}]`);
  const between = new Set(seen.filter((count) => count > 0 && count < 30));
  assert.ok(between.size >= 5, [...seen].join(' '));
});

test('rows whose cells are many times as long as their objects are sent in parts', async () => {
  const { request, written } = client();
  const wide = { ...asItIs, item: () => Buffer.from(JSON.stringify('x'.repeat(1 << 20))) };
  await sendRows(request, wide, { chunks: rowsOf(20) }, [], parts);
  assert.ok(Math.max(...written.map(({ byteLength }) => byteLength)) < 6 << 20);
  assert.equal(JSON.parse(Buffer.concat(written).toString()).length, 20);
});
