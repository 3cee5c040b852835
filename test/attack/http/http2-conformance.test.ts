// What RFC 9113 asks of a server, section by section; the cases are those of h2spec and the ones it has no words for.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startListener } from '../../../gateway/listener/tls-server.ts';
import type { Listener } from '../../../gateway/listener/tls-server.ts';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import {
  block,
  flag,
  frame,
  get,
  number32,
  openFrames,
  post,
  preface,
  pseudo,
  settings,
  type,
} from '../../site/http2-frames.ts';
import type { Endpoint } from '../../site/raw-client.ts';

let listener: Listener;
let endpoint: Endpoint;

before(async () => {
  const authority = await makeTestAuthority();
  const serving = await authority.issue(['ip:127.0.0.1']);
  listener = await startListener(
    { host: '127.0.0.1', port: 0 },
    { ...serving, clientCa: undefined },
    ({ inbound, headFault }) => {
      const answer = (): void => {
        inbound.respond(headFault === undefined ? 200 : 400, ['Content-Type', 'text/plain'], false);
        inbound.write(Buffer.alloc(100, 'x'));
        inbound.end();
      };
      if (inbound.target === '/unread') return;
      if (inbound.body === 'none' || headFault !== undefined) setImmediate(answer);
      else inbound.readBody({ onData: () => undefined, onEnd: answer });
    },
  );
  endpoint = { port: listener.port, ca: authority.ca };
});
after(() => listener.close());

const one = 1;
const data = (stream: number, text = 'x', flags = 0): Buffer => frame(type.data, flags, stream, Buffer.from(text));
const reset = (stream: number): Buffer => frame(type.reset, 0, stream, number32(8));
const update = (stream: number, by: number): Buffer => frame(type.windowUpdate, 0, stream, number32(by));
const priority = (stream: number, on: number): Buffer => frame(type.priority, 0, stream, [...number32(on), 10]);
const trailers = (stream: number, flags: number, ...fields: readonly (readonly [string, string])[]): Buffer =>
  frame(type.headers, flags | flag.endHeaders, stream, block(...fields));
const without = (name: string): (readonly [string, string])[] => pseudo.filter(([given]) => given !== name);
const headers = (...fields: readonly (readonly [string, string])[]): Buffer => trailers(1, flag.endStream, ...fields);
/** A whole GET with raw bytes behind its block. */
const rawBlock = (...bytes: readonly number[]): Buffer =>
  frame(type.headers, flag.endHeaders | flag.endStream, 1, [...block(...pseudo), ...bytes]);

const ok = 'answered';
const protocol = 'GOAWAY PROTOCOL_ERROR';
const streamProtocol = 'RST_STREAM PROTOCOL_ERROR';
const size = 'GOAWAY FRAME_SIZE_ERROR';
const flow = 'GOAWAY FLOW_CONTROL_ERROR';
const compression = 'GOAWAY COMPRESSION_ERROR';

