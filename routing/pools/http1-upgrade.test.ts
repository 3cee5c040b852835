import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayError } from '../../model/errors.ts';
import { getRequest, recordingHandler, response, withMember } from './member.fixture.ts';
import type { TestAnswer } from './member.fixture.ts';

const switching = (token: string, extra = ''): string =>
  `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${token}\r\nConnection: Upgrade\r\n\r\n${extra}`;
const never = new AbortController().signal;
const code = (expected: string) => (error: GatewayError) => error.code === expected && error.details.cluster === 'm1';

describe('http1 upgrade', () => {
  it('hands over the socket and the first bytes after a 101', () =>
    withMember(
      (_head, socket) => socket.write(switching('SPDY/3.1', 'first')),
      async (transport, member) => {
        const { handler } = recordingHandler();
        const answer = await transport.upgrade(getRequest('/exec', { method: 'POST' }), 'SPDY/3.1', handler, never);
        assert.ok(answer.kind === 'switched');
        assert.equal(answer.head.toString(), 'first');
        assert.deepEqual(answer.headers, ['Upgrade', 'SPDY/3.1', 'Connection', 'Upgrade']);
        assert.equal(
          member.connections[0]!.received(),
          'POST /exec HTTP/1.1\r\nHost: member\r\nContent-Length: 0\r\n' +
            'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
        );
        assert.equal(transport.stats().upgraded, 1);
        const later = new Promise<string>((resolve) =>
          answer.socket.once('data', (chunk: Buffer) => resolve(`${chunk}`)),
        );
        answer.socket.resume();
        answer.socket.write('from the client');
        await member.connections[0]!.waitFor(/from the client$/);
        member.connections[0]!.socket.write('second');
        assert.equal(await later, 'second');
        answer.socket.destroy();
        await member.connections[0]!.closed;
      },
    ));

  it('loses no byte that comes between the 101 and the first reader', () =>
    withMember(
      (head, socket) => {
        if (head.startsWith('GET /ping')) socket.write(response('pong'));
        else socket.write(switching('websocket', 'a'));
      },
      async (transport, member) => {
        const answer = await transport.upgrade(getRequest('/'), 'websocket', recordingHandler().handler, never);
        assert.ok(answer.kind === 'switched');
        member.connections[0]!.socket.end('b');
        // By the time this round trip is over, the bytes have arrived.
        const ping = recordingHandler();
        transport.send(getRequest('/ping'), ping.handler);
        await ping.done;
        let text = answer.head.toString();
        answer.socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
        answer.socket.resume();
        await new Promise((resolve) => answer.socket.once('end', resolve));
        assert.equal(text, 'ab');
      },
    ));

  for (const status of [200, 301, 302, 400, 403, 500]) {
    it(`streams the answer ${status} and destroys the socket, which is never pooled`, () =>
      withMember(
        (head, socket) => socket.write(response('no', `HTTP/1.1 ${head.includes('/exec') ? status : 200} X`)),
        async (transport, member) => {
          const { handler, done } = recordingHandler();
          const answer = await transport.upgrade(getRequest('/exec'), 'websocket', handler, never);
          assert.deepEqual(answer, { kind: 'refused' });
          const outcome = await done;
          assert.equal(outcome.status, status);
          assert.equal(outcome.body, 'no');
          assert.deepEqual(outcome.events, ['sent', 'headers', 'data', 'end']);
          await member.connections[0]!.closed;
          const next = recordingHandler();
          transport.send(getRequest('/other'), next.handler);
          assert.deepEqual((await next.done).reused, [false]);
          assert.equal(member.connections.length, 2);
        },
      ));
  }

  for (const [what, answer] of [
    ['another protocol', switching('h2c')],
    ['a list of protocols', switching('websocket, h2c')],
    ['two Upgrade headers', switching('websocket\r\nUpgrade: websocket')],
    ['no Upgrade header', 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\n\r\n'],
    ['no Connection header', 'HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n'],
    ['a look-alike Connection', 'HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: xupgradey\r\n\r\n'],
    ['garbage', 'garbage\r\n\r\n'],
  ] as const) {
    it(`refuses a 101 with ${what} and destroys the socket`, () =>
      withMember(
        (_head, socket) => socket.write(answer),
        async (transport, member) => {
          const { handler } = recordingHandler();
          await assert.rejects(
            transport.upgrade(getRequest('/'), 'websocket', handler, never),
            code('MEMBER_BAD_RESPONSE'),
          );
          await member.connections[0]!.closed;
          assert.equal(transport.stats().upgraded, 0);
        },
      ));
  }

  it('compares the protocol without regard to case', () =>
    withMember(
      (_head, socket) => socket.write(switching('WebSocket')),
      async (transport) => {
        const answer = await transport.upgrade(getRequest('/'), 'websocket', recordingHandler().handler, never);
        assert.equal(answer.kind, 'switched');
      },
    ));

  it('rejects when the member closes without an answer', () =>
    withMember(
      (_head, socket) => socket.end(),
      async (transport) => {
        const { handler } = recordingHandler();
        await assert.rejects(
          transport.upgrade(getRequest('/'), 'websocket', handler, never),
          code('MEMBER_UNAVAILABLE'),
        );
      },
    ));

  it('reports a refusal that is cut off', () =>
    withMember(
      (_head, socket) => socket.end('HTTP/1.1 403 X\r\nContent-Length: 10\r\n\r\nno'),
      async (transport) => {
        const { handler, done } = recordingHandler();
        await transport.upgrade(getRequest('/'), 'websocket', handler, never);
        assert.deepEqual((await done).events, ['sent', 'headers', 'data', 'error after headers']);
      },
    ));

  it('cuts a refusal that is longer than 1 MiB', () =>
    withMember(
      (_head, socket) => socket.write(response('x'.repeat(2 * 1024 * 1024), 'HTTP/1.1 403 X')),
      async (transport, member) => {
        const { handler, done } = recordingHandler();
        await transport.upgrade(getRequest('/'), 'websocket', handler, never);
        const { error, body } = await done;
        assert.equal(error?.code, 'MEMBER_BAD_RESPONSE');
        assert.ok(body.length <= 1024 * 1024);
        await member.connections[0]!.closed;
      },
    ));

  const silent: TestAnswer = () => {};
  const halfRefused: TestAnswer = (_head, socket) => socket.write('HTTP/1.1 403 X\r\nContent-Length: 10\r\n\r\nno');

  it('destroys the socket when the signal fires before the answer', () =>
    withMember(silent, async (transport, member) => {
      const giveUp = new AbortController();
      const answer = transport.upgrade(getRequest('/'), 'websocket', recordingHandler().handler, giveUp.signal);
      await (await member.connection(0)).waitFor(/\r\n\r\n$/);
      giveUp.abort();
      await assert.rejects(answer, code('MEMBER_UNAVAILABLE'));
      await member.connections[0]!.closed;
    }));

  it('destroys the socket when the signal fires during a refusal, and says so to the handler', () =>
    withMember(halfRefused, async (transport, member) => {
      const giveUp = new AbortController();
      const { handler, done } = recordingHandler({ onData: () => giveUp.abort() });
      await transport.upgrade(getRequest('/'), 'websocket', handler, giveUp.signal);
      assert.equal((await done).events.at(-1), 'error after headers');
      await member.connections[0]!.closed;
    }));

  it('rejects at once when the signal fired before', () =>
    withMember(silent, async (transport, member) => {
      const { handler } = recordingHandler();
      const gone = transport.upgrade(getRequest('/'), 'websocket', handler, AbortSignal.abort());
      await assert.rejects(gone, code('MEMBER_UNAVAILABLE'));
      assert.equal(member.connections.length, 0);
    }));

  it('closes upgraded sockets when the transport is aborted, and refuses new upgrades', () =>
    withMember(
      (_head, socket) => socket.write(switching('websocket')),
      async (transport, member) => {
        const { handler } = recordingHandler();
        await transport.upgrade(getRequest('/'), 'websocket', handler, never);
        transport.close('drain');
        assert.equal(transport.stats().upgraded, 1);
        transport.close('abort');
        await member.connections[0]!.closed;
        await assert.rejects(
          transport.upgrade(getRequest('/'), 'websocket', handler, never),
          code('MEMBER_UNAVAILABLE'),
        );
      },
    ));

  it('bounds the number of upgrades, those being opened included', () =>
    withMember(
      (_head, socket) => socket.write(switching('websocket')),
      async (transport) => {
        const { handler } = recordingHandler();
        const first = transport.upgrade(getRequest('/'), 'websocket', handler, never);
        await assert.rejects(
          transport.upgrade(getRequest('/'), 'websocket', handler, never),
          code('MEMBER_OVERLOADED'),
        );
        const answer = await first;
        await assert.rejects(
          transport.upgrade(getRequest('/'), 'websocket', handler, never),
          code('MEMBER_OVERLOADED'),
        );
        assert.ok(answer.kind === 'switched');
        const closed = new Promise((resolve) => answer.socket.once('close', resolve));
        answer.socket.destroy();
        await closed;
        assert.equal((await transport.upgrade(getRequest('/'), 'websocket', handler, never)).kind, 'switched');
      },
      { upgrades: 1 },
    ));

  it('sends no upgrade request with a body', () =>
    withMember(silent, async (transport, member) => {
      const { handler } = recordingHandler();
      const answer = transport.upgrade(getRequest('/', { body: 5 }), 'websocket', handler, never);
      await assert.rejects(answer, (error: GatewayError) => error.code === 'INTERNAL');
      assert.equal(member.connections.length, 0);
    }));
});
