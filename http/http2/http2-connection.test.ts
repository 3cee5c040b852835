import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { assert as check, array, asyncProperty, constantFrom, string, tuple } from 'fast-check';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestAuthority, TestCertificate } from '../../test/pretend/certificates.ts';
import type { Inbound } from '../inbound.ts';
import type { Arrival } from '../arrival.ts';
import { startListener } from '../../gateway/listener/tls-server.ts';
import type { Listener } from '../../gateway/listener/tls-server.ts';

let authority: TestAuthority;
let serving: TestCertificate;
before(async () => {
  authority = await makeTestAuthority();
  serving = await authority.issue(['gateway.test']);
});

interface Site {
  readonly listener: Listener;
  readonly session: ClientHttp2Session;
  /** The next request. */
  arrival(): Promise<Arrival>;
}

async function open(t: TestContext): Promise<Site> {
  const arrivals: Arrival[] = [];
  let wake = Promise.withResolvers<void>();
  const arrive = (arrival: Arrival): void => {
    arrivals.push(arrival);
    wake.resolve();
  };
  const material = { ...serving, clientCa: undefined };
  const listener = await startListener({ host: '127.0.0.1', port: 0 }, material, arrive);
  const session = connect(listener.url, {
    ca: authority.ca,
    servername: 'gateway.test',
    maxHeaderListPairs: 20_000,
  } as object);
  session.on('error', () => undefined);
  t.after(() => {
    session.destroy();
    listener.close();
  });
  const arrival = async (): Promise<Arrival> => {
    while (arrivals.length === 0) {
      await wake.promise;
      wake = Promise.withResolvers();
    }
    return arrivals.shift()!;
  };
  return { listener, session, arrival };
}

function request(session: ClientHttp2Session, headers: object = {}, endStream = true): ClientHttp2Stream {
  const stream = session.request({ ':path': '/', ...headers }, { endStream });
  stream.on('error', () => undefined);
  return stream;
}

async function bodyOf(stream: ClientHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Resolves when a stream is over, with or without an error. */
function closing(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => stream.once('close', resolve));
}

/** How an exchange ended for the chain: true when it was cut. */
function ending(inbound: Inbound): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  inbound.onClose(resolve);
  return promise;
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

test('nghttp2 and we read the same headers, both ways, whatever came before on the connection', async (t) => {
  const { session, arrival } = await open(t);
  const name = constantFrom(
    'accept',
    'user-agent',
    'x-a',
    'content-type',
    'cache-control',
    'x-long-header-name',
    'vary',
  );
  const value = string({ unit: constantFrom('a', 'Z', '0', ' ', '~', 'é', '/'), maxLength: 60 }).map((s) => s.trim());
  const fields = array(tuple(name, value), { maxLength: 10 }).map((pairs) => {
    const seen = new Map(pairs);
    return [...seen].flat();
  });
  await check(
    asyncProperty(fields, fields, async (asked, answered) => {
      const pseudo = [':method', 'GET', ':scheme', 'https', ':authority', 'gateway.test', ':path', `/${asked.length}`];
      const stream = session.request([...pseudo, ...asked], { endStream: true });
      stream.on('error', () => undefined).resume();
      const { inbound, host } = await arrival();
      assert.deepEqual([inbound.method, inbound.target, host], ['GET', `/${asked.length}`, 'gateway.test']);
      assert.deepEqual(inbound.headers, asked);
      const got = once(stream, 'response') as Promise<[unknown, unknown, string[]]>;
      inbound.respond(200, answered, true);
      inbound.end();
      const [, , raw] = await got;
      assert.deepEqual(raw.slice(0, 2 + answered.length), [':status', '200', ...answered]);
    }),
    { numRuns: 200 },
  );
});

test('a small answer is two frames, the second of which ends it, and the same request again is read from memory', async (t) => {
  const { session, arrival } = await open(t);
  for (let i = 0; i < 5; i++) {
    const stream = request(session, { 'x-same': 'value', authorization: 'Bearer t' });
    const { inbound } = await arrival();
    assert.deepEqual(inbound.headers, ['x-same', 'value', 'authorization', 'Bearer t']);
    const closed = ending(inbound);
    inbound.respond(200, ['Content-Length', '2'], false);
    inbound.write(Buffer.from('ok'));
    inbound.end();
    assert.equal((await bodyOf(stream)).toString(), 'ok');
    assert.equal(await closed, false);
    assert.equal(inbound.closed, true);
  }
});

