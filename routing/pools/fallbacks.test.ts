import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestAuthority, TestCertificate } from '../../test/pretend/certificates.ts';
import { startHttp2Member } from '../http2/http2-member.fixture.ts';
import { getRequest, memberOptions, recordingHandler, response, startTestMember } from './member.fixture.ts';
import type { Outcome, TestMember } from './member.fixture.ts';
import { makeTransport } from './transport.ts';
import type { TransportOptions } from './transport.ts';
import type { Transport } from '../call/transport-types.ts';

let authority: TestAuthority;
let certificate: TestCertificate;

before(async () => {
  authority = await makeTestAuthority();
  certificate = await authority.issue(['ip:127.0.0.1']);
});

type Port = { readonly port: number };

/** A cluster whose endpoints are these ports, in order. */
function cluster(members: readonly Port[], change: Partial<TransportOptions> = {}): Transport {
  const [first, ...others] = members.map((member) => memberOptions(member, {}, authority.ca));
  return makeTransport({ ...first!, fallbacks: others.map(({ endpoint, tls }) => ({ endpoint, tls })), ...change });
}

const answering = (text: string): Promise<TestMember> =>
  startTestMember({ tls: certificate, answer: (_head, socket) => socket.write(response(text)) });

/** A port on which nobody listens. */
async function closedPort(): Promise<Port> {
  const member = await startTestMember({});
  await member.close();
  return member;
}

/** The same port again. */
const reopen = ({ port }: Port, text: string): Promise<TestMember> =>
  startTestMember({ tls: certificate, port, answer: (_head, socket) => socket.write(response(text)) });

function get(transport: Transport, target = '/'): Promise<Outcome> {
  const { handler, done } = recordingHandler();
  transport.send(getRequest(target), handler);
  return done;
}

