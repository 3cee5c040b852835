import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import type { Socket } from 'node:net';
import { before, describe, it } from 'node:test';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestCertificate } from '../../test/pretend/certificates.ts';
import { endHeaders, endStream, frame, frames, startFrameMember, status200, uint32 } from './http2-member.fixture.ts';
import type { ReceivedFrame } from './http2-member.fixture.ts';
import { getRequest, memberOptions, recordingHandler, startTestMember } from '../pools/member.fixture.ts';
import type { TestMember } from '../pools/member.fixture.ts';
import { makeTransport } from '../pools/transport.ts';
import type { TransportLimits } from '../pools/transport.ts';
import type { Transport, UpstreamRequest } from '../call/transport-types.ts';

let ca = '';
let certificate: TestCertificate;

before(async () => {
  const authority = await makeTestAuthority();
  ca = authority.ca;
  certificate = await authority.issue(['ip:127.0.0.1']);
});

function watch(change: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return getRequest('/watch', { longRunning: true, ...change });
}

/** Runs against a member of raw frames; `onRequest` is called with each HEADERS frame. */
async function withFrames(
  onRequest: (stream: number, socket: Socket, count: number) => void,
  run: (transport: Transport, member: TestMember, received: readonly ReceivedFrame[]) => Promise<void>,
  { limits = {}, settings }: { readonly limits?: TransportLimits; readonly settings?: Buffer } = {},
): Promise<void> {
  const received: ReceivedFrame[] = [];
  let count = 0;
  const member = await startFrameMember(
    certificate,
    (one, socket) => {
      received.push(one);
      if (one.type === frames.headers) onRequest(one.stream, socket, count++);
    },
    settings,
  );
  const transport = makeTransport(memberOptions(member, { limits }, ca));
  try {
    await run(transport, member, received);
  } finally {
    transport.close('abort');
    await member.close();
  }
}

const head = (stream: number, flags = endHeaders): Buffer => frame(frames.headers, flags, stream, status200);
const data = (stream: number, text: string, flags = 0): Buffer => frame(frames.data, flags, stream, Buffer.from(text));
const reset = (stream: number, code: number): Buffer => frame(frames.reset, 0, stream, uint32(code));
const goaway = (last: number, code = 0): Buffer => frame(frames.goaway, 0, 0, uint32(last, code));
const answered = (stream: number): Buffer => Buffer.concat([head(stream), data(stream, 'ok', endStream)]);

