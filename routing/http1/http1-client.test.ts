import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import {
  getRequest,
  memberOptions,
  recordingHandler,
  response,
  startTestMember,
  withMember,
} from '../pools/member.fixture.ts';
import type { TestAnswer } from '../pools/member.fixture.ts';
import { makeTransport } from '../pools/transport.ts';

const ok: TestAnswer = (_head, socket) => socket.write(response('hello'));

function bug(): void {
  throw new Error('private detail');
}

describe('http1 client', () => {
  it('writes the request exactly as given and reads the answer', () =>
    withMember(ok, async (transport, member) => {
      const { handler, done } = recordingHandler();
      transport.send(
        getRequest('/api/v1/pods?limit=5&x=%2F', {
          headers: ['Host', 'm:6443', 'Impersonate-Group', 'a,b', 'Impersonate-Group', 'c', 'X-Name', 'j\xc3\xbcrgen'],
        }),
        handler,
      );
      const outcome = await done;
      assert.equal(
        member.connections[0]!.received(),
        'GET /api/v1/pods?limit=5&x=%2F HTTP/1.1\r\nHost: m:6443\r\nImpersonate-Group: a,b\r\n' +
          'Impersonate-Group: c\r\nX-Name: j\xc3\xbcrgen\r\n\r\n',
      );
      assert.equal(outcome.status, 200);
      assert.deepEqual(outcome.headers, ['Content-Length', '5']);
      assert.equal(outcome.body, 'hello');
      assert.deepEqual(outcome.events, ['sent', 'headers', 'data', 'end']);
      assert.deepEqual(outcome.reused, [false]);
    }));

  it('reuses a connection for the next request, also one sent from within onEnd', () =>
    withMember(ok, async (transport, member) => {
      const second = recordingHandler();
      const first = recordingHandler({ onEnd: () => void transport.send(getRequest('/2'), second.handler) });
      transport.send(getRequest('/1'), first.handler);
      await first.done;
      assert.deepEqual((await second.done).reused, [true]);
      assert.equal(member.connections.length, 1);
      assert.deepEqual(transport.stats(), {
        http1Idle: 1,
        http1Active: 0,
        http2Sessions: 0,
        http2Streams: 0,
        pending: 0,
        upgraded: 0,
      });
    }));

  for (const [why, answer] of [
    ['the member says Connection: close', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'],
    ['the member speaks HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    ['bytes follow the response', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n'],
  ] as const) {
    it(`does not reuse a connection when ${why}`, () =>
      withMember(
        (_head, socket) => socket.write(answer, 'latin1'),
        async (transport, member) => {
          for (const target of ['/1', '/2']) {
            const { handler, done } = recordingHandler();
            transport.send(getRequest(target), handler);
            const outcome = await done;
            assert.equal(outcome.body, 'ok');
            assert.deepEqual(outcome.reused, [false]);
          }
          assert.equal(member.connections.length, 2);
        },
      ));
  }

  it('destroys an idle connection that receives bytes', () =>
    withMember(ok, async (transport, member) => {
      const first = recordingHandler();
      transport.send(getRequest(), first.handler);
      await first.done;
      member.connections[0]!.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil');
      await member.connections[0]!.closed;
      const second = recordingHandler();
      transport.send(getRequest(), second.handler);
      assert.equal((await second.done).body, 'hello');
      assert.equal(member.connections.length, 2);
    }));

  it('sends a body of known length together with the head', () =>
    withMember(
      (_head, socket, connection) => void connection.waitFor(/body$/).then(() => socket.write(response('done'))),
      async (transport, member) => {
        const { handler, done } = recordingHandler();
        const call = transport.send(getRequest('/x', { method: 'POST', body: 8 }), handler);
        call.write(Buffer.from('the '));
        call.write(Buffer.from('body'));
        call.end();
        assert.equal((await done).body, 'done');
        assert.match(member.connections[0]!.received(), /\r\nContent-Length: 8\r\n\r\nthe body$/);
        assert.equal(transport.stats().http1Idle, 1);
      },
    ));

  it('counts a request as sent with the last byte of its body, before end() is called', () =>
    withMember(
      (_head, socket, connection) => void connection.waitFor(/body$/).then(() => socket.write(response('done'))),
      async (transport) => {
        const { handler, done } = recordingHandler();
        transport.send(getRequest('/x', { method: 'POST', body: 4 }), handler).write(Buffer.from('body'));
        assert.equal((await done).body, 'done');
        assert.equal(transport.stats().http1Idle, 1);
      },
    ));

  it('frames a body of unknown length in chunks', () =>
    withMember(
      (_head, socket, connection) => void connection.waitFor(/0\r\n\r\n$/).then(() => socket.write(response('done'))),
      async (transport, member) => {
        const { handler, done } = recordingHandler();
        const call = transport.send(getRequest('/x', { method: 'POST', body: 'chunked' }), handler);
        call.write(Buffer.from('0123456789abcdef'));
        call.write(Buffer.alloc(0));
        call.write(Buffer.from('!'));
        call.end();
        assert.equal((await done).body, 'done');
        assert.match(
          member.connections[0]!.received(),
          /\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n1\r\n!\r\n0\r\n\r\n$/,
        );
      },
    ));

  it('sends the head before the body when the body is late', () =>
    withMember(undefined, async (transport, member) => {
      const { handler, done } = recordingHandler();
      const call = transport.send(getRequest('/x', { method: 'PUT', body: 3 }), handler);
      const connection = await member.connection(0);
      await connection.waitFor(/\r\n\r\n$/);
      call.write(Buffer.from('abc'));
      await connection.waitFor(/\r\n\r\nabc$/);
      connection.socket.write(response('ok'));
      assert.equal((await done).body, 'ok');
    }));

  for (const [method, expected] of [
    ['POST', true],
    ['PUT', true],
    ['PATCH', true],
    ['GET', false],
    ['DELETE', false],
  ] as const) {
    it(`${expected ? 'says' : 'does not say'} Content-Length: 0 for a ${method} without a body`, () =>
      withMember(ok, async (transport, member) => {
        const { handler, done } = recordingHandler();
        transport.send(getRequest('/', { method }), handler);
        await done;
        assert.equal(member.connections[0]!.received().includes('Content-Length: 0\r\n'), expected);
      }));
  }

  for (const [what, write] of [
    ['longer', 'abcd'],
    ['shorter', 'ab'],
  ] as const) {
    it(`cuts the connection when the body is ${what} than it was said to be`, () =>
      withMember(undefined, async (transport, member) => {
        const { handler, done } = recordingHandler();
        const call = transport.send(getRequest('/', { method: 'POST', body: 3 }), handler);
        await (await member.connection(0)).waitFor(/\r\n\r\n$/);
        call.write(Buffer.from(write));
        call.end();
        const { error } = await done;
        assert.equal(error?.code, 'BAD_REQUEST');
        await member.connections[0]!.closed;
        assert.doesNotMatch(member.connections[0]!.received(), /abc/);
      }));
  }

  for (const [what, change] of [
    ['a method with a blank', { method: 'GET /x' }],
    ['a target with CR LF', { target: '/x\r\nX: y' }],
    ['a target with a blank', { target: '/x HTTP/1.1' }],
    ['an absolute target', { target: 'http://evil/' }],
    ['a header name with a colon', { headers: ['Host', 'm', 'X:', 'y'] }],
    ['a value with CR LF', { headers: ['Host', 'm', 'X', 'y\r\nZ: z'] }],
    ['a value with NUL', { headers: ['Host', 'm', 'X', 'y\0'] }],
    ['U+010A, whose low byte is LF', { headers: ['Host', 'm', 'X', 'y\u010az'] }],
    ['two hosts', { headers: ['Host', 'm', 'host', 'n'] }],
    ['no host', { headers: ['X', 'm'] }],
    ['a Transfer-Encoding', { headers: ['Host', 'm', 'Transfer-Encoding', 'chunked'] }],
    ['a Content-Length', { headers: ['Host', 'm', 'content-length', '5'] }],
    ['a Connection', { headers: ['Host', 'm', 'Connection', 'close'] }],
  ] as const) {
    it(`writes nothing for a request with ${what}`, () =>
      withMember(ok, async (transport, member) => {
        const { handler, done } = recordingHandler();
        transport.send(getRequest('/', change), handler);
        const { error, events } = await done;
        assert.equal(error?.code, 'INTERNAL');
        assert.deepEqual(events, ['error']);
        assert.equal(member.connections.length, 0);
      }));
  }

  it('retries a GET once on a fresh connection when a reused one turns out dead', () =>
    withMember(
      (head, socket) => {
        if (head.startsWith('GET /dead') && answered++ === 0) socket.destroy();
        else socket.write(response('hello'));
      },
      async (transport, member) => {
        const first = recordingHandler();
        transport.send(getRequest('/'), first.handler);
        await first.done;
        const second = recordingHandler();
        transport.send(getRequest('/dead'), second.handler);
        const outcome = await second.done;
        assert.equal(outcome.body, 'hello');
        assert.deepEqual(outcome.reused, [true, false]);
        assert.equal(member.connections.length, 2);
      },
    ));
  let answered = 0;

  for (const [what, change, prefix] of [
    ['a POST', { method: 'POST' }, ''],
    ['a GET with a body', { body: 1 as const }, ''],
    ['a GET that got its first byte', {}, 'H'],
  ] as const) {
    it(`does not retry ${what}`, () =>
      withMember(
        (head, socket) => {
          if (!head.includes('/dead')) socket.write(response('hello'));
          else if (prefix === '') socket.destroy();
          else socket.end(prefix);
        },
        async (transport, member) => {
          const first = recordingHandler();
          transport.send(getRequest('/'), first.handler);
          await first.done;
          const second = recordingHandler();
          const call = transport.send(getRequest('/dead', change), second.handler);
          call.write(Buffer.from('x'));
          const { error, events } = await second.done;
          assert.equal(error?.code, 'MEMBER_UNAVAILABLE');
          assert.equal(error.details.cluster, 'm1');
          assert.deepEqual(events, ['sent', 'error']);
          assert.equal(member.connections.length, 1);
        },
      ));
  }

  it('does not retry on a fresh connection, nor a second time', () =>
    withMember(
      (head, socket) => {
        if (head.includes('/dead')) socket.destroy();
        else socket.write(response('hello'));
      },
      async (transport, member) => {
        const fresh = recordingHandler();
        transport.send(getRequest('/dead'), fresh.handler);
        assert.equal((await fresh.done).error?.code, 'MEMBER_UNAVAILABLE');
        assert.equal(member.connections.length, 1);
        const good = recordingHandler();
        transport.send(getRequest('/'), good.handler);
        await good.done;
        const twice = recordingHandler();
        transport.send(getRequest('/dead'), twice.handler);
        assert.equal((await twice.done).error?.code, 'MEMBER_UNAVAILABLE');
        assert.equal(member.connections.length, 3);
      },
    ));

  it('reports a body that is cut off', () =>
    withMember(
      (_head, socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
      async (transport) => {
        const { handler, done } = recordingHandler();
        transport.send(getRequest('/'), handler);
        const outcome = await done;
        assert.equal(outcome.body, 'abc');
        assert.deepEqual(outcome.events, ['sent', 'headers', 'data', 'error after headers']);
      },
    ));

  it('ends a body without length at the end of the connection', () =>
    withMember(
      (_head, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nabc'),
      async (transport) => {
        const { handler, done } = recordingHandler();
        transport.send(getRequest('/'), handler);
        const outcome = await done;
        assert.equal(outcome.body, 'abc');
        assert.equal(outcome.error, undefined);
      },
    ));

  it('reports an unsolicited 101 and destroys the connection', () =>
    withMember(
      (_head, socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
      async (transport, member) => {
        const { handler, done } = recordingHandler();
        transport.send(getRequest('/'), handler);
        assert.equal((await done).error?.code, 'MEMBER_BAD_RESPONSE');
        await member.connections[0]!.closed;
      },
    ));

  for (const [where, broken] of [
    ['onHeaders', { onHeaders: bug }],
    ['onData', { onData: bug }],
  ] as const) {
    it(`ends one call, not the process, when its ${where} throws`, () =>
      withMember(ok, async (transport, member) => {
        const { handler, done } = recordingHandler(broken);
        transport.send(getRequest('/'), handler);
        const { error } = await done;
        assert.equal(error?.code, 'INTERNAL');
        assert.ok(!error.message.includes('private'));
        await member.connections[0]!.closed;
      }));
  }

  it('calls nothing after abort and closes the connection', () =>
    withMember(undefined, async (transport, member) => {
      const { handler, done } = recordingHandler();
      void done.then(() => assert.fail('the call ended'));
      const call = transport.send(getRequest('/'), handler);
      await (await member.connection(0)).waitFor(/\r\n\r\n$/);
      call.abort();
      call.abort();
      call.write(Buffer.from('x'));
      call.end();
      call.pause();
      call.resume();
      await member.connections[0]!.closed;
      assert.equal(transport.stats().http1Active, 0);
    }));

  it('delivers an early answer completely, stops sending, and does not reuse the connection', () =>
    withMember(
      (_head, socket) => socket.write(response('too large', 'HTTP/1.1 413 Too Large')),
      async (transport, member) => {
        const { handler, done } = recordingHandler();
        const call = transport.send(getRequest('/', { method: 'POST', body: 1_000_000 }), handler);
        call.write(Buffer.from('abc'));
        const outcome = await done;
        assert.equal(outcome.body, 'too large');
        assert.equal(call.write(Buffer.from('more')), true);
        call.end();
        await member.connections[0]!.closed;
        assert.match(member.connections[0]!.received(), /\r\n\r\nabc$/);
      },
    ));

  for (const [how, leave] of [
    ['ends', (socket: Socket) => socket.end()],
    ['destroys', (socket: Socket) => socket.destroy()],
  ] as const) {
    it(`delivers an early answer although the member ${how} the connection under our writes`, async () => {
      const authority = await makeTestAuthority();
      const certificate = await authority.issue(['ip:127.0.0.1']);
      for (const tls of [undefined, certificate]) {
        const member = await startTestMember({
          ...(tls === undefined ? {} : { tls }),
          answer(_head, socket) {
            socket.pause();
            socket.write(response('too large', 'HTTP/1.1 413 X'), () => leave(socket));
          },
        });
        const transport = makeTransport(memberOptions(member, {}, tls === undefined ? undefined : authority.ca));
        const { handler, done } = recordingHandler();
        const piece = Buffer.alloc(100_000);
        const call = transport.send(getRequest('/', { method: 'POST', body: piece.length * 1_000 }), handler);
        // Writes without regard to backpressure, so that some surely meet the closed connection.
        let pumping: NodeJS.Immediate;
        const pump = (): void => {
          for (let i = 0; i < 5; i++) call.write(piece);
          pumping = setImmediate(pump);
        };
        pump();
        const outcome = await done;
        clearImmediate(pumping!);
        assert.deepEqual([outcome.status, outcome.body, outcome.error], [413, 'too large', undefined]);
        transport.close('abort');
        await member.close();
      }
    });
  }
});