/** What is sent behind preface and SETTINGS, and how stream 1 ends. */
const cases: Readonly<Record<string, readonly [expected: string, ...sent: Buffer[]]>> = {
  '4.1: an unknown frame type is ignored': [ok, frame(0x42, 0xff, 0, [1, 2, 3]), get(one)],
  '4.1: undefined flags are ignored': [ok, frame(type.ping, 0xfe, 0, Buffer.alloc(8)), get(one)],
  '4.1: the reserved bit of a stream identifier is ignored': [
    ok,
    frame(type.headers, 5, 0x8000_0001, block(...pseudo)),
  ],
  '4.2: DATA of 16,384 bytes is taken': [ok, post(one), data(one, 'x'.repeat(16_384), flag.endStream)],
  '4.2: DATA of 16,385 bytes is too large': [size, post(one), data(one, 'x'.repeat(16_385), flag.endStream)],
  '4.2: HEADERS of 16,385 bytes are too large': [
    size,
    frame(type.headers, 5, one, block(...pseudo, ['x', 'y'.repeat(16_385)])),
  ],
  '4.2: an unknown frame of 16,385 bytes is too large': [size, frame(0x42, 0, 0, Buffer.alloc(16_385))],
  '4.3: a block that cannot be read': [compression, rawBlock(0xff, 0xff, 0xff, 0xff, 0xff)],
  '4.3: a block that cannot be read on a stream that is refused': [
    compression,
    frame(type.headers, 5, one, [...block([':method', 'GET']), 0x80]),
  ],
  '4.3: PRIORITY within a block': [protocol, frame(type.headers, 1, one, block(...pseudo)), priority(one, 0)],
  '4.3: DATA within a block': [protocol, frame(type.headers, 0, one, block(...pseudo)), data(one)],
  '4.3: an unknown frame within a block': [protocol, frame(type.headers, 1, one, block(...pseudo)), frame(0x42, 0, 1)],
  '4.3: HEADERS of another stream within a block': [protocol, frame(type.headers, 1, one, block(...pseudo)), get(3)],
  '5.1: DATA on an idle stream': [protocol, data(one)],
  '5.1: RST_STREAM on an idle stream': [protocol, reset(one)],
  '5.1: WINDOW_UPDATE on an idle stream': [protocol, update(one, 1)],
  '5.1: CONTINUATION on an idle stream': [protocol, frame(type.continuation, flag.endHeaders, one)],
  '5.1: DATA on a half-closed stream': ['RST_STREAM STREAM_CLOSED', get(one), data(one)],
  '5.1: HEADERS on a half-closed stream': ['RST_STREAM STREAM_CLOSED', get(one), get(one)],
  '5.1: CONTINUATION on a half-closed stream': [protocol, get(one), frame(type.continuation, flag.endHeaders, one)],
  '5.1: DATA behind RST_STREAM': ['RST_STREAM STREAM_CLOSED', post(one), reset(one), data(one)],
  '5.1: HEADERS behind RST_STREAM': ['GOAWAY STREAM_CLOSED', post(one), reset(one), get(one)],
  '5.1: WINDOW_UPDATE and RST_STREAM behind RST_STREAM are ignored': [
    ok,
    post(3),
    reset(3),
    update(3, 1),
    reset(3),
    get(5),
    get(7),
  ],
  '5.1: what still comes for a stream we have reset is dropped': [
    streamProtocol,
    post(one, ['content-length', '1']),
    data(one, 'xx'),
    data(one),
    trailers(one, flag.endStream, ['a', 'b']),
    update(one, 1),
  ],
  '5.1.1: an even stream identifier': [protocol, get(2)],
  '5.1.1: a stream identifier below the last': [protocol, get(5), get(3)],
  '5.1.1: HEADERS on stream 0': [protocol, get(0)],
  '5.3.1: HEADERS that depend on their own stream': [
    streamProtocol,
    frame(type.headers, 5 | flag.priority, one, [...number32(1), 1, ...block(...pseudo)]),
  ],
  '5.3.1: PRIORITY that depends on its own stream': [streamProtocol, post(one), priority(one, one)],
  '5.3.2: PRIORITY on any stream is otherwise ignored': [
    ok,
    priority(7, 3),
    priority(one, 0),
    get(one),
    priority(9, 1),
  ],
  '6.1: DATA on stream 0': [protocol, data(0)],
  '6.1: padding is not body': [
    ok,
    post(one, ['content-length', '2']),
    frame(type.data, flag.padded | flag.endStream, one, [3, 0x78, 0x78, 0, 0, 0]),
  ],
  '6.1: DATA with as much padding as payload': [protocol, post(one), frame(type.data, flag.padded, one, [3, 0, 0])],
  '6.1: padded DATA without a padding length': [size, post(one), frame(type.data, flag.padded, one)],
  '6.2: padded HEADERS': [ok, frame(type.headers, 5 | flag.padded, one, [2, ...block(...pseudo), 0, 0])],
  '6.2: HEADERS with priority': [
    ok,
    frame(type.headers, 5 | flag.priority, one, [...number32(3), 1, ...block(...pseudo)]),
  ],
  '6.2: HEADERS with more padding than payload': [protocol, frame(type.headers, 5 | flag.padded, one, [9, 0, 0])],
  '6.2: HEADERS too short for their priority': [protocol, frame(type.headers, 5 | flag.priority, one, [0, 0])],
  '6.3: PRIORITY on stream 0': [protocol, priority(0, 1)],
  '6.3: PRIORITY of four bytes': ['RST_STREAM FRAME_SIZE_ERROR', post(one), frame(type.priority, 0, one, number32(0))],
  '6.4: RST_STREAM on stream 0': [protocol, reset(0)],
  '6.4: RST_STREAM of three bytes': [size, post(one), frame(type.reset, 0, one, [0, 0, 0])],
  '6.5: SETTINGS on a stream': [protocol, frame(type.settings, 0, one)],
  '6.5: SETTINGS of five bytes': [size, frame(type.settings, 0, 0, [0, 1, 0, 0, 0])],
  '6.5: an acknowledgement with a payload': [size, frame(type.settings, flag.ack, 0, [0])],
  '6.5.2: ENABLE_PUSH of 2': [protocol, settings([2, 2])],
  '6.5.2: INITIAL_WINDOW_SIZE above 2^31-1': [flow, settings([4, 0x8000_0000])],
  '6.5.2: MAX_FRAME_SIZE below 16,384': [protocol, settings([5, 16_383])],
  '6.5.2: MAX_FRAME_SIZE above 2^24-1': [protocol, settings([5, 0x100_0000])],
  '6.5.2: an unknown setting is ignored': [ok, settings([0x99, 1]), get(one)],
  '6.5.2: a table of nothing': [ok, settings([1, 0]), get(one)],
  '6.6: PUSH_PROMISE': [protocol, get(one), frame(type.pushPromise, flag.endHeaders, one, [0, 0, 0, 2])],
  '6.7: PING on a stream': [protocol, frame(type.ping, 0, one, Buffer.alloc(8))],
  '6.7: PING of six bytes': [size, frame(type.ping, 0, 0, Buffer.alloc(6))],
  '6.7: the answer to a PING nobody sent is ignored': [ok, frame(type.ping, flag.ack, 0, Buffer.alloc(8)), get(one)],
  '6.8: GOAWAY on a stream': [protocol, frame(type.goAway, 0, one, Buffer.alloc(8))],
  '6.8: a short GOAWAY': [size, frame(type.goAway, 0, 0, Buffer.alloc(7))],
  '6.9: WINDOW_UPDATE of 0 on the connection': [protocol, update(0, 0)],
  '6.9: WINDOW_UPDATE of 0 on a stream': [streamProtocol, post(one), update(one, 0)],
  '6.9: WINDOW_UPDATE of three bytes': [size, frame(type.windowUpdate, 0, 0, [0, 0, 1])],
  '6.9.1: a window of the connection above 2^31-1': [flow, update(0, 0x7fff_ffff), update(0, 0x7fff_ffff)],
  '6.9.1: a window of a stream above 2^31-1': [
    'RST_STREAM FLOW_CONTROL_ERROR',
    post(one),
    update(one, 0x7fff_ffff),
    update(one, 0x7fff_ffff),
  ],
  '6.9.2: a setting that moves an open window above 2^31-1': [
    flow,
    post(one),
    update(one, 0x7fff_0000),
    settings([4, 0x7fff_ffff]),
  ],
  '6.10: a block in three frames': [
    ok,
    frame(type.headers, 1, one, block(...pseudo).subarray(0, 5)),
    frame(type.continuation, 0, one, block(...pseudo).subarray(5, 30)),
    frame(type.continuation, flag.endHeaders, one, block(...pseudo).subarray(30)),
  ],
  '6.10: CONTINUATION on stream 0': [protocol, frame(type.headers, 1, one, block(...pseudo)), frame(9, 4, 0)],
  '6.10: CONTINUATION of another stream': [protocol, frame(type.headers, 1, one, block(...pseudo)), frame(9, 4, 3)],
  '6.10: CONTINUATION behind a whole block': [protocol, post(one), frame(type.continuation, 4, one)],
  '6.10: CONTINUATION behind DATA': [protocol, post(one), data(one), frame(type.continuation, 4, one)],
  '7: an unknown error code resets like any other': [
    ok,
    post(3),
    frame(type.reset, 0, 3, number32(0xff)),
    get(5),
    get(7),
  ],
  '8.1: HEADERS behind a body that do not end it': [streamProtocol, post(one), data(one), trailers(one, 0, ['a', 'b'])],
  '8.1: trailers': [ok, post(one), data(one), trailers(one, flag.endStream, ['a', 'b'])],
  '8.1: a pseudo header in trailers': [streamProtocol, post(one), trailers(one, flag.endStream, [':path', '/'])],
  '8.1: a malformed trailer': [streamProtocol, post(one), trailers(one, flag.endStream, ['A', 'b'])],
  '8.1.1: a body longer than Content-Length': [streamProtocol, post(one, ['content-length', '1']), data(one, 'xx', 1)],
  '8.1.1: a body shorter than Content-Length': [streamProtocol, post(one, ['content-length', '3']), data(one, 'xx', 1)],
  '8.1.1: pieces longer than Content-Length': [
    streamProtocol,
    post(one, ['content-length', '1']),
    data(one),
    data(one),
  ],
  '8.1.1: trailers before Content-Length is reached': [
    streamProtocol,
    post(one, ['content-length', '3']),
    data(one),
    trailers(one, flag.endStream, ['a', 'b']),
  ],
  '8.1.1: Content-Length and no body': [streamProtocol, get(one, ['content-length', '1'])],
  '8.2.1: upper case in a name': [streamProtocol, get(one, ['X-Test', 'a'])],
  '8.2.1: a blank in a name': [streamProtocol, get(one, ['x test', 'a'])],
  '8.2.1: a colon in a name': [streamProtocol, get(one, ['x:test', 'a'])],
  '8.2.1: an empty name': [streamProtocol, get(one, ['', 'a'])],
  '8.2.1: NUL in a value': [streamProtocol, get(one, ['x', 'a\0'])],
  '8.2.1: CR in a value': [streamProtocol, get(one, ['x', 'a\rb'])],
  '8.2.1: LF in a value': [streamProtocol, get(one, ['x', 'a\nb'])],
  '8.2.1: a value that begins with a blank': [streamProtocol, get(one, ['x', ' a'])],
  '8.2.1: a value that ends with a tab': [streamProtocol, get(one, ['x', 'a\t'])],
  '8.2.2: connection': [streamProtocol, get(one, ['connection', 'keep-alive'])],
  '8.2.2: transfer-encoding': [streamProtocol, get(one, ['transfer-encoding', 'chunked'])],
  '8.2.2: upgrade': [streamProtocol, get(one, ['upgrade', 'websocket'])],
  '8.2.2: te other than trailers': [streamProtocol, get(one, ['te', 'gzip'])],
  '8.2.2: te of trailers': [ok, get(one, ['te', 'trailers'])],
  '8.3: an unknown pseudo header': [streamProtocol, headers(...pseudo, [':test', 'a'])],
  '8.3: a pseudo header of answers': [streamProtocol, headers(...pseudo, [':status', '200'])],
  '8.3: a pseudo header behind another one': [streamProtocol, headers(...without(':path'), ['a', 'b'], [':path', '/'])],
  '8.3.1: no :method': [streamProtocol, headers(...without(':method'))],
  '8.3.1: no :scheme': [streamProtocol, headers(...without(':scheme'))],
  '8.3.1: no :path': [streamProtocol, headers(...without(':path'))],
  '8.3.1: no :authority': [ok, headers(...without(':authority'))],
  '8.3.1: an empty :path': [streamProtocol, headers(...without(':path'), [':path', ''])],
  '8.3.1: :method twice': [streamProtocol, headers(...pseudo, [':method', 'GET'])],
  '8.3.1: :path twice': [streamProtocol, headers(...pseudo, [':path', '/'])],
  '8.3.1: :authority twice': [streamProtocol, headers(...pseudo, [':authority', 'gateway.test'])],
  '8.3.1: a method that is no token': [streamProtocol, headers(...without(':method'), [':method', 'G T'])],
  '8.5: CONNECT with :protocol, which is not offered': [streamProtocol, headers(...pseudo, [':protocol', 'websocket'])],
};