test('large answers of many streams arrive whole beside each other, and a slow reader makes the writer wait', async (t) => {
  const { session, arrival } = await open(t);
  let waits = 0;
  const wanted: string[] = [];
  const streams = Array.from({ length: 10 }, () => request(session));
  for (let i = 0; i < streams.length; i++) {
    const { inbound } = await arrival();
    const body = randomBytes(3 * 1024 * 1024 + i);
    wanted.push(digest(body));
    inbound.respond(200, i % 2 === 0 ? [] : ['Content-Length', String(body.length)], false);
    let at = 0;
    const write = (): void => {
      while (at < body.length) {
        const piece = body.subarray(at, (at += 40_000));
        if (!inbound.write(piece)) {
          waits++;
          return;
        }
      }
      inbound.end();
    };
    inbound.onDrain(write);
    write();
  }
  const bodies = await Promise.all(streams.map(bodyOf));
  assert.deepEqual(bodies.map(digest), wanted);
  assert.ok(waits > 10);
});

test('an upload waits for its reader, is held back while paused, and arrives whole', async (t) => {
  const { session, arrival } = await open(t);
  const body = randomBytes(4 * 1024 * 1024);
  const stream = request(session, { ':method': 'POST' }, false);
  stream.end(body);
  const { inbound } = await arrival();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const ended = new Promise<void>((resolve) => {
    // Beside it, others are served.
    const other = request(session);
    void arrival().then(({ inbound: second }) => {
      second.respond(204, [], true);
      second.end();
    });
    void once(other, 'response').then(() => {
      inbound.readBody({
        onData(chunk) {
          chunks.push(Buffer.from(chunk));
          bytes += chunk.length;
          inbound.pauseBody();
          const before = bytes;
          setImmediate(() => {
            assert.equal(bytes, before, 'nothing comes while paused');
            inbound.resumeBody();
          });
        },
        onEnd: resolve,
      });
    });
  });
  await ended;
  assert.equal(digest(Buffer.concat(chunks)), digest(body));
  inbound.respond(200, [], true);
  inbound.end();
});

test('an answer before the body was read is whole, tells the client to send no more, and the connection goes on', async (t) => {
  const { session, arrival } = await open(t);
  const stream = request(session, { ':method': 'POST' }, false);
  stream.write(Buffer.alloc(100_000));
  const { inbound } = await arrival();
  const closed = ending(inbound);
  inbound.respond(413, ['Content-Length', '3'], false);
  inbound.write(Buffer.from('no\n'));
  inbound.end();
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(headers[':status'], 413);
  assert.equal((await bodyOf(stream)).toString(), 'no\n');
  assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  assert.equal(await closed, false);
  const next = request(session);
  const second = await arrival();
  second.inbound.respond(204, [], true);
  second.inbound.end();
  await once(next, 'response');
});

