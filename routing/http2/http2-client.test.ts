import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import type { SecureServerOptions, ServerHttp2Stream } from 'node:http2';
import { before, describe, it } from 'node:test';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestCertificate } from '../../test/pretend/certificates.ts';
import { startHttp2Member } from './http2-member.fixture.ts';
import type { Http2Member } from './http2-member.fixture.ts';
import { getRequest, memberOptions, recordingHandler, response, startTestMember } from '../pools/member.fixture.ts';
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
  return getRequest('/api/v1/pods?watch=true', { longRunning: true, ...change });
}

function bug(): void {
  throw new Error('private detail');
}

type Answer = (stream: ServerHttp2Stream, raw: readonly string[]) => void;

async function withHttp2(
  answer: Answer | undefined,
  run: (transport: Transport, member: Http2Member) => Promise<void>,
  { limits = {}, server = {} }: { readonly limits?: TransportLimits; readonly server?: SecureServerOptions } = {},
): Promise<void> {
  const member = await startHttp2Member(certificate, answer, server);
  const transport = makeTransport(memberOptions(member, { limits }, ca));
  try {
    await run(transport, member);
  } finally {
    transport.close('abort');
    await member.close();
  }
}

const greet: Answer = (stream) => {
  stream.respond([':status', '200', 'x-a', '1', 'x-a', '2'] as never);
  stream.end('hello');
};

/** Resolves when the given number of streams is open on the member. */
async function openStreams(member: Http2Member, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await member.stream(i);
}

