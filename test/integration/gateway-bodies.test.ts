// Bodies through the gateway: whole ones arrive whole, cut ones look cut, nobody has to hold what somebody else does
// not read, and who goes away is missed at the other end.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:http2';
import type { ClientHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Writable } from 'node:stream';
import { after, afterEach, before, test } from 'node:test';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { startHttp2Member } from '../../routing/http2/http2-member.fixture.ts';
import type { Http2Member } from '../../routing/http2/http2-member.fixture.ts';
import { http2Answer, http2Exchange, http2Headers, openHttp2, openStream } from '../site/http2-client.ts';
import { answerEcho } from '../site/member.ts';
import type { MemberRequest } from '../site/member.ts';
import { exchange, openRaw, requestBytes } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Site } from '../site/site.ts';

const alice = 'Authorization: Bearer alice-token';
const token = ['authorization', 'Bearer alice-token'];
const pods = '/clusters/m1/proxy/api/v1/pods';
const watch = '/clusters/h2/proxy/api/v1/pods?watch=true';
const piece = Buffer.alloc(64 * 1024, 'x');
let site: Site;
let session: ClientHttp2Session;
let http2Member: Http2Member;
let onStream: (stream: ServerHttp2Stream) => void = () => undefined;

before(async () => {
  const authority = await makeTestAuthority();
  http2Member = await startHttp2Member(await authority.issue(['ip:127.0.0.1']), (stream, raw) => {
    if (raw.includes('portcullis-probe')) stream.close();
    else onStream(stream);
  });
  site = await startSite({
    users: [{ token: 'alice-token', name: 'alice' }],
    contexts: () => [
      { name: 'h2', server: `https://127.0.0.1:${http2Member.port}`, ca: authority.ca, token: 'h2-credential' },
    ],
  });
  session = await openHttp2(site);
});
after(async () => {
  session.destroy();
  site.close();
  await http2Member.close();
});
afterEach(() => {
  const [member] = site.members;
  member!.requests.splice(0);
  member!.answer = answerEcho;
});

const chunkedHead = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

