// An answer that comes before the body of its request does, over HTTP/2: the client sees all of it, and what it still
// sends is bounded. What curl and Go's client make of it: test/e2e/attack/refused-bodies.e2e.ts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { lingerBytes, lingerMs } from '../../../http/linger.ts';
import { startListener } from '../../../gateway/listener/tls-server.ts';
import type { Listener } from '../../../gateway/listener/tls-server.ts';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../../site/http2-client.ts';
import { block, flag, frame, get, openFrames, post, pseudo, type } from '../../site/http2-frames.ts';
import type { FrameClient } from '../../site/http2-frames.ts';
import type { Endpoint } from '../../site/raw-client.ts';

let listener: Listener;
let endpoint: Endpoint;
const answerText = '{"kind":"Status","code":401}';

/** Every head is answered at once, and no body is read. */
before(async () => {
  const authority = await makeTestAuthority();
  const material = { ...(await authority.issue(['ip:127.0.0.1'])), clientCa: undefined };
  listener = await startListener({ host: '127.0.0.1', port: 0 }, material, ({ inbound }) => {
    inbound.respond(401, ['Content-Length', String(answerText.length)], false);
    inbound.write(Buffer.from(answerText));
    inbound.end();
  });
  endpoint = { port: listener.port, ca: authority.ca };
});
after(() => listener.close());

const one = 1;
const data = (stream: number, bytes: number, flags = 0): Buffer =>
  frame(type.data, flags, stream, Buffer.alloc(bytes, 'x'));

/** The error of the first stream's RST_STREAM. */
async function resetCode(client: FrameClient): Promise<number> {
  const found = await client.find((f) => f.type === type.reset && f.stream === one);
  return found!.payload.readUInt32BE(0);
}

test("node's client sees the whole answer to each of 110 bodies of up to 1 MiB that nobody reads", async (t) => {
  const session = await openHttp2(endpoint);
  t.after(() => session.destroy());
  for (let i = 0; i < 110; i++) {
    const body = Buffer.alloc(i % 20 === 0 ? 1024 * 1024 : 70_000);
    const { status, body: text, complete, rstCode } = await http2Exchange(session, http2Headers('POST', '/'), body);
    assert.deepEqual([status, text, complete, rstCode], [401, answerText, true, 0]);
  }
});

test('a stream whose answer came before its body is not reset: the body is taken, and room for more is given', async () => {
  const client = await openFrames(endpoint);
  client.send(post(one));
  assert.equal(await client.outcome(one), 'answered');
  for (let i = 0; i < 8; i++) client.send(data(one, 16_384));
  await client.find((f) => f.type === type.windowUpdate && f.stream === one);
  client.send(data(one, 16_384, flag.endStream), get(3));
  assert.equal(await client.outcome(3), 'answered');
  assert.ok(!client.frames.some((f) => f.type === type.reset));
  // Nothing is open any more: whatever came for it now would be a fault of the connection.
  client.send(frame(type.headers, flag.endHeaders | flag.endStream, one, block(...pseudo)));
  await client.find((f) => f.type === type.goAway);
  client.socket.destroy();
});

test('a body that goes on and on behind its answer is reset without an error, and the connection goes on', async () => {
  const client = await openFrames(endpoint);
  client.send(post(one));
  assert.equal(await client.outcome(one), 'answered');
  const isReset = (): boolean => client.frames.some((f) => f.type === type.reset && f.stream === one);
  let sent = 0;
  // Each window is filled, and the next one waited for.
  for (let updates = 0; !isReset() && sent <= 2 * lingerBytes;) {
    for (let i = 0; i < 8; i++) client.send(data(one, 16_384));
    sent += 8 * 16_384;
    updates += 1;
    const before = updates;
    await client.find(
      (f) =>
        isReset() ||
        (f.type === type.windowUpdate &&
          f.stream === one &&
          client.frames.filter((each) => each.type === type.windowUpdate && each.stream === one).length >= before),
    );
  }
  assert.equal(await resetCode(client), 0);
  assert.ok(sent > lingerBytes && sent <= lingerBytes + 1024 * 1024, `${sent} bytes were taken`);
  client.send(get(3));
  assert.equal(await client.outcome(3), 'answered');
  client.socket.destroy();
});

test('a body that does not come is waited for a few seconds behind its answer, then its stream is reset without an error', async (t) => {
  const client = await openFrames(endpoint);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  client.send(post(one), get(3));
  assert.deepEqual([await client.outcome(one), await client.outcome(3)], ['answered', 'answered']);
  t.mock.timers.tick(lingerMs - 1);
  client.send(get(5));
  assert.equal(await client.outcome(5), 'answered');
  assert.ok(!client.frames.some((f) => f.type === type.reset));
  t.mock.timers.tick(1);
  assert.equal(await resetCode(client), 0);
  client.socket.destroy();
});

test('a body that is longer or shorter than its Content-Length is a fault of its stream, behind the answer too', async () => {
  for (const [length, bytes] of [
    ['3', 4],
    ['10', 5],
  ] as const) {
    const client = await openFrames(endpoint);
    const head = block(
      ...pseudo.filter(([name]) => name !== ':method'),
      [':method', 'POST'],
      ['content-length', length],
    );
    client.send(frame(type.headers, flag.endHeaders, one, head));
    assert.equal(await client.outcome(one), 'answered');
    client.send(data(one, bytes, flag.endStream));
    assert.equal(await resetCode(client), 1);
    client.socket.destroy();
  }
});