test('an aborted answer is reset and never ended, and whoever listens is told that it was cut', async (t) => {
  const { session, arrival } = await open(t);
  const stream = request(session);
  const { inbound } = await arrival();
  const closed = ending(inbound);
  inbound.respond(200, ['Content-Type', 'application/json'], false);
  inbound.write(Buffer.from('half of '));
  let ends = 0;
  stream.on('end', () => ends++);
  const [piece] = (await once(stream, 'data')) as [Buffer];
  assert.equal(piece.toString(), 'half of ');
  inbound.abort();
  inbound.abort();
  await closing(stream);
  assert.equal(stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
  assert.equal(ends, 0);
  assert.equal(await closed, true);
  assert.equal(inbound.write(Buffer.from('x')), true);
  inbound.end();
  inbound.respond(200, [], false);
});

test('whoever reads a body and ends its exchange hears no more of it, and the connection goes on', async (t) => {
  const { session, arrival } = await open(t);
  const stream = request(session, { ':method': 'POST' }, false);
  stream.resume();
  stream.end(Buffer.alloc(200_000));
  const { inbound } = await arrival();
  let pieces = 0;
  inbound.readBody({
    onData() {
      pieces++;
      inbound.abort();
    },
    onEnd: () => assert.fail('the body has not ended'),
  });
  await closing(stream);
  const next = request(session);
  const second = await arrival();
  second.inbound.respond(204, [], true);
  second.inbound.end();
  await once(next, 'response');
  assert.equal(pieces, 1);
});

test('an answer shorter or longer than its Content-Length is reset', async (t) => {
  const { session, arrival } = await open(t);
  for (const text of ['x', 'xxx']) {
    const stream = request(session);
    stream.resume();
    const { inbound } = await arrival();
    inbound.respond(200, ['Content-Length', '2'], false);
    inbound.write(Buffer.from(text));
    inbound.end();
    await closing(stream);
    assert.equal(stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR, text);
  }
});

test('a client that resets, or goes, ends its exchanges at once', async (t) => {
  const { session, arrival } = await open(t);
  const streams = [request(session), request(session), request(session, { ':method': 'POST' }, false)];
  const inbounds = [(await arrival()).inbound, (await arrival()).inbound, (await arrival()).inbound];
  const endings = inbounds.map(ending);
  for (const inbound of inbounds) inbound.respond(200, [], false);
  await once(streams[0]!, 'response');
  streams[0]!.close(constants.NGHTTP2_CANCEL);
  assert.equal(await endings[0], true);
  session.destroy();
  assert.deepEqual(await Promise.all(endings), [true, true, true]);
  assert.equal(await ending(inbounds[1]!), true);
});

test('HEAD and 204 have no body; Expect: 100-continue is answered when the body is wanted', async (t) => {
  const { session, arrival } = await open(t);
  const head = request(session, { ':method': 'HEAD' });
  const first = await arrival();
  first.inbound.respond(200, ['Content-Length', '1000'], true);
  assert.equal(first.inbound.write(Buffer.from('dropped')), true);
  first.inbound.end();
  assert.equal((await bodyOf(head)).length, 0);
  assert.equal(head.rstCode, constants.NGHTTP2_NO_ERROR);
  const upload = request(session, { ':method': 'POST', expect: '100-continue' }, false);
  const continued = once(upload, 'continue');
  const { inbound } = await arrival();
  const read = new Promise<void>((resolve) => inbound.readBody({ onData: () => undefined, onEnd: resolve }));
  await continued;
  upload.end('body');
  await read;
  inbound.respond(200, [], true);
  inbound.end();
  await once(upload, 'response');
});

test('a drain lets what is open finish, takes nothing new, and ends when the last answer has left', async (t) => {
  const { listener, session, arrival } = await open(t);
  const stream = request(session);
  const { inbound } = await arrival();
  inbound.respond(200, [], false);
  await once(stream, 'response');
  const went = once(session, 'goaway') as Promise<[number]>;
  const drained = listener.drain();
  assert.equal((await went)[0], constants.NGHTTP2_NO_ERROR);
  inbound.write(Buffer.from('last '));
  inbound.write(Buffer.from('words'));
  inbound.end();
  assert.equal((await bodyOf(stream)).toString(), 'last words');
  await drained;
});

test('a drain ends with the last stream when its client resets it', async (t) => {
  const { listener, session, arrival } = await open(t);
  const stream = request(session);
  const { inbound } = await arrival();
  inbound.respond(200, [], false);
  await once(stream, 'response');
  const went = once(session, 'goaway');
  const drained = listener.drain();
  await went;
  // Until the last stream is named; its client answers the PING by itself.
  await once(session, 'goaway');
  stream.close(constants.NGHTTP2_CANCEL);
  await drained;
});

test('a drain closes a connection without requests at once', async (t) => {
  const { listener, session, arrival } = await open(t);
  const stream = request(session);
  const { inbound } = await arrival();
  inbound.respond(204, [], true);
  inbound.end();
  await once(stream, 'response');
  await Promise.all([listener.drain(), once(session, 'close')]);
});