for (const [name, script] of Object.entries({
  'shorter than its Content-Length': (request: MemberRequest) =>
    request.socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"items":['),
  'that is all head': (request: MemberRequest) => request.socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n'),
  'in chunks without the last one': (request: MemberRequest) => request.socket.end(`${chunkedHead}a\r\n{"items":[\r\n`),
  'cut inside a chunk': (request: MemberRequest) => request.socket.end(`${chunkedHead}ff\r\n{"items":[`),
  'cut inside the last chunk': (request: MemberRequest) => request.socket.end(`${chunkedHead}a\r\n{"items":[\r\n0\r\n`),
  'with malformed chunks': (request: MemberRequest) =>
    request.socket.write(`${chunkedHead}a\r\n{"items":[\r\n`, () => setImmediate(() => request.socket.write('zz\r\n'))),
  'whose connection is destroyed': (request: MemberRequest) =>
    request.socket.write(`${chunkedHead}a\r\n{"items":[\r\n`, () => request.socket.destroy()),
})) {
  test(`an answer ${name} reaches clients of both protocols as cut`, async () => {
    site.members[0]!.answer = (request) => void script(request);
    for (const path of [pods, `${pods}?watch=true`]) {
      const client = await openRaw(site);
      client.send(requestBytes(`GET ${path}`, [alice]));
      const one = await client.answer();
      assert.equal(one.status, 200);
      assert.equal(one.complete, false);
      await client.closed;
      const two = await http2Exchange(session, http2Headers('GET', path, token));
      assert.equal(two.status, 200);
      assert.equal(two.complete, false);
      assert.notEqual(two.rstCode, constants.NGHTTP2_NO_ERROR);
    }
  });
}

const resets: Readonly<Record<string, (stream: ServerHttp2Stream) => void>> = {
  'is reset with NO_ERROR': (stream) => void stream.destroy(),
  'is reset with INTERNAL_ERROR': (stream) => void stream.destroy(new Error('reset')),
  'goes with its session': (stream) => stream.session!.destroy(),
};
for (const [name, script] of Object.entries(resets)) {
  test(`a watch over HTTP/2 that ${name} reaches clients of both protocols as cut`, async () => {
    const cut = Promise.withResolvers<void>();
    onStream = (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      stream.on('error', () => undefined).on('close', () => cut.resolve());
      stream.write('{"type":"ADDED"', () => setImmediate(() => script(stream)));
    };
    const one = await exchange(site, requestBytes(`GET ${watch}`, [alice]));
    await cut.promise;
    assert.equal(one.status, 200);
    assert.equal(one.complete, false);
    const two = await http2Exchange(session, http2Headers('GET', watch, token));
    assert.equal(two.complete, false);
    assert.notEqual(two.rstCode, constants.NGHTTP2_NO_ERROR);
  });
}

test('a watch that the member ends is ended, over every pair of protocols', async () => {
  onStream = (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    stream.end('{"type":"BOOKMARK"}\n');
  };
  site.members[0]!.answer = ({ socket }) => void socket.write(`${chunkedHead}14\r\n{"type":"BOOKMARK"}\n\r\n0\r\n\r\n`);
  for (const path of [watch, `${pods}?watch=true`]) {
    const one = await exchange(site, requestBytes(`GET ${path}`, [alice]));
    const two = await http2Exchange(session, http2Headers('GET', path, token));
    for (const answer of [one, two]) {
      assert.equal(answer.body, '{"type":"BOOKMARK"}\n');
      assert.equal(answer.complete, true);
    }
  }
});

test('bodies of 5 MB arrive unchanged in both directions over both protocols', async () => {
  const body = randomBytes(5 * 1024 * 1024);
  const sum = (data: Buffer): string => createHash('sha256').update(data).digest('hex');
  site.members[0]!.answer = (request) => {
    void request.body.then((data) => {
      request.socket.write(chunkedHead);
      for (let at = 0; at < data.length; at += 100_000) {
        const part = data.subarray(at, at + 100_000);
        request.socket.write(
          Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
        );
      }
      request.socket.write('0\r\n\r\n');
    });
  };
  const client = await openRaw(site);
  client.send(requestBytes(`POST ${pods}`, [alice, `Content-Length: ${body.length}`]));
  client.send(body);
  const one = await client.answer();
  assert.equal(sum(Buffer.from(one.body, 'latin1')), sum(body));
  client.close();
  const two = await http2Exchange(session, http2Headers('POST', pods, token), body);
  assert.equal(sum(Buffer.from(two.body, 'latin1')), sum(body));
});

test('HEAD, 204 and 304 have no body and keep the connection', async () => {
  const client = await openRaw(site);
  for (const [method, answer] of [
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n'],
    ['DELETE', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'],
    ['GET', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ] as const) {
    site.members[0]!.answer = ({ socket }) => void socket.write(answer);
    client.send(requestBytes(`${method} ${pods}`, [alice]));
    assert.equal((await client.answer({ method })).status, Number(answer.slice(9, 12)));
    assert.equal(client.rest(), '');
    const two = await http2Exchange(session, http2Headers(method, pods, token));
    assert.deepEqual([two.status, two.body, two.complete], [Number(answer.slice(9, 12)), '', true]);
  }
  client.close();
});

test('an early 413 reaches clients that upload 4 MB before they read, over both protocols', async () => {
  const reported = '{"kind":"Status","code":413}';
  site.members[0]!.answer = (request) => {
    request.socket.pause();
    request.reply(413, ['Content-Type: application/json', 'Connection: close'], reported);
  };
  for (const framing of [`Content-Length: ${64 * piece.length}`, 'Transfer-Encoding: chunked']) {
    const client = await openRaw(site);
    client.socket.pause();
    client.send(requestBytes(`POST ${pods}`, [alice, framing]));
    for (let i = 0; i < 64; i++) {
      if (framing.endsWith('chunked')) client.send(`${piece.length.toString(16)}\r\n`);
      await new Promise((resolve) => client.socket.write(piece, resolve));
      if (framing.endsWith('chunked')) client.send('\r\n');
    }
    client.socket.resume();
    const answer = await client.answer();
    assert.equal(answer.status, 413);
    assert.equal(answer.body, reported);
    client.close();
  }
  const stream = openStream(session, http2Headers('POST', pods, token), false);
  const answer = http2Answer(stream);
  for (let i = 0; i < 64 && !stream.closed && stream.writable; i++) {
    await new Promise((resolve) => stream.write(piece, resolve));
  }
  const { status, body } = await answer;
  assert.equal(status, 413);
  assert.equal(body, reported);
});

test('a refusal of ours before the body reaches clients that upload before they read', async () => {
  const client = await openRaw(site);
  client.socket.pause();
  client.send(requestBytes(`POST ${pods}`, [`Content-Length: ${64 * piece.length}`]));
  for (let i = 0; i < 64; i++) await new Promise((resolve) => client.socket.write(piece, resolve));
  client.socket.resume();
  assert.equal((await client.answer()).status, 401);
  client.close();
  assert.equal(site.upstream(), 0);
});

test('an upload without end of somebody unknown is refused and then cut off, over both protocols (ATT-39)', async () => {
  const client = await openRaw(site);
  client.send(requestBytes(`POST ${pods}`, ['Content-Length: 999999999999']));
  const sent = { bytes: 0 };
  pump(client.socket, Infinity, sent, () => undefined);
  assert.equal((await client.answer()).status, 401);
  await client.closed;
  assert.ok(sent.bytes < 64 * 1024 * 1024, `${sent.bytes} bytes were taken`);
  const stream = openStream(session, http2Headers('POST', pods), false);
  const answer = http2Answer(stream);
  const more = { bytes: 0 };
  pump(stream, 64 * 1024 * 1024, more, () => undefined);
  assert.equal((await answer).status, 401);
  // 16 MiB are taken and dropped, so that a client that uploads before it reads sees the answer; and what is under way.
  assert.ok(more.bytes < 20 * 1024 * 1024, `${more.bytes} bytes were taken`);
  assert.equal(site.upstream(), 0);
});

/** Writes for as long as somebody takes it, up to `total` bytes; counts what was handed over. */
function pump(to: Writable, total: number, count: { bytes: number }, done: () => void): void {
  while (count.bytes < total) {
    count.bytes += piece.length;
    if (!to.write(piece)) {
      to.once('drain', () => pump(to, total, count, done));
      return;
    }
  }
  done();
}

/** Resolves once the count has not moved for a while. */
async function standstill(count: { bytes: number }): Promise<number> {
  let last = -1;
  let since = performance.now();
  return waitFor(() => {
    if (count.bytes !== last) since = performance.now();
    last = count.bytes;
    return last > 0 && performance.now() - since > 400 ? last : undefined;
  });
}

const manyBytes = 64 * 1024 * 1024;
/** Kernel buffers of four sockets and our own; far below what is on offer. */
const fewBytes = 40 * 1024 * 1024;

test('a client that stops reading holds the member back, and gets the rest when it reads on', async () => {
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${manyBytes}\r\n\r\n`;
  let sent = { bytes: 0 };
  site.members[0]!.answer = ({ socket }) => {
    sent = { bytes: 0 };
    socket.write(head);
    pump(socket, manyBytes, sent, () => undefined);
  };
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${pods}`, [alice]));
  await client.answer({ headOnly: true });
  client.socket.pause();
  assert.ok((await standstill(sent)) < fewBytes, `${sent.bytes} bytes were taken`);
  client.close();

  const stream = openStream(session, http2Headers('GET', pods, token));
  await new Promise((resolve) => stream.once('response', resolve));
  assert.ok((await standstill(sent)) < fewBytes, `${sent.bytes} bytes were taken`);
  let received = 0;
  stream.on('data', (chunk: Buffer) => (received += chunk.length));
  await new Promise((resolve) => stream.once('end', resolve));
  assert.equal(received, manyBytes);
});

test('a member that stops reading holds the client back', async () => {
  const length = 64 * 1024 * 1024;
  for (const over of ['HTTP/1.1', 'HTTP/2'] as const) {
    site.members[0]!.answer = (request) => void request.socket.pause();
    const sent = { bytes: 0 };
    const client = await openRaw(site);
    const list = http2Headers('POST', pods, [...token, 'content-length', String(length)]);
    const stream = over === 'HTTP/2' ? openStream(session, list, false) : undefined;
    if (stream === undefined) client.send(requestBytes(`POST ${pods}`, [alice, `Content-Length: ${length}`]));
    pump(stream ?? client.socket, length, sent, () => undefined);
    assert.ok((await standstill(sent)) < fewBytes, `${sent.bytes} bytes were taken over ${over}`);
    stream?.destroy();
    client.close();
  }
});

test('a client that goes away is missed at the member, for a list, a watch and an upload, over both protocols', async () => {
  onStream = (stream) => stream.respond({ ':status': 200, 'content-type': 'application/json' });
  site.members[0]!.answer = ({ socket }) => void socket.write(`${chunkedHead}2\r\n{}\r\n`);
  for (const path of [pods, `${pods}?watch=true`]) {
    const client = await openRaw(site);
    client.send(requestBytes(`GET ${path}`, [alice]));
    await client.answer({ headOnly: true });
    const request = await site.members[0]!.request(0);
    client.close();
    await waitFor(() => request.socket.destroyed || request.socket.readableEnded);
    site.members[0]!.requests.splice(0);
    const stream = openStream(session, http2Headers('GET', path, token));
    const second = await site.members[0]!.request(0);
    stream.close(constants.NGHTTP2_CANCEL);
    await waitFor(() => second.socket.destroyed || second.socket.readableEnded);
    site.members[0]!.requests.splice(0);
  }
  const open = http2Member.openStreams();
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${watch}`, [alice]));
  await client.answer({ headOnly: true });
  const stream = openStream(session, http2Headers('GET', watch, token));
  await waitFor(() => http2Member.openStreams() === open + 2);
  client.close();
  stream.close(constants.NGHTTP2_CANCEL);
  await waitFor(() => http2Member.openStreams() === open);
});
