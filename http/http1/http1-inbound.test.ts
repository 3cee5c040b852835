import assert from 'node:assert/strict';
import { test } from 'node:test';
import { echo, get, openLine, send, settle } from './http1-line.fixture.ts';

test('a stream is framed in chunks, one for what is written in one turn', async () => {
  const line = openLine();
  send(line, get('/'));
  await settle();
  const { inbound } = line.arrivals[0]!;
  inbound.respond(200, ['Transfer-Encoding', 'gzip', 'Connection', 'keep-alive', 'X', 'y'], false);
  await settle();
  inbound.write(Buffer.from('abc'));
  inbound.write(Buffer.from('0123456789abc'));
  await settle();
  inbound.end();
  await settle();
  assert.deepEqual(line.writes, [
    'HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n',
    '10\r\nabc0123456789abc\r\n',
    '0\r\n\r\n',
  ]);
});

for (const [what, method, status, headers, expected] of [
  ['HEAD', 'HEAD', 200, ['Content-Length', '10'], 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n'],
  ['204', 'GET', 204, ['Content-Length', '0'], 'HTTP/1.1 204 No Content\r\n\r\n'],
  ['304', 'GET', 304, ['ETag', 'x'], 'HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n'],
] as const) {
  test(`${what} has no body and no framing of one`, async () => {
    const line = openLine((inbound) => {
      inbound.respond(status, headers, true);
      inbound.write(Buffer.from('no'));
      inbound.end();
    });
    send(line, `${method} / HTTP/1.1\r\nHost: x\r\n\r\n`);
    await settle();
    assert.equal(line.received(), expected);
  });
}

for (const [what, bytes] of [
  ['shorter', 'ab'],
  ['longer', 'abcd'],
] as const) {
  test(`an answer ${what} than its Content-Length is cut`, async () => {
    let aborted: boolean | undefined;
    const line = openLine((inbound) => {
      inbound.onClose((cut) => (aborted = cut));
      inbound.respond(200, ['Content-Length', '3'], false);
      inbound.write(Buffer.from(bytes));
      inbound.end();
    });
    send(line, get('/'));
    await settle();
    assert.equal(line.socket.destroyed, true);
    assert.equal(aborted, true);
  });
}

for (const [what, headers] of [
  ['CR LF in a value', ['X', 'a\r\nSet-Cookie: b']],
  ['U+010A, whose low byte is LF', ['X', 'a\u010ab']],
  ['a name that is no token', ['X:y', 'z']],
  ['two different Content-Length headers', ['Content-Length', '1', 'Content-Length', '2']],
] as const) {
  test(`an answer with ${what} is not written, and another can be`, async () => {
    const line = openLine((inbound) => {
      assert.throws(() => inbound.respond(200, headers, false), /it was not sent/);
      assert.equal(inbound.answered, false);
      echo(inbound);
    });
    send(line, get('/'));
    await settle();
    assert.match(line.received(), /^HTTP\/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\/$/);
  });
}

test('a client that does not read holds the answer back, and lets it go on when it reads', async () => {
  const line = openLine();
  line.client.pause();
  send(line, get('/'));
  await settle();
  const { inbound } = line.arrivals[0]!;
  let drained = 0;
  inbound.onDrain(() => (drained += 1));
  inbound.respond(200, [], false);
  let written = 0;
  while (inbound.write(Buffer.alloc(16 * 1024))) assert.ok(++written < 100, 'write() says to wait');
  await settle();
  assert.equal(drained, 0);
  line.client.resume();
  await settle();
  assert.equal(drained, 1);
});

test('write() that fills up within one turn and empties with it still tells of the drain', async () => {
  const line = openLine();
  send(line, get('/'));
  await settle();
  const { inbound } = line.arrivals[0]!;
  let drained = 0;
  inbound.onDrain(() => (drained += 1));
  inbound.respond(200, [], false);
  let sent = 0;
  for (let i = 0; i < 50; i++) {
    const before = drained;
    while (inbound.write(Buffer.alloc(10_000))) sent += 1;
    sent += 1;
    await settle();
    assert.equal(drained, before + 1);
  }
  inbound.end();
  await settle();
  const body = line.received().slice(line.received().indexOf('\r\n\r\n') + 4);
  const data = body.replaceAll(/[0-9a-f]+\r\n(\0+)\r\n/g, '$1').replace('0\r\n\r\n', '');
  assert.equal(data.length, sent * 10_000);
});