describe('http2 client against members that break off', () => {
  for (const [name, end] of [
    ['data with END_STREAM', (stream: number) => data(stream, 'two', endStream)],
    [
      'an empty frame with END_STREAM',
      (stream: number) => Buffer.concat([data(stream, 'two'), data(stream, '', endStream)]),
    ],
    [
      'trailers',
      (stream: number) =>
        Buffer.concat([
          data(stream, 'two'),
          // A literal header field without indexing: name "x", value "y".
          frame(frames.headers, endHeaders | endStream, stream, Buffer.from([0, 1, 0x78, 1, 0x79])),
        ]),
    ],
    [
      'END_STREAM and then a reset with NO_ERROR',
      (stream: number) => Buffer.concat([data(stream, 'two', endStream), reset(stream, 0)]),
    ],
  ] as const) {
    it(`takes ${name} for a complete answer`, () =>
      withFrames(
        (stream, socket) => socket.write(Buffer.concat([head(stream), data(stream, 'one '), end(stream)])),
        async (transport) => {
          const { handler, done } = recordingHandler();
          transport.send(watch(), handler);
          const { body, events } = await done;
          assert.equal(body, 'one two');
          assert.deepEqual(events, ['sent', 'headers', 'data', 'end']);
        },
      ));
  }

  it('takes a head with END_STREAM for a complete answer', () =>
    withFrames(
      (stream, socket) => socket.write(head(stream, endHeaders | endStream)),
      async (transport) => {
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        assert.deepEqual((await done).events, ['sent', 'headers', 'end']);
      },
    ));

  for (const [name, code] of [
    ['NO_ERROR', constants.NGHTTP2_NO_ERROR],
    ['CANCEL', constants.NGHTTP2_CANCEL],
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR],
    ['REFUSED_STREAM', constants.NGHTTP2_REFUSED_STREAM],
  ] as const) {
    for (const [when, first] of [
      ['after data', (stream: number) => Buffer.concat([head(stream), data(stream, 'half')])],
      ['after the head', (stream: number) => head(stream)],
    ] as const) {
      it(`takes a reset with ${name} ${when} for a truncated answer`, () =>
        withFrames(
          (stream, socket) => socket.write(Buffer.concat([first(stream), reset(stream, code)])),
          async (transport) => {
            const { handler, done } = recordingHandler();
            transport.send(watch(), handler);
            const { error, events } = await done;
            assert.equal(events.at(-1), 'error after headers');
            assert.equal(error?.code, 'MEMBER_UNAVAILABLE');
            assert.equal(error.details.cluster, 'm1');
            assert.match(error.message, new RegExp(`reset the stream in the middle of its answer \\(code ${code}\\)$`));
          },
        ));
    }
  }

  it('takes a lost connection for a truncated answer', () =>
    withFrames(
      (stream, socket) => {
        socket.write(Buffer.concat([head(stream), data(stream, 'half')]));
        socket.end();
      },
      async (transport) => {
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        const { events, body, error } = await done;
        assert.deepEqual([body, events.at(-1)], ['half', 'error after headers']);
        assert.match(error?.message ?? '', /closed the connection in the middle of its answer$/);
      },
    ));

  for (const [what, body, write] of [
    ['is longer than it was said to be', 3, 'abcd'],
    ['is shorter than it was said to be', 3, 'ab'],
    ['is given up half-way', 'chunked', 'ab'],
  ] as const) {
    it(`cuts a request whose body ${what}, and never ends it properly`, () => {
      const requested = Promise.withResolvers<void>();
      return withFrames(
        () => requested.resolve(),
        async (transport, member, received) => {
          const { handler } = recordingHandler();
          const call = transport.send(watch({ method: 'POST', body }), handler);
          await requested.promise;
          call.write(Buffer.from(write));
          if (body === 'chunked') call.abort();
          else call.end();
          await frameOf(member, received, frames.reset);
          const last = received.find((one) => one.type === frames.reset)!;
          assert.equal(last.payload.readUInt32BE(), constants.NGHTTP2_CANCEL);
          const ended = received.filter((one) => one.stream === last.stream && (one.flags & endStream) !== 0);
          assert.deepEqual(ended, []);
        },
      );
    });
  }

  it('repeats a GET once when the member refused the stream', () =>
    withFrames(
      (stream, socket, count) =>
        socket.write(count === 0 ? reset(stream, constants.NGHTTP2_REFUSED_STREAM) : answered(stream)),
      async (transport) => {
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        const { events, body } = await done;
        assert.deepEqual([body, events], ['ok', ['sent', 'sent', 'headers', 'data', 'end']]);
      },
    ));

  it('does not repeat it a second time', () =>
    withFrames(
      (stream, socket) => socket.write(reset(stream, constants.NGHTTP2_REFUSED_STREAM)),
      async (transport) => {
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        assert.deepEqual((await done).events, ['sent', 'sent', 'error']);
      },
    ));

  it('does not repeat a POST, nor a GET that the member may have begun with', () =>
    withFrames(
      (stream, socket, count) =>
        socket.write(reset(stream, count === 0 ? constants.NGHTTP2_REFUSED_STREAM : constants.NGHTTP2_CANCEL)),
      async (transport) => {
        for (const method of ['POST', 'GET']) {
          const { handler, done } = recordingHandler();
          transport.send(watch({ method }), handler);
          assert.deepEqual((await done).events, ['sent', 'error']);
        }
      },
    ));

  it('lets streams finish after GOAWAY, repeats those it did not begin with, and opens a new session', () =>
    withFrames(
      (stream, socket, count) => {
        if (count === 0) return;
        if (count === 1) socket.write(Buffer.concat([goaway(1), head(1), data(1, 'first ')]));
        else socket.write(answered(stream));
      },
      async (transport, member) => {
        const first = recordingHandler({ onData: () => second.send() });
        transport.send(watch(), first.handler);
        const second = sender(transport);
        const unprocessed = recordingHandler();
        transport.send(watch(), unprocessed.handler);
        assert.equal((await unprocessed.done).body, 'ok');
        assert.equal((await second.done).body, 'ok');
        assert.equal(member.connections.length, 2);
        member.connections[0]!.socket.write(data(1, 'last', endStream));
        assert.equal((await first.done).body, 'first last');
        await member.connections[0]!.closed;
      },
    ));

  it('repeats a GET once when a session that served before is lost without an answer', () =>
    withFrames(
      (stream, socket, count) => {
        if (count === 1) socket.destroy();
        else socket.write(answered(stream));
      },
      async (transport, member) => {
        for (const reused of [[false], [true, false]]) {
          const { handler, done } = recordingHandler();
          transport.send(watch(), handler);
          const outcome = await done;
          assert.deepEqual([outcome.body, outcome.reused], ['ok', reused]);
        }
        assert.equal(member.connections.length, 2);
      },
    ));

  it('does not repeat a GET when a fresh session is lost', () =>
    withFrames(
      (_stream, socket) => socket.destroy(),
      async (transport, member) => {
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        assert.deepEqual((await done).events, ['sent', 'error']);
        assert.equal(member.connections.length, 1);
      },
    ));

  it('resets the rest of an upload when the answer is complete', () =>
    withFrames(
      (stream, socket) => socket.write(answered(stream)),
      async (transport, member, received) => {
        const { handler, done } = recordingHandler();
        transport.send(watch({ method: 'POST', body: 'chunked' }), handler).write(Buffer.from('ab'));
        assert.equal((await done).body, 'ok');
        await frameOf(member, received, frames.reset);
      },
    ));

  it('fails when the member closes the connection before its settings, and does not try for ever', async () => {
    const member = await startTestMember({
      tls: { ...certificate, ALPNProtocols: ['h2'] },
      onConnection: (socket) => socket.end(),
    });
    const transport = makeTransport(memberOptions(member, {}, ca));
    const { handler, done } = recordingHandler();
    transport.send(watch(), handler);
    assert.equal((await done).error?.code, 'MEMBER_UNAVAILABLE');
    assert.equal(member.connections.length, 1);
    transport.close('abort');
    await member.close();
  });

  it('serves a late request of a drained transport and then closes the session', () =>
    withFrames(
      (stream, socket) => socket.write(answered(stream)),
      async (transport, member) => {
        transport.close('drain');
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        assert.equal((await done).body, 'ok');
        await member.connections[0]!.closed;
      },
    ));

  it('opens sessions in vain only once when the member ends each at once', () =>
    withFrames(
      () => {},
      async (transport, member) => {
        const ending = member.connection(0).then((connection) => connection.socket.write(goaway(0)));
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        await ending;
        assert.match((await done).error?.code ?? '', /^MEMBER_/);
        assert.equal(member.connections.length, 1);
      },
      { settings: Buffer.from([0, 3, 0, 0, 0, 0]) },
    ));

  it('destroys a session whose member no longer answers pings', () =>
    withFrames(
      (stream, socket) => socket.write(head(stream)),
      async (transport, member) => {
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        const { error, events } = await done;
        assert.equal(events.at(-1), 'error after headers');
        assert.equal(error?.code, 'MEMBER_TIMEOUT');
        await member.connections[0]!.closed;
      },
      { limits: { pingIntervalMs: 10, pingTimeoutMs: 10 } },
    ));

  it('closes an idle session after a while', () =>
    withFrames(
      (stream, socket) => socket.write(answered(stream)),
      async (transport, member) => {
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        await done;
        await member.connections[0]!.closed;
        while (transport.stats().http2Sessions > 0) await new Promise((resolve) => setImmediate(resolve));
      },
      { limits: { idleTimeoutMs: 10 } },
    ));

  it('drains: a session ends with its last stream', () =>
    withFrames(
      (stream, socket) => socket.write(Buffer.concat([head(stream), data(stream, 'one ')])),
      async (transport, member) => {
        const begun = Promise.withResolvers<void>();
        const { handler, done } = recordingHandler({ onData: () => begun.resolve() });
        transport.send(watch(), handler);
        await begun.promise;
        transport.close('drain');
        const connection = member.connections[0]!;
        connection.socket.write(data(1, 'two', endStream));
        assert.equal((await done).body, 'one two');
        await connection.closed;
      },
    ));

  it('aborts: streams, waiting calls and new ones end with an error', () =>
    withFrames(
      () => requested.resolve(),
      async (transport, member) => {
        const first = recordingHandler();
        transport.send(watch(), first.handler);
        await requested.promise;
        transport.close('abort');
        const late = recordingHandler();
        transport.send(watch(), late.handler);
        for (const { done } of [first, late]) {
          assert.match((await done).error?.message ?? '', /^the gateway closed its connections to https:/);
        }
        await member.connections[0]!.closed;
      },
    ));
  const requested = Promise.withResolvers<void>();
});

/** Sends one more watch when told to, once. */
function sender(transport: Transport): {
  readonly send: () => void;
  readonly done: ReturnType<typeof recordingHandler>['done'];
} {
  const recorded = recordingHandler();
  let sent = false;
  return {
    done: recorded.done,
    send() {
      if (!sent) transport.send(watch(), recorded.handler);
      sent = true;
    },
  };
}

/** Resolves once a frame of this type came. */
async function frameOf(member: TestMember, received: readonly ReceivedFrame[], type: number): Promise<void> {
  const { socket } = await member.connection(0);
  while (!received.some((one) => one.type === type)) await new Promise((resolve) => socket.once('data', resolve));
}
