import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, echo, get, openLine, send, settle } from './http1-line.fixture.ts';
import type { Line } from './http1-line.fixture.ts';

test('a small answer leaves in one write, and the connection serves the next request', async () => {
  const line = openLine(echo);
  send(line, get('/1'));
  await settle();
  send(line, get('/2'));
  await settle();
  const answer = (target: string): string => `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${target}`;
  assert.deepEqual(line.writes, [answer('/1'), answer('/2')]);
});

test('requests behind one another are answered in order, the second not before the first is over', async () => {
  const line = openLine();
  send(line, get('/1') + get('/2') + get('/3'));
  await settle();
  assert.equal(line.arrivals.length, 1);
  for (const [i, target] of ['/1', '/2', '/3'].entries()) {
    assert.equal(line.arrivals[i]!.inbound.target, target);
    echo(line.arrivals[i]!.inbound);
    await settle();
  }
  assert.equal(line.arrivals.length, 3);
  assert.match(line.received(), /\/1HTTP.*\/2HTTP.*\/3$/s);
});

test('requests with bodies arrive the same wherever the bytes are cut', async () => {
  const text =
    'POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;e=f\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n' +
    'PUT /l HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello' +
    get('/g');
  const bodies = ['abcde', 'hello', ''];
  const run = async (pieces: readonly string[], where: string): Promise<void> => {
    const found: { text: string; ended: boolean }[] = [];
    const line = openLine((inbound) => {
      if (inbound.body === 'none') {
        found.push({ text: '', ended: true });
        echo(inbound);
        return;
      }
      const body = { text: '', ended: false };
      found.push(body);
      inbound.readBody({
        onData: (chunk) => (body.text += chunk.toString('latin1')),
        onEnd: () => {
          body.ended = true;
          echo(inbound);
        },
      });
    });
    for (const piece of pieces) send(line, piece);
    await settle();
    assert.deepEqual(
      found,
      bodies.map((body) => ({ text: body, ended: true })),
      where,
    );
    assert.match(line.received(), /\/c.*\/l.*\/g$/s);
    assert.doesNotMatch(line.received(), /Connection: close/);
    line.client.destroy();
  };
  for (let cut = 0; cut <= text.length; cut++) await run([text.slice(0, cut), text.slice(cut)], `cut at ${cut}`);
  await run([...text], 'byte by byte');
});

