import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import {
  getRequest,
  memberOptions,
  recordingHandler,
  response,
  startTestMember,
  withMember,
} from '../pools/member.fixture.ts';
import { makeTransport } from '../pools/transport.ts';
import type { UpstreamCall } from '../call/transport-types.ts';

describe('http1 pool', () => {
  it('lets calls wait in order for a bounded number of connections, and refuses beyond the bound', () =>
    withMember(
      undefined,
      async (transport, member) => {
        const calls = ['/0', '/1', '/2', '/3'].map((target) => {
          const recorded = recordingHandler();
          transport.send(getRequest(target), recorded.handler);
          return recorded;
        });
        // The first call counts as waiting too, since its connection is not there yet.
        const refused = await calls[3]!.done;
        assert.equal(refused.error?.code, 'MEMBER_OVERLOADED');
        const connection = await member.connection(0);
        for (const target of ['/0', '/1', '/2']) {
          await connection.waitFor(new RegExp(`GET ${target} HTTP/1.1\r\nHost: member\r\n\r\n$`));
          connection.socket.write(response(target));
        }
        assert.deepEqual(
          (await Promise.all(calls.slice(0, 3).map((call) => call.done))).map((outcome) => outcome.body),
          ['/0', '/1', '/2'],
        );
        assert.equal(member.connections.length, 1);
      },
      { connections: 1, pending: 3 },
    ));

  it('frees the place of a waiting call that is aborted', () =>
    withMember(
      undefined,
      async (transport, member) => {
        const first = recordingHandler();
        transport.send(getRequest('/first'), first.handler);
        const connection = await member.connection(0);
        await connection.waitFor(/first/);
        const call = transport.send(getRequest('/gone'), recordingHandler().handler);
        assert.equal(transport.stats().pending, 1);
        call.abort();
        assert.equal(transport.stats().pending, 0);
        const second = recordingHandler();
        transport.send(getRequest('/second'), second.handler);
        connection.socket.write(response('1'));
        await connection.waitFor(/second/);
        connection.socket.write(response('2'));
        assert.equal((await second.done).body, '2');
        assert.doesNotMatch(connection.received(), /gone/);
      },
      { connections: 1, pending: 1 },
    ));

  it('holds the member back while the caller does not read', () => {
    const piece = Buffer.alloc(64 * 1024, 'x');
    const total = piece.length * 400;
    return withMember(
      (head, socket) => {
        if (head.startsWith('GET /ping')) socket.write(response('pong'));
        else {
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
          for (let i = 0; i < 400; i++) socket.write(piece);
        }
      },
      async (transport, member) => {
        let received = 0;
        const first = Promise.withResolvers<void>();
        const end = Promise.withResolvers<void>();
        const call = transport.send(getRequest('/large'), {
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
        // Each of these round trips would bring another piece if the pause had no effect.
        for (let i = 0; i < 500; i++) {
          const ping = recordingHandler();
          transport.send(getRequest('/ping'), ping.handler);
          await ping.done;
        }
        assert.ok(received < 1024 * 1024, `${received} bytes came in spite of the pause`);
        assert.ok(member.connections[0]!.socket.writableLength > total / 2);
        call.resume();
        await end.promise;
        assert.equal(received, total);
      },
    );
  });

  it('reads a connection again although the last caller had paused', () =>
    withMember(
      (_head, socket) => socket.write(response('ok')),
      async (transport, member) => {
        const paused: { call?: UpstreamCall } = {};
        const { handler, done } = recordingHandler({ onData: () => paused.call?.pause() });
        paused.call = transport.send(getRequest('/'), handler);
        await done;
        const next = recordingHandler();
        transport.send(getRequest('/'), next.handler);
        assert.deepEqual((await next.done).reused, [true]);
        assert.equal(member.connections.length, 1);
      },
    ));

  it('tells a writer that waits to go on when the answer comes first', () =>
    withMember(undefined, async (transport, member) => {
      const drained = Promise.withResolvers<void>();
      const { handler, done } = recordingHandler({ onDrain: () => drained.resolve() });
      const piece = Buffer.alloc(256 * 1024, 'x');
      const call = transport.send(getRequest('/', { method: 'POST', body: piece.length * 100 }), handler);
      const connection = await member.connection(0);
      connection.socket.pause();
      // More than the buffers of the kernel hold, so that the socket itself never gets to say that it drained.
      for (let i = 0; i < 100; i++) call.write(piece);
      connection.socket.write(response('enough', 'HTTP/1.1 413 Too Large'));
      await drained.promise;
      assert.equal((await done).status, 413);
    }));

  it('asks the writer to wait while the member does not read, and tells when it reads again', () =>
    withMember(undefined, async (transport, member) => {
      const drained = Promise.withResolvers<void>();
      const { handler, done } = recordingHandler({ onDrain: () => drained.resolve() });
      const piece = Buffer.alloc(256 * 1024, 'x');
      const call = transport.send(getRequest('/', { method: 'POST', body: piece.length * 100 }), handler);
      const connection = await member.connection(0);
      connection.socket.pause();
      let sent = 0;
      while (sent < 100 && call.write(piece)) sent++;
      assert.ok(sent < 100, 'write never asked to wait');
      connection.socket.resume();
      await drained.promise;
      connection.socket.write(response('enough', 'HTTP/1.1 413 Too Large'));
      assert.equal((await done).status, 413);
    }));

  it('drains: idle connections close now, busy ones after their answer, and late requests are still served', () =>
    withMember(undefined, async (transport, member) => {
      const idle = recordingHandler();
      transport.send(getRequest('/idle'), idle.handler);
      const busy = recordingHandler();
      transport.send(getRequest('/busy'), busy.handler);
      const [one, two] = [await member.connection(0), await member.connection(1)];
      await Promise.all([one.waitFor(/\r\n\r\n$/), two.waitFor(/\r\n\r\n$/)]);
      const [idleSide, busySide] = one.received().includes('/idle') ? [one, two] : [two, one];
      idleSide.socket.write(response('idle'));
      await idle.done;
      transport.close('drain');
      await idleSide.closed;
      assert.equal(busySide.socket.destroyed, false);
      busySide.socket.write(response('busy'));
      assert.equal((await busy.done).body, 'busy');
      await busySide.closed;
      const late = recordingHandler();
      transport.send(getRequest('/late'), late.handler);
      const three = await member.connection(2);
      await three.waitFor(/late/);
      three.socket.write(response('late'));
      assert.equal((await late.done).body, 'late');
      await three.closed;
    }));

  it('aborts: calls under way, waiting and new ones end with an error', () =>
    withMember(
      undefined,
      async (transport, member) => {
        const calls = ['/1', '/2'].map((target) => {
          const recorded = recordingHandler();
          transport.send(getRequest(target), recorded.handler);
          return recorded;
        });
        await (await member.connection(0)).waitFor(/\r\n\r\n$/);
        transport.close('abort');
        const late = recordingHandler();
        transport.send(getRequest('/3'), late.handler);
        for (const { done } of [...calls, late]) assert.equal((await done).error?.code, 'MEMBER_UNAVAILABLE');
        await member.connections[0]!.closed;
      },
      { connections: 1 },
    ));

  it('fails the calls that wait for nothing when the only connection cannot be opened', async () => {
    const member = await startTestMember({});
    const options = memberOptions(member, { timeoutMs: 50, limits: { connections: 1 } }, '');
    const transport = makeTransport({ ...options, tls: { ca: undefined, serverName: undefined, insecure: true } });
    const calls = Array.from({ length: 3 }, () => {
      const recorded = recordingHandler();
      transport.send(getRequest('/'), recorded.handler);
      return recorded;
    });
    for (const { done } of calls) assert.equal((await done).error?.code, 'MEMBER_TIMEOUT');
    assert.equal(member.connections.length, 1);
    transport.close('abort');
    await member.close();
  });

  it('fails the calls that wait when the member refuses connections', async () => {
    const member = await startTestMember({});
    const transport = makeTransport(memberOptions(member, { limits: { connections: 2 } }));
    await member.close();
    const calls = Array.from({ length: 5 }, () => {
      const recorded = recordingHandler();
      transport.send(getRequest('/'), recorded.handler);
      return recorded;
    });
    for (const { done } of calls) {
      const { error } = await done;
      assert.ok(error instanceof GatewayError);
      assert.equal(error.code, 'MEMBER_REFUSED');
      assert.equal(error.status, 503);
      assert.equal(error.message, `connection refused by http://127.0.0.1:${member.port}`);
    }
    assert.equal(transport.stats().pending, 0);
    transport.close('abort');
  });

  it('ends an empty chunked body that had ended before there was a connection (ATT-54)', () =>
    withMember(
      // Answers without a look at the body, so that the connection serves the next request.
      (_head, socket) => socket.write(response('hello')),
      async (transport, member) => {
        const first = recordingHandler();
        const call = transport.send(getRequest('/1', { method: 'POST', body: 'chunked' }), first.handler);
        call.end();
        await first.done;
        const second = recordingHandler();
        transport.send(getRequest('/2'), second.handler);
        await second.done;
        assert.match(
          member.connections[0]!.received(),
          /^POST \/1 .*\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET \/2 /s,
        );
      },
    ));
});