describe('fallbacks', () => {
  it('tries the endpoints in order and remembers the one that works', async () => {
    const dead = await closedPort();
    const second = await answering('second');
    const third = await answering('third');
    const transport = cluster([dead, second, third]);
    const first = await get(transport);
    assert.deepEqual([first.body, first.events], ['second', ['sent', 'headers', 'data', 'end']]);
    const back = await reopen(dead, 'first');
    assert.equal((await get(transport)).body, 'second');
    assert.equal(third.connections.length + back.connections.length, 0);
    transport.close('abort');
    for (const member of [second, third, back]) await member.close();
  });

  it('changes Host and base path together', async () => {
    const dead = await closedPort();
    const second = await answering('second');
    const one = memberOptions(dead, {}, authority.ca);
    const two = memberOptions(second, {}, authority.ca);
    const transport = makeTransport({
      ...one,
      endpoint: { ...one.endpoint, basePath: '/k8s/clusters/c-1' },
      fallbacks: [{ endpoint: { ...two.endpoint, basePath: '/b' }, tls: two.tls }],
    });
    const { handler, done } = recordingHandler();
    transport.send(
      getRequest('/k8s/clusters/c-1/api/v1?x=%2F', { headers: ['Host', 'one:1', 'Impersonate-User', 'jane'] }),
      handler,
    );
    await done;
    assert.equal(
      second.connections[0]!.received(),
      `GET /b/api/v1?x=%2F HTTP/1.1\r\nHost: 127.0.0.1:${second.port}\r\nImpersonate-User: jane\r\n\r\n`,
    );
    transport.close('abort');
    await second.close();
  });

  it('takes along what was already written of the body', async () => {
    const dead = await closedPort();
    const second = await startTestMember({
      tls: certificate,
      answer: (_head, socket, connection) =>
        void connection.waitFor(/written$/).then(() => socket.write(response('created'))),
    });
    const transport = cluster([dead, second]);
    const { handler, done } = recordingHandler();
    const call = transport.send(getRequest('/', { method: 'POST', body: 12 }), handler);
    call.write(Buffer.from('half '));
    call.write(Buffer.from('written'));
    call.end();
    assert.equal((await done).body, 'created');
    assert.match(second.connections[0]!.received(), /Content-Length: 12\r\n\r\nhalf written$/);
    transport.close('abort');
    await second.close();
  });

  it('goes on after a certificate that is not the cluster’s, and after silence', async () => {
    const stranger = await startTestMember({
      tls: await (await makeTestAuthority('stranger')).issue(['ip:127.0.0.1']),
    });
    const silent = await startTestMember({});
    const third = await answering('third');
    const transport = cluster([stranger, silent, third], { timeoutMs: 150 });
    assert.equal((await get(transport)).body, 'third');
    assert.equal(silent.connections.length, 1);
    assert.equal(silent.connections[0]!.received().includes('HTTP'), false, 'nothing of the request went there');
    transport.close('abort');
    for (const member of [stranger, silent, third]) await member.close();
  });

  it('repeats a GET that an idle connection lost at another endpoint, when its own is gone', async () => {
    const first = await startTestMember({
      tls: certificate,
      answer(_head, socket) {
        if (first.connections[0]!.received().match(/GET/g)?.length === 1) socket.write(response('first'));
        else void first.close();
      },
    });
    const second = await answering('second');
    const transport = cluster([first, second]);
    assert.equal((await get(transport)).body, 'first');
    assert.deepEqual((await get(transport)).reused, [true, false]);
    assert.equal(second.connections.length, 1);
    transport.close('abort');
    await second.close();
  });

  it('never sends a request twice', async () => {
    for (const method of ['GET', 'POST']) {
      const first = await startTestMember({ tls: certificate, answer: (_head, socket) => socket.destroy() });
      const second = await answering('second');
      const transport = cluster([first, second]);
      const { handler, done } = recordingHandler();
      transport.send(getRequest('/', { method, body: method === 'GET' ? 'none' : 0 }), handler);
      const { error, events } = await done;
      assert.equal(error?.code, 'MEMBER_UNAVAILABLE');
      assert.deepEqual(events, ['sent', 'error']);
      assert.equal(second.connections.length, 0);
      transport.close('abort');
      await first.close();
      await second.close();
    }
  });

  it('does not ask elsewhere when the credential is refused: all endpoints are one cluster', async () => {
    const first = await startTestMember({
      tls: { ...certificate, ca: authority.ca, requestCert: true, rejectUnauthorized: true },
    });
    const second = await answering('second');
    const transport = cluster([first, second], { clientCertificate: { cert: 'x', key: 'y' } });
    const { error } = await get(transport);
    assert.equal(error?.code, 'MEMBER_CREDENTIAL');
    assert.match(error.message, /^the cluster's client certificate and key cannot be used$/);
    assert.equal(second.connections.length, 0);
    transport.close('abort');
    await first.close();
    await second.close();
  });

  it('fails once, with the fault of the first and the words of all, when no endpoint can be connected to', async () => {
    const dead = [await closedPort(), await closedPort()];
    const transport = cluster(dead);
    for (let i = 0; i < 3; i++) {
      const { error, events } = await get(transport);
      assert.deepEqual(events, ['error']);
      assert.equal(error?.code, 'MEMBER_REFUSED');
      for (const { port } of dead) assert.match(error.message, new RegExp(`refused by https://127.0.0.1:${port}`));
      assert.equal(error.details.cluster, 'm1');
    }
    transport.close('abort');
  });

  it('comes back to the first when the present one fails', async () => {
    const dead = await closedPort();
    const second = await answering('second');
    const transport = cluster([dead, second]);
    assert.equal((await get(transport)).body, 'second');
    const first = await reopen(dead, 'first');
    await second.close();
    assert.equal((await get(transport)).body, 'first');
    assert.equal((await get(transport)).body, 'first');
    transport.close('abort');
    await first.close();
  });

  it('looks for the first from time to time, beside the requests', async () => {
    const dead = await closedPort();
    const second = await answering('second');
    const transport = cluster([dead, second], { limits: { returnAfterMs: 0 } });
    assert.equal((await get(transport)).body, 'second');
    const first = await reopen(dead, 'first');
    assert.equal((await get(transport)).body, 'second', 'this request did not wait for the look');
    await first.connection(0);
    while ((await get(transport)).body !== 'first');
    assert.equal(first.connections[0]!.received().match(/GET/g)?.length, 1, 'on the connection of the look');
    transport.close('abort');
    await first.close();
    await second.close();
  });

  it('takes watches along', async () => {
    const dead = await closedPort();
    const second = await startHttp2Member(certificate, (stream) => {
      stream.respond({ ':status': 200 });
      stream.end('events');
    });
    const transport = cluster([dead, second]);
    const { handler, done } = recordingHandler();
    transport.send(getRequest('/watch', { longRunning: true }), handler);
    assert.equal((await done).body, 'events');
    assert.equal(transport.stats().http2Sessions, 1);
    transport.close('abort');
    await second.close();
  });

  it('takes upgrades along, and sends nothing of them elsewhere', async () => {
    const silent = await startTestMember({});
    const second = await startTestMember({
      tls: certificate,
      answer: (_head, socket) => socket.write('HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
    });
    const transport = cluster([silent, second], { timeoutMs: 100 });
    const { signal } = new AbortController();
    const answer = await transport.upgrade(getRequest('/'), 'websocket', recordingHandler().handler, signal);
    assert.ok(answer.kind === 'switched');
    assert.match(second.connections[0]!.received(), new RegExp(`Host: 127.0.0.1:${second.port}\r\n`));
    assert.equal(silent.connections[0]!.received().includes('websocket'), false);
    transport.close('abort');
    await silent.close();
    await second.close();
  });

  it('stops looking when the call is given up, and when the transport is closed', async () => {
    const silent = await startTestMember({});
    const second = await answering('second');
    const transport = cluster([silent, second], { timeoutMs: 100 });
    const call = transport.send(getRequest('/'), recordingHandler().handler);
    await silent.connection(0);
    call.abort();
    const { handler, done } = recordingHandler();
    const other = cluster([silent, second]);
    other.send(getRequest('/'), handler);
    await silent.connection(1);
    other.close('abort');
    assert.match((await done).error!.message, /closed its connections/);
    await silent.connections[0]!.closed;
    assert.equal(second.connections.length, 0);
    transport.close('abort');
    await silent.close();
    await second.close();
  });
});
