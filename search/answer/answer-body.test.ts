import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeOpenStreams } from '../../routing/forward/open-streams.ts';
import { beginBody, ClientGone, warningHeaders } from './answer-body.ts';
import type { IndexRequest } from '../request/request.ts';

/** A client that takes nothing before it is told to. */
function slowClient() {
  const chunks: string[] = [];
  let drained = (): void => undefined;
  const closing: ((aborted: boolean) => void)[] = [];
  let closed = false;
  const close = (aborted: boolean): void => {
    if (closed) return;
    closed = true;
    for (const listener of closing) listener(aborted);
  };
  const inbound = {
    method: 'GET',
    respond: () => undefined,
    write: (chunk: Buffer) => chunks.push(chunk.toString()) < 0,
    end: () => close(false),
    abort: () => close(true),
    onDrain: (listener: () => void) => void (drained = listener),
    onClose: (listener: (aborted: boolean) => void) => void closing.push(listener),
    get closed() {
      return closed;
    },
  };
  const outcome: { error: unknown } = { error: undefined };
  const progress = { status: 0, bytesOut: 0 };
  const request = { inbound, outcome, progress, auditId: 'id' } as unknown as IndexRequest;
  return { request, chunks, outcome, drain: () => drained(), close, isClosed: () => closed };
}

test('nothing more is written before the client has taken what there is, and the answer is under way until it ends', async () => {
  const { request, chunks, drain } = slowClient();
  const open = makeOpenStreams();
  const body = beginBody(request, [], open);
  let written = 0;
  const writing = (async () => {
    for (const text of ['a', 'b', 'c']) {
      await body.write(Buffer.from(text));
      written += 1;
    }
  })();
  await new Promise(setImmediate);
  assert.deepEqual([chunks.join(''), written, open.size], ['a', 0, 1]);
  assert.ok([...open][0]!.blockedSinceMs > 0);
  drain();
  await new Promise(setImmediate);
  assert.deepEqual([chunks.join(''), written], ['ab', 1]);
  drain();
  await new Promise(setImmediate);
  drain();
  await writing;
  body.end();
  assert.equal(open.size, 0);
});

test('a writer that waits for a client that goes gets an error, and writes nothing any more', async () => {
  const { request, chunks, close } = slowClient();
  const open = makeOpenStreams();
  const body = beginBody(request, [], open);
  const writing = body.write(Buffer.from('a'));
  close(true);
  await assert.rejects(writing, ClientGone);
  await assert.rejects(body.write(Buffer.from('b')), ClientGone);
  assert.deepEqual([chunks, open.size], [['a'], 0]);
});

test('a drain waits for a list and ends a watch; a watch that is ended from outside says why', () => {
  const list = slowClient();
  const lists = makeOpenStreams();
  beginBody(list.request, [], lists);
  assert.equal([...lists][0]!.endAtBoundary(), false);
  assert.equal(list.isClosed(), false);

  let over = 0;
  const kind = { kind: 'watch', onOver: () => (over += 1) } as const;
  const watch = slowClient();
  const watches = makeOpenStreams();
  beginBody(watch.request, [], watches, kind);
  [...watches][0]!.end(new GatewayError('UNAUTHENTICATED', 'the token has ended'), '{"code":401}');
  assert.deepEqual(watch.chunks, ['{"type":"ERROR","object":{"code":401}}\n']);
  assert.deepEqual([watch.isClosed(), watches.size, over], [true, 0, 1]);
  assert.match(String(watch.outcome.error), /the token has ended/);
});

test('of very many warnings the last says how many are missing', () => {
  const many = Array.from({ length: 200 }, (_, i) => ({ cluster: `c${i}`, text: 'stale' }));
  const headers = warningHeaders(many);
  assert.equal(headers.length, 60);
  assert.match(headers[1]!, /cluster c0: stale/);
  assert.match(headers.at(-1)!, /171 more warnings/);
});