describe('http2 client', () => {
  it('keeps repeated headers apart, in lower case, with bytes as given', () =>
    withHttp2(greet, async (transport, member) => {
      const { handler, done } = recordingHandler();
      const headers = ['Host', 'm:6443', 'Impersonate-User', 'j\xc3\xbcrgen', 'Impersonate-Group', 'a,b'];
      transport.send(watch({ headers: [...headers, 'Impersonate-Group', 'c', 'Authorization', 'Bearer t'] }), handler);
      const outcome = await done;
      assert.deepEqual(member.requests[0], [
        ':method',
        'GET',
        ':scheme',
        'https',
        ':authority',
        'm:6443',
        ':path',
        '/api/v1/pods?watch=true',
        'impersonate-user',
        'j\xc3\xbcrgen',
        'impersonate-group',
        'a,b',
        'impersonate-group',
        'c',
        'authorization',
        'Bearer t',
      ]);
      assert.equal(outcome.status, 200);
      assert.deepEqual(outcome.headers.slice(0, 4), ['x-a', '1', 'x-a', '2']);
      assert.equal(outcome.body, 'hello');
      assert.deepEqual(outcome.events, ['sent', 'headers', 'data', 'end']);
    }));

  it('marks the Authorization as never to be indexed', () =>
    withHttp2(greet, async (transport, member) => {
      const { handler, done } = recordingHandler();
      transport.send(watch({ headers: ['Host', 'm', 'Authorization', 'Bearer t', 'X-Other', 'y'] }), handler);
      await done;
      assert.deepEqual(member.secrets[0], ['authorization']);
    }));

  it('shares one session among concurrent calls, also those that wait for it to open', () =>
    withHttp2(greet, async (transport, member) => {
      const calls = Array.from({ length: 20 }, () => {
        const recorded = recordingHandler();
        transport.send(watch(), recorded.handler);
        return recorded.done;
      });
      assert.equal(transport.stats().pending, 20);
      const outcomes = await Promise.all(calls);
      assert.ok(outcomes.every((outcome) => outcome.body === 'hello'));
      assert.deepEqual(outcomes[0]!.reused, [false]);
      assert.deepEqual(outcomes[1]!.reused, [true]);
      assert.equal(member.sessions.length, 1);
      assert.deepEqual(transport.stats(), {
        http1Idle: 0,
        http1Active: 0,
        http2Sessions: 1,
        http2Streams: 0,
        pending: 0,
        upgraded: 0,
      });
    }));

  it('opens another session beyond 90 streams, although the member would allow 100', () =>
    withHttp2(
      undefined,
      async (transport, member) => {
        for (let i = 0; i < 181; i++) transport.send(watch(), recordingHandler().handler);
        const perSession = new Map<unknown, number>();
        for (let i = 0; i < 181; i++) {
          const { session } = await member.stream(i);
          perSession.set(session, (perSession.get(session) ?? 0) + 1);
        }
        assert.deepEqual([...perSession.values()].sort(), [1, 90, 90]);
        assert.equal(transport.stats().http2Streams, 181);
      },
      { server: { settings: { maxConcurrentStreams: 100 } } },
    ));

  it("keeps to the member's own limit of streams", () =>
    withHttp2(
      undefined,
      async (transport, member) => {
        for (let i = 0; i < 4; i++) transport.send(watch(), recordingHandler().handler);
        await openStreams(member, 4);
        assert.equal(member.sessions.length, 2);
      },
      { server: { settings: { maxConcurrentStreams: 2 } } },
    ));

  it('fails instead of waiting for ever when the member allows no streams', () =>
    withHttp2(
      undefined,
      async (transport) => {
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        assert.equal((await done).error?.code, 'MEMBER_OVERLOADED');
      },
      { server: { settings: { maxConcurrentStreams: 0 } } },
    ));

  it('refuses calls beyond its bound', () =>
    withHttp2(
      undefined,
      async (transport, member) => {
        transport.send(watch(), recordingHandler().handler);
        await member.stream(0);
        transport.send(watch(), recordingHandler().handler);
        await member.stream(1);
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        assert.equal((await done).error?.code, 'MEMBER_OVERLOADED');
      },
      { limits: { longRunningCalls: 2 } },
    ));

  it('sends bodies, known and unknown in length', () =>
    withHttp2(
      (stream) => {
        let text = '';
        stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
        stream.on('end', () => {
          stream.respond({ ':status': 201 });
          stream.end(text);
        });
      },
      async (transport, member) => {
        for (const body of [8, 'chunked'] as const) {
          const { handler, done } = recordingHandler();
          const call = transport.send(watch({ method: 'POST', body }), handler);
          call.write(Buffer.from('the '));
          call.write(Buffer.from('body'));
          call.end();
          const outcome = await done;
          assert.equal(outcome.status, 201);
          assert.equal(outcome.body, 'the body');
        }
        assert.ok(member.requests[0]!.join().includes('content-length,8'));
        assert.ok(!member.requests[1]!.includes('content-length'));
      },
    ));

  it('delivers an early answer and sends no more of the body', () =>
    withHttp2(
      (stream) => {
        stream.respond({ ':status': 413 });
        stream.end('too large');
      },
      async (transport, member) => {
        const { handler, done } = recordingHandler();
        const call = transport.send(watch({ method: 'POST', body: 1_000_000 }), handler);
        call.write(Buffer.from('abc'));
        const outcome = await done;
        assert.deepEqual([outcome.status, outcome.body, outcome.error], [413, 'too large', undefined]);
        const stream = await member.stream(0);
        if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
        assert.equal(transport.stats().http2Sessions, 1);
      },
    ));

  it('resets the stream on abort and calls nothing any more', () =>
    withHttp2(undefined, async (transport, member) => {
      const { handler, done } = recordingHandler();
      void done.then(() => assert.fail('the call ended'));
      const call = transport.send(watch(), handler);
      const stream = await member.stream(0);
      stream.respond({ ':status': 200 });
      stream.write('event');
      const closed = new Promise((resolve) => stream.once('close', resolve));
      call.abort();
      call.abort();
      call.write(Buffer.from('x'));
      call.end();
      call.pause();
      call.resume();
      await closed;
      assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL);
      assert.equal(transport.stats().http2Sessions, 1);
    }));

  for (const [where, broken] of [
    ['onHeaders', { onHeaders: bug }],
    ['onData', { onData: bug }],
  ] as const) {
    it(`ends one call, not the process, when its ${where} throws`, () =>
      withHttp2(greet, async (transport) => {
        const { handler, done } = recordingHandler(broken);
        transport.send(watch(), handler);
        const { error } = await done;
        assert.equal(error?.code, 'INTERNAL');
        assert.ok(!error.message.includes('private'));
        const next = recordingHandler();
        transport.send(watch(), next.handler);
        assert.equal((await next.done).body, 'hello');
      }));
  }

  it('forgets a call that is aborted while it waits for the session', () =>
    withHttp2(greet, async (transport, member) => {
      transport.send(watch({ target: '/gone' }), recordingHandler().handler).abort();
      assert.equal(transport.stats().pending, 0);
      const { handler, done } = recordingHandler();
      transport.send(watch(), handler);
      await done;
      assert.equal(member.requests.length, 1);
    }));

  it('holds the member back while the caller does not read, without holding back other streams', () =>
    withHttp2(
      (stream, raw) => {
        stream.respond({ ':status': 200 });
        if (raw.includes('/ping')) stream.end('pong');
        else stream.end(Buffer.alloc(8 * 1024 * 1024, 'x'));
      },
      async (transport, member) => {
        let received = 0;
        const first = Promise.withResolvers<void>();
        const end = Promise.withResolvers<void>();
        const call = transport.send(watch(), {
          onHeaders() {},
          onData(chunk) {
            if (received === 0) call.pause();
            received += chunk.length;
            first.resolve();
          },
          onEnd: () => end.resolve(),
          onError: (error) => end.reject(error),
        });
        await first.promise;
        for (let i = 0; i < 200; i++) {
          const ping = recordingHandler();
          transport.send(watch({ target: '/ping' }), ping.handler);
          assert.equal((await ping.done).body, 'pong');
        }
        assert.ok(received < 600 * 1024, `${received} bytes came in spite of the pause`);
        assert.equal(member.sessions.length, 1);
        call.resume();
        await end.promise;
        assert.equal(received, 8 * 1024 * 1024);
      },
    ));

  it('carries a user in many groups and a large header list', () =>
    withHttp2(
      greet,
      async (transport, member) => {
        const groups = Array.from({ length: 5_000 }, (_, i) => [
          'Impersonate-Group',
          `group-${i}-${'x'.repeat(20)}`,
        ]).flat();
        const { handler, done } = recordingHandler();
        transport.send(watch({ headers: ['Host', 'm', ...groups] }), handler);
        assert.equal((await done).body, 'hello');
        assert.equal(member.requests[0]!.filter((name) => name === 'impersonate-group').length, 5_000);
      },
      { server: { settings: { maxHeaderListSize: 1024 * 1024 } } },
    ));

  it('reads an answer with many headers', () =>
    withHttp2(
      (stream) => {
        const many = Array.from({ length: 1_000 }, (_, i) => [`x-${i}`, 'y']).flat();
        stream.respond([':status', '200', ...many] as never);
        stream.end();
      },
      async (transport) => {
        const { handler, done } = recordingHandler();
        transport.send(watch(), handler);
        const { headers, error } = await done;
        assert.equal(error, undefined);
        assert.equal(headers.filter((value) => value === 'y').length, 1_000);
      },
    ));

  it('sends short requests over HTTP/1.1 to the same member', async () => {
    const member = await startTestMember({
      tls: { ...certificate, ALPNProtocols: ['h2', 'http/1.1'] },
      answer: (_head, socket) => socket.write(response('short')),
    });
    const transport = makeTransport(memberOptions(member, {}, ca));
    const { handler, done } = recordingHandler();
    transport.send(getRequest('/'), handler);
    assert.equal((await done).body, 'short');
    transport.close('abort');
    await member.close();
  });

  it('uses HTTP/1.1 for a member that speaks nothing else, apart from the bound of short requests', async () => {
    const member = await startTestMember({ tls: certificate });
    const transport = makeTransport(memberOptions(member, { limits: { connections: 1 } }, ca));
    const watches = Array.from({ length: 5 }, (_, i) => {
      const recorded = recordingHandler();
      transport.send(watch({ target: `/watch/${i}` }), recorded.handler);
      return recorded;
    });
    for (let i = 0; i < 5; i++) await (await member.connection(i)).waitFor(/GET \/watch\/\d HTTP\/1.1\r\n/);
    const short = recordingHandler();
    transport.send(getRequest('/short'), short.handler);
    const last = await member.connection(5);
    await last.waitFor(/GET \/short/);
    last.socket.write(response('short'));
    assert.equal((await short.done).body, 'short');
    assert.deepEqual(transport.stats(), {
      http1Idle: 1,
      http1Active: 5,
      http2Sessions: 0,
      http2Streams: 0,
      pending: 0,
      upgraded: 0,
    });
    for (const connection of member.connections.slice(0, 5)) connection.socket.write(response('event'));
    for (const { done } of watches) assert.equal((await done).body, 'event');
    assert.equal(member.connections.length, 6);
    transport.close('abort');
    await member.close();
  });
});
