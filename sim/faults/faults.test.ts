import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { createFaults, type Faults } from './faults.ts';

interface Harness {
  readonly port: number;
  readonly faults: Faults;
}

/**
 * A plain HTTP/1.1 server that answers every request with `0123456789`, in two pieces, unless a fault says otherwise.
 */
async function serve(t: TestContext): Promise<Harness> {
  const server = http.createServer((req, res) => {
    const proceed = (): void => {
      res.writeHead(200, { 'content-type': 'text/plain' });
      res.write('01234');
      res.end('56789');
    };
    const request = { method: req.method ?? '', path: req.url ?? '', verb: 'get', user: 'ada' };
    if (faults.intercept(request, res, req.socket, proceed) === 'continue') proceed();
  });
  const stop = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const faults = createFaults({
    listener: {
      stop,
      start: async () => {
        server.listen(port, '127.0.0.1');
        await once(server, 'listening');
      },
    },
  });
  server.on('connection', faults.watchConnection);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = (server.address() as net.AddressInfo).port;
  t.after(async () => {
    faults.close();
    if (server.listening) await stop();
  });
  return { port, faults };
}

/** Sends one request and gives every byte until the server closes, and how it closed. */
async function ask(
  port: number,
  path = '/',
  method = 'GET',
): Promise<{ readonly text: string; readonly error?: string }> {
  const socket = net.connect(port, '127.0.0.1');
  let text = '';
  let error: string | undefined;
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.on('error', (fault: NodeJS.ErrnoException) => (error = fault.code));
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n`);
  await new Promise((resolve) => socket.once('close', resolve));
  return error === undefined ? { text } : { text, error };
}

describe('fault switches', () => {
  it('leave requests alone that do not match path, method, verb or user', async (t) => {
    const { port, faults } = await serve(t);
    const handles = [
      await faults.add({ kind: 'status', code: 503, match: { path: '/api/v1/pods' } }),
      await faults.add({ kind: 'status', code: 503, match: { path: /watch=true/ } }),
      await faults.add({ kind: 'status', code: 503, match: { method: 'POST' } }),
      await faults.add({ kind: 'status', code: 503, match: { verb: 'list' } }),
      await faults.add({ kind: 'status', code: 503, match: { user: 'ben' } }),
    ];
    assert.match((await ask(port, '/api/v1/nodes?path=/api/v1/pods')).text, /^HTTP\/1.1 200 /);
    assert.deepEqual(
      handles.map((handle) => handle.hits),
      [0, 0, 0, 0, 0],
    );
    assert.match((await ask(port, '/api/v1/pods?limit=1')).text, /^HTTP\/1.1 503 /);
    assert.match((await ask(port, '/api/v1/nodes?watch=true')).text, /^HTTP\/1.1 503 /);
  });

  it('stop after their count, and when removed', async (t) => {
    const { port, faults } = await serve(t);
    const twice = await faults.add({ kind: 'status', code: 500, count: 2 });
    const codes = [];
    for (let i = 0; i < 3; i++) codes.push((await ask(port)).text.slice(9, 12));
    assert.deepEqual(codes, ['500', '500', '200']);
    assert.equal(twice.hits, 2);
    const always = await faults.add({ kind: 'status', code: 401 });
    assert.equal((await ask(port)).text.slice(9, 12), '401');
    await always.remove();
    await always.remove();
    assert.equal((await ask(port)).text.slice(9, 12), '200');
    await faults.add({ kind: 'status', code: 401 });
    await faults.clear();
    assert.equal((await ask(port)).text.slice(9, 12), '200');
  });

  it('answer a given status with given body and headers, or a Status of their own', async (t) => {
    const { port, faults } = await serve(t);
    await faults.add({
      kind: 'status',
      code: 302,
      body: 'over there',
      headers: { location: 'https://elsewhere/' },
      count: 1,
    });
    assert.match((await ask(port)).text, /^HTTP\/1.1 302 [^]*location: https:\/\/elsewhere\/[^]*\r\n\r\nover there$/);
    await faults.add({ kind: 'status', code: 503, count: 1 });
    assert.match((await ask(port)).text, /"kind":"Status"[^]*"code":503/);
  });

  it('stall: the request is accepted and never answered', async (t) => {
    const { port, faults } = await serve(t);
    const handle = await faults.add({ kind: 'stall', match: { path: '/stalled' } });
    const stalled = net.connect(port, '127.0.0.1');
    stalled.on('error', () => undefined);
    let bytes = 0;
    stalled.on('data', (chunk: Buffer) => (bytes += chunk.length));
    stalled.write('GET /stalled HTTP/1.1\r\nHost: sim\r\n\r\n');
    while (handle.hits === 0) await new Promise(setImmediate);
    assert.match((await ask(port)).text, /0123456789|01234[^]*56789/);
    assert.equal(bytes, 0);
    stalled.destroy();
  });

  it('reset: the client sees ECONNRESET', async (t) => {
    const { port, faults } = await serve(t);
    await faults.add({ kind: 'reset', count: 1 });
    assert.deepEqual(await ask(port), { text: '', error: 'ECONNRESET' });
  });

  it('refuse: new connections are refused until removed, on the same port', async (t) => {
    const { port, faults } = await serve(t);
    const refusal = await faults.add({ kind: 'refuse' });
    assert.equal((await ask(port)).error, 'ECONNREFUSED');
    await refusal.remove();
    assert.match((await ask(port)).text, /^HTTP\/1.1 200 /);
    await assert.rejects(createFaults().add({ kind: 'refuse' }), /gave no listener switch/);
  });

  it('truncate: exactly the given bytes arrive and the body has no end, also when it was shorter', async (t) => {
    const { port, faults } = await serve(t);
    for (const [afterBytes, body] of [
      [7, '0123456'],
      [5, '01234'],
      [100, '0123456789'],
    ] as const) {
      await faults.add({ kind: 'truncate', afterBytes, count: 1 });
      const { text } = await ask(port);
      const chunks = text.slice(text.indexOf('\r\n\r\n') + 4);
      assert.equal(chunks.replaceAll(/[0-9a-f]+\r\n([0-9]+)\r\n/g, '$1').trimEnd(), body);
      assert.ok(!chunks.includes('0\r\n\r\n'));
    }
  });

  it('slow: the answer waits and the body comes in pieces', async (t) => {
    const { port, faults } = await serve(t);
    await faults.add({ kind: 'slow', delayMs: 1, bytesPerSecond: 50, count: 1 });
    const { text } = await ask(port);
    assert.equal(text.split('\r\n\r\n').slice(1).join('\r\n\r\n'), '5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n');
    await faults.add({ kind: 'slow', bytesPerSecond: 30, count: 1 });
    assert.match((await ask(port)).text, /3\r\n012\r\n3\r\n345\r\n3\r\n678\r\n1\r\n9\r\n0\r\n/);
  });

  it('unsolicited101: 101 and an open connection without anyone asking', async (t) => {
    const { port, faults } = await serve(t);
    await faults.add({ kind: 'unsolicited101', upgradeToken: 'SPDY/3.1', bytes: 'hello', count: 1 });
    const socket = net.connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: sim\r\n\r\n');
    let text = '';
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      text += chunk.toString();
      if (text.endsWith('hello')) break;
    }
    assert.match(text, /^HTTP\/1.1 101 [^]*Upgrade: SPDY\/3.1\r\n\r\nhello$/);
  });

  it('early413: the answer comes before the body is read, then the connection closes', async (t) => {
    const { port, faults } = await serve(t);
    await faults.add({ kind: 'early413', lingerMs: 5 });
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('error', () => undefined);
    socket.write('POST / HTTP/1.1\r\nHost: sim\r\nContent-Length: 4000000\r\n\r\nonly the beginning');
    await new Promise((resolve) => socket.once('close', resolve));
    assert.match(text, /^HTTP\/1.1 413 [^]*onnection: close[^]*RequestEntityTooLarge/);
  });

  it('work on HTTP/2 streams: status, truncation by RST_STREAM, and no 101', async (t) => {
    const faults = createFaults();
    const server = http2.createServer();
    server.on('stream', (stream: http2.ServerHttp2Stream, headers) => {
      stream.on('error', () => undefined);
      const proceed = (): void => {
        stream.respond({ ':status': 200 });
        stream.end('0123456789');
      };
      const request = { method: String(headers[':method']), path: String(headers[':path']) };
      const socket = stream.session?.socket as net.Socket;
      if (faults.intercept(request, stream, socket, proceed) === 'continue') proceed();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = http2.connect(`http://127.0.0.1:${(server.address() as net.AddressInfo).port}`);
    t.after(() => {
      client.destroy();
      server.close();
    });
    const get = async (): Promise<{ status: number; body: string; resetBy: number }> => {
      const stream = client.request({ ':path': '/' });
      stream.on('error', () => undefined);
      let body = '';
      stream.on('data', (chunk: Buffer) => (body += chunk.toString()));
      let status = 0;
      stream.on('response', (headers) => (status = headers[':status'] ?? 0));
      await new Promise((resolve) => stream.once('close', resolve));
      return { status, body, resetBy: stream.rstCode ?? -1 };
    };
    await faults.add({ kind: 'status', code: 503, count: 1, headers: { connection: 'close', 'retry-after': '1' } });
    const refused = await get();
    assert.equal(refused.status, 503);
    assert.match(refused.body, /"code":503/);
    await faults.add({ kind: 'truncate', afterBytes: 4, count: 1 });
    assert.deepEqual(await get(), { status: 200, body: '0123', resetBy: 2 });
    const never = await faults.add({ kind: 'unsolicited101' });
    assert.deepEqual(await get(), { status: 200, body: '0123456789', resetBy: 0 });
    assert.equal(never.hits, 0);
  });
});