/** The last stream of a case that is about others. */
const asked = (sent: readonly Buffer[]): number => {
  const streams = sent.filter((part) => part[3] === type.headers).map((part) => part.readUInt32BE(5) & 0x7fff_ffff);
  return Math.max(1, ...streams);
};

for (const [name, [expected, ...sent]] of Object.entries(cases)) {
  test(`${name}: ${expected}`, async () => {
    const client = await openFrames(endpoint);
    client.send(...sent);
    const outcome = await client.outcome(expected === ok ? asked(sent) : one);
    assert.equal(outcome, expected);
    // Behind a GOAWAY for an error the connection is closed (section 5.4.1).
    if (outcome.startsWith('GOAWAY')) assert.equal(await client.find(() => false), undefined);
    client.socket.destroy();
  });
}

test('3.4: anything but the preface is refused, and so is another frame than SETTINGS behind it', async () => {
  for (const first of [
    [Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
    [preface, frame(type.ping, 0, 0, Buffer.alloc(8))],
    [preface, data(0)],
    [preface, frame(type.settings, flag.ack, 0)],
  ]) {
    const client = await openFrames(endpoint, first);
    assert.equal(await client.outcome(one), protocol);
    client.socket.destroy();
  }
});

test('4.1: frames are read whatever the pieces they come in', async () => {
  const bytes = Buffer.concat([
    ...[preface, settings(), post(one, ['content-length', '5'])],
    ...[frame(type.data, flag.padded, one, [2, 0x61, 0x62, 0, 0]), data(one, 'cde', flag.endStream), get(3)],
  ]);
  for (let cut = 1; cut < bytes.length; cut += 5) {
    const client = await openFrames(endpoint, []);
    client.socket.setNoDelay(true);
    client.send(bytes.subarray(0, cut));
    await new Promise((resolve) => setImmediate(resolve));
    client.send(bytes.subarray(cut));
    assert.equal(await client.outcome(one), ok, String(cut));
    assert.equal(await client.outcome(3), ok, String(cut));
    client.socket.destroy();
  }
});

test('5.1.2: the stream beyond 100 is refused so that it may be asked again, and the others are answered', async () => {
  const client = await openFrames(endpoint);
  for (let i = 0; i < 101; i++) client.send(post(1 + 2 * i));
  assert.equal(await client.outcome(201), 'RST_STREAM REFUSED_STREAM');
  for (let i = 0; i < 100; i++) client.send(data(1 + 2 * i, 'x', flag.endStream));
  for (let i = 0; i < 100; i++) assert.equal(await client.outcome(1 + 2 * i), ok);
  client.socket.destroy();
});

test('6.5.3 and 6.7: SETTINGS are acknowledged, a PING is answered with its own payload', async () => {
  const client = await openFrames(endpoint);
  client.send(frame(type.ping, 0, 0, Buffer.from('12345678')));
  const pong = await client.find((f) => f.type === type.ping);
  assert.deepEqual([pong?.flags, pong?.payload.toString()], [flag.ack, '12345678']);
  assert.equal(client.frames.filter((f) => f.type === type.settings && f.flags === flag.ack).length, 1);
  client.socket.destroy();
});

test('6.9: an answer keeps to the window, which may be one byte, negative or nothing, and goes on when it opens', async () => {
  const client = await openFrames(endpoint, [preface, settings([4, 1]), get(one)]);
  const bodies = (): number[] => client.frames.filter((f) => f.type === type.data).map((f) => f.payload.length);
  await client.find((f) => f.type === type.data);
  assert.deepEqual(bodies(), [1]);
  client.send(settings([4, 0]), settings([4, 3]), update(one, 5));
  await client.find(() => bodies().length >= 3);
  client.send(frame(type.ping, 0, 0, Buffer.alloc(8)));
  await client.find((f) => f.type === type.ping);
  assert.equal(
    bodies().reduce((sum, n) => sum + n, 0),
    8,
  );
  client.send(update(one, 1000));
  assert.equal(await client.outcome(one), ok);
  assert.equal(
    bodies().reduce((sum, n) => sum + n, 0),
    100,
  );
  client.socket.destroy();
});

test('6.9.1: a body nobody reads is taken up to the window that was given, and what is beyond resets its stream', async () => {
  const unread = [...without(':path'), [':path', '/unread']] as const;
  const piece = (): Buffer => data(one, 'x'.repeat(16_384));
  const client = await openFrames(endpoint, [
    preface,
    settings(),
    frame(type.headers, flag.endHeaders, one, block(...unread)),
  ]);
  client.send(...Array.from({ length: 16 }, piece), get(3));
  assert.equal(await client.outcome(3), ok);
  assert.ok(!client.frames.some((f) => f.type === type.reset || (f.type === type.windowUpdate && f.stream === one)));
  client.send(piece());
  assert.equal(await client.outcome(one), 'RST_STREAM FLOW_CONTROL_ERROR');
  client.socket.destroy();
});