test('a body nobody reads is held within bounds, and holds the client back', async () => {
  const line = openLine();
  send(line, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n');
  const piece = Buffer.alloc(16 * 1024);
  for (let i = 0; i < 100; i++) line.client.write(piece);
  await settle();
  assert.equal(line.socket.isPaused(), true);
  const body = collect(line.arrivals[0]!.inbound);
  await settle();
  assert.equal(body.text.length, 100 * piece.length);
  line.arrivals[0]!.inbound.pauseBody();
  assert.equal(line.socket.isPaused(), true);
  line.client.write(piece);
  await settle();
  assert.equal(body.text.length, 100 * piece.length);
  line.arrivals[0]!.inbound.resumeBody();
  await settle();
  assert.equal(body.text.length, 101 * piece.length);
});

test('100 Continue is sent when the body is asked for, and only then', async () => {
  const line = openLine();
  send(line, 'POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
  await settle();
  assert.equal(line.received(), '');
  const { inbound } = line.arrivals[0]!;
  const body = collect(inbound);
  await settle();
  assert.equal(line.received(), 'HTTP/1.1 100 Continue\r\n\r\n');
  send(line, 'ab');
  await settle();
  assert.deepEqual(body, { text: 'ab', ended: true });
});

test('an answer before an expected body closes the connection and asks for no body', async () => {
  const line = openLine(echo);
  send(line, 'POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
  await settle();
  assert.match(line.received(), /^HTTP\/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n\/$/);
});

test('no body is asked for behind an answer', async () => {
  const line = openLine((inbound) => {
    inbound.respond(200, [], false);
    collect(inbound);
  });
  send(line, 'POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
  await settle();
  assert.match(line.received(), /^HTTP\/1.1 200 OK\r\n[^]*\r\n\r\n$/);
});

test('a client that never stops sending behind an early answer is cut off', async () => {
  const line = openLine(echo);
  send(line, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n');
  const mebibyte = Buffer.alloc(1024 * 1024);
  for (let i = 0; i < 16; i++) line.client.write(mebibyte);
  await settle();
  assert.equal(line.socket.destroyed, false);
  line.client.write(mebibyte);
  await settle();
  assert.equal(line.socket.destroyed, true);
});

test('an answer before the body is there is delivered; the rest is dropped and never read as a request', async () => {
  const line = openLine(echo);
  let ended = false;
  line.client.on('end', () => (ended = true));
  send(line, 'POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n');
  await settle();
  assert.match(line.received(), /Connection: close\r\n\r\n\/early$/);
  assert.equal(ended, false, 'the connection stays while the client sends');
  send(line, get('/smuggled').padEnd(100) + get('/next'));
  await settle();
  assert.equal(ended, true);
  assert.equal(line.arrivals.length, 1);
});

test('an unread body that is already here does not cost the connection', async () => {
  const line = openLine(echo);
  send(line, `POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc${get('/next')}`);
  await settle();
  assert.doesNotMatch(line.received(), /close/);
  assert.match(line.received(), /\/p.*\/next$/s);
});

for (const [what, leave] of [
  ['destroys its socket', (line: Line) => line.socket.destroy()],
  ['ends its side', (line: Line) => line.client.end()],
] as const) {
  test(`a client that ${what} while it is served has gone`, async () => {
    const line = openLine();
    send(line, get('/'));
    await settle();
    const ends: boolean[] = [];
    line.arrivals[0]!.inbound.onClose((aborted) => ends.push(aborted));
    leave(line);
    await settle();
    assert.deepEqual(ends, [true]);
    assert.equal(line.arrivals[0]!.inbound.closed, true);
    assert.equal(line.released(), 1);
    echo(line.arrivals[0]!.inbound);
    assert.equal(line.received(), '');
  });
}

test('a client that ends its side behind a whole answer still gets it', async () => {
  const line = openLine();
  line.client.pause();
  send(line, get('/'));
  await settle();
  const { inbound } = line.arrivals[0]!;
  const ends: boolean[] = [];
  inbound.onClose((aborted) => ends.push(aborted));
  inbound.respond(200, ['Content-Length', '1000000'], false);
  inbound.write(Buffer.alloc(1_000_000));
  inbound.end();
  line.client.end();
  await settle();
  line.client.resume();
  await settle();
  assert.match(line.received(), /\r\n\r\n\0{1000000}$/);
  assert.deepEqual(ends, [false]);
  assert.equal(line.socket.destroyed, true);
});

test('malformed bytes are answered with a Status and nothing behind them is read', async () => {
  for (const bytes of ['GET / HTTP/1.1\nHost: x\n\n', 'GET /\r\n\r\n', 'POST / HTTP/1.1\r\nHost : x\r\n\r\n']) {
    const line = openLine(echo);
    send(line, bytes + get('/next'));
    await settle();
    assert.match(line.received(), /^HTTP\/1.1 400 Bad Request\r\n.*Connection: close\r\n\r\n.*"code":400/s);
    assert.equal(line.arrivals.length, 0);
    assert.equal(line.released(), 1);
  }
});

test('a body that is malformed behind a whole answer gets no second answer', async () => {
  for (const rest of ['+2\r\n{}\r\n0\r\n\r\n', 'zz\r\n', '2\r\n{}x\r\n']) {
    const line = openLine(echo);
    send(line, 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    await settle();
    assert.equal(line.arrivals.length, 1);
    send(line, rest + get('/next'));
    await settle();
    assert.equal(line.received().match(/HTTP\/1\.1 /g)?.length, 1, line.received());
    assert.equal(line.arrivals.length, 1);
    assert.equal(line.released(), 1);
  }
});

test('what the chain is to refuse arrives with its fault, and is the last request', async () => {
  for (const [bytes, status] of [
    ['POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ['GET / HTTP/1.2\r\nHost: x\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\n\r\n', 400],
    ['POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ['CONNECT m:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405],
  ] as const) {
    const line = openLine((inbound, { headFault }) => {
      assert.equal((headFault as { status: number }).status, status);
      echo(inbound);
    });
    send(line, bytes + get('/next'));
    await settle();
    assert.equal(line.arrivals.length, 1, bytes);
    assert.match(line.received(), /Connection: close/);
  }
});

test('malformed chunks end the request: 400 before an answer, a cut behind one', async () => {
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
  const before = openLine((inbound) => void collect(inbound));
  send(before, `${head}xyz\r\n`);
  await settle();
  assert.match(before.received(), /^HTTP\/1.1 400 /);
  assert.equal(before.arrivals[0]!.inbound.closed, true);
  const behind = openLine((inbound) => {
    collect(inbound);
    inbound.respond(200, [], false);
  });
  send(behind, head);
  await settle();
  send(behind, 'xyz\r\n');
  await settle();
  assert.doesNotMatch(behind.received(), /400|0\r\n\r\n/);
  assert.equal(behind.socket.destroyed, true);
});

test('an upgrade hands over the socket and the bytes behind the head, and reads no further', async () => {
  const line = openLine();
  send(line, `${get('/x', 'Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n')}early`);
  await settle();
  const { upgradeInbound, inbound } = line.arrivals[0]!;
  assert.equal(upgradeInbound, inbound);
  assert.equal(upgradeInbound!.early.toString(), 'early');
  assert.equal(line.released(), 1);
  assert.equal(line.socket.listenerCount('data'), 0);
  send(line, get('/smuggled'));
  await settle();
  assert.equal(line.arrivals.length, 1);
  let later = '';
  upgradeInbound!.socket.on('data', (chunk: Buffer) => (later += chunk.toString('latin1'))).resume();
  await settle();
  assert.equal(later, get('/smuggled'));
});

test('draining closes an idle connection, and a busy one behind its answer', async () => {
  const idle = openLine(echo);
  send(idle, get('/'));
  await settle();
  idle.drain();
  await settle();
  assert.equal(idle.socket.destroyed, true);
  const busy = openLine();
  send(busy, get('/'));
  await settle();
  busy.drain();
  await settle();
  assert.equal(busy.socket.destroyed, false);
  echo(busy.arrivals[0]!.inbound);
  await settle();
  assert.match(busy.received(), /Connection: close\r\n\r\n\/$/);
  assert.equal(busy.socket.destroyed, true);
});

test('Connection: close of the client is kept', async () => {
  const line = openLine(echo);
  send(line, get('/', 'Connection: Close\r\n'));
  await settle();
  assert.match(line.received(), /Connection: close\r\n\r\n\/$/);
  assert.equal(line.socket.destroyed, true);
});

test('idle connections and unfinished heads end, requests under way do not', async () => {
  const line = openLine();
  const start = performance.now();
  line.connection.sweep(start + 119_000);
  assert.equal(line.socket.destroyed, false);
  send(line, 'GET / HT');
  await settle();
  line.connection.sweep(start + 31_000);
  assert.equal(line.socket.destroyed, false);
  send(line, 'TP/1.1\r\nHost: x\r\n\r\n');
  await settle();
  line.connection.sweep(start + 1e9);
  assert.equal(line.socket.destroyed, false);
  echo(line.arrivals[0]!.inbound);
  await settle();
  line.connection.sweep(performance.now() + 119_000);
  assert.equal(line.socket.destroyed, false);
  line.connection.sweep(performance.now() + 121_000);
  assert.equal(line.socket.destroyed, true);
  const slow = openLine();
  send(slow, 'G');
  await settle();
  const deadline = slow.connection.deadlineMs;
  send(slow, 'E');
  await settle();
  assert.equal(slow.connection.deadlineMs, deadline, 'more bytes give no more time');
  slow.connection.sweep(performance.now() + 33_000);
  assert.equal(slow.socket.destroyed, true);
});

test('a client that takes nothing of its answer is given up after its time, one that takes a little is not (FLT-13)', async () => {
  const line = openLine((inbound) => {
    inbound.respond(200, [], false);
    while (inbound.write(Buffer.alloc(16 * 1024)));
  });
  line.client.pause();
  send(line, get('/long'));
  await settle();
  const nowMs = performance.now();
  line.connection.sweep(nowMs);
  line.connection.sweep(nowMs + 299_000);
  assert.equal(line.socket.destroyed, false);
  line.client.resume();
  await settle();
  line.client.pause();
  line.connection.sweep(nowMs + 400_000);
  assert.equal(line.socket.destroyed, false, 'its time begins anew');
  const { inbound } = line.arrivals[0]!;
  while (inbound.write(Buffer.alloc(16 * 1024)));
  await settle();
  line.connection.sweep(nowMs + 500_000);
  line.connection.sweep(nowMs + 801_000);
  assert.equal(line.socket.destroyed, true);
});

test('a drain leaves a new connection time for its first request, and closes one that had a request before (FLT-01)', async () => {
  const used = openLine(echo);
  send(used, get('/1'));
  await settle();
  const fresh = openLine(echo);
  const silent = openLine(echo);
  for (const line of [used, fresh, silent]) line.drain();
  await settle();
  assert.deepEqual([used.socket.destroyed, fresh.socket.destroyed], [true, false]);
  send(fresh, get('/first'));
  await settle();
  assert.match(fresh.received(), /^HTTP\/1.1 200 OK[^]*Connection: close[^]*\/first$/);
  silent.connection.sweep(performance.now() + 1_001);
  assert.equal(silent.socket.destroyed, true, 'one that sends nothing does not hold the drain up');
});

test('requests that come early in a thousand pieces of a byte hold the client back, and are all answered later (ATT-41)', async () => {
  const line = openLine();
  send(line, get('/first'));
  await settle();
  const early = Array.from({ length: 40 }, (_, i) => get(`/${i}`)).join('');
  for (const byte of early) send(line, byte);
  await settle();
  assert.ok(line.socket.isPaused());
  assert.equal(line.arrivals.length, 1);
  for (let i = 0; i < 41; i++) {
    echo(line.arrivals[i]!.inbound);
    await settle();
  }
  assert.equal(line.arrivals.at(-1)!.inbound.target, '/39');
});
