import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestCertificate } from '../../test/pretend/certificates.ts';
import { startHttp2Member } from '../http2/http2-member.fixture.ts';
import { getRequest, memberOptions, recordingHandler, response, startTestMember } from './member.fixture.ts';
import { makeTransport } from './transport.ts';
import type { Transport } from '../call/transport-types.ts';

let ca = '';
let certificate: TestCertificate;

before(async () => {
  const authority = await makeTestAuthority();
  ca = authority.ca;
  certificate = await authority.issue(['ip:127.0.0.1']);
});

/** Sends many requests of different users at once; every answer must name the user of its request. */
async function mixUp(transport: Transport, longRunning: boolean): Promise<void> {
  const calls = Array.from({ length: 1_000 }, async (_, i) => {
    const user = `user-${i % 50}-${i}`;
    const { handler, done } = recordingHandler();
    const body = i % 3 === 0 ? ('chunked' as const) : ('none' as const);
    const method = body === 'none' ? 'GET' : 'POST';
    const headers = ['Host', 'm', 'Impersonate-User', user];
    const call = transport.send({ method, target: `/${i}`, headers, body, longRunning }, handler);
    if (body === 'chunked') {
      call.write(Buffer.from(user));
      call.end();
    }
    const outcome = await done;
    assert.equal(outcome.error, undefined);
    assert.equal(outcome.body, user);
  });
  await Promise.all(calls);
}

describe('transport', () => {
  it('never mixes up a thousand concurrent short requests on a few connections', async () => {
    const member = await startTestMember({
      tls: certificate,
      answer(head, socket, connection) {
        const user = /\r\nImpersonate-User: (\S+)\r\n/.exec(head)![1]!;
        const reply = (): unknown => setImmediate(() => socket.write(response(user)));
        if (head.startsWith('GET')) reply();
        else void connection.waitFor(new RegExp(`\r\n${user}\r\n0\r\n\r\n$`)).then(reply);
      },
    });
    const transport = makeTransport(memberOptions(member, { limits: { connections: 7 } }, ca));
    await mixUp(transport, false);
    assert.equal(member.connections.length, 7);
    assert.equal(transport.stats().http1Idle, 7);
    transport.close('abort');
    await member.close();
  });

  it('never mixes up a thousand concurrent streams', async () => {
    const member = await startHttp2Member(certificate, (stream, raw) => {
      const user = raw[raw.indexOf('impersonate-user') + 1]!;
      stream.resume().on('end', () => {
        stream.respond({ ':status': 200 });
        stream.end(user);
      });
    });
    const transport = makeTransport(memberOptions(member, {}, ca));
    await mixUp(transport, true);
    assert.ok(member.sessions.length <= 12);
    assert.equal(transport.stats().http2Streams, 0);
    transport.close('abort');
    await member.close();
  });

  it('keeps short requests going while long-running ones fill every place they have', async () => {
    const member = await startTestMember({
      tls: certificate,
      answer(head, socket) {
        if (head.startsWith('GET /short')) socket.write(response('short'));
      },
    });
    const limits = { connections: 1, longRunningCalls: 3 };
    const transport = makeTransport(memberOptions(member, { limits }, ca));
    for (let i = 0; i < 3; i++) {
      transport.send(getRequest(`/watch/${i}`, { longRunning: true }), recordingHandler().handler);
      await (await member.connection(i)).waitFor(/watch/);
    }
    const { handler, done } = recordingHandler();
    transport.send(getRequest('/short'), handler);
    assert.equal((await done).body, 'short');
    transport.close('abort');
    await member.close();
  });
});
