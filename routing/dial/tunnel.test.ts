import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { before, describe, it } from 'node:test';
import type { ProxyAddress } from '../../model/records.ts';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestAuthority, TestCertificate } from '../../test/pretend/certificates.ts';
import { getRequest, memberOptions, recordingHandler, response, startTestMember } from '../pools/member.fixture.ts';
import type { Outcome, TestMember } from '../pools/member.fixture.ts';
import { makeTransport } from '../pools/transport.ts';
import type { TransportOptions } from '../pools/transport.ts';
import { openTunnel } from './tunnel.ts';

let authority: TestAuthority;
let certificate: TestCertificate;

before(async () => {
  authority = await makeTestAuthority();
  certificate = await authority.issue(['ip:127.0.0.1', 'm1.internal']);
});

const address = (
  scheme: ProxyAddress['scheme'],
  proxy: TestMember,
  userinfo?: ProxyAddress['userinfo'],
): ProxyAddress => ({
  scheme,
  host: '127.0.0.1',
  port: proxy.port,
  userinfo,
});

/** Joins the socket of a proxy with a new connection to the member. */
function join(socket: Socket, port: number): void {
  const onward = connect(port, '127.0.0.1');
  socket.removeAllListeners('data');
  socket.pipe(onward).pipe(socket);
  socket.on('close', () => onward.destroy());
  onward.on('close', () => socket.destroy()).on('error', () => socket.destroy());
}

/** A SOCKS5 proxy that does what RFC 1928 says; records what it was asked. */
function socksProxy(port: number, asked: Buffer[], reply = 0): (socket: Socket) => void {
  return (socket) => {
    socket.on('data', (chunk: Buffer) => {
      asked.push(Buffer.from(chunk));
      if (chunk[0] === 5 && chunk.length === 3) socket.write(Buffer.from([5, chunk[2]!]));
      else if (chunk[0] === 1) socket.write(Buffer.from([1, chunk.includes('wrong') ? 1 : 0]));
      else {
        const answer = Buffer.from([5, reply, 0, 3, 4, 0x68, 0x6f, 0x73, 0x74, 0, 0]);
        // In two pieces, so that the reader has to wait for the second.
        socket.write(answer.subarray(0, 4));
        setImmediate(() => {
          socket.write(answer.subarray(4));
          if (reply === 0) join(socket, port);
        });
      }
    });
  };
}

/** Sends one GET to a TLS member through a proxy and closes everything. */
async function through(
  proxy: (memberPort: number) => Promise<{ readonly proxy: TestMember; readonly address: ProxyAddress }>,
  change: Partial<TransportOptions> = {},
): Promise<{ readonly outcome: Outcome; readonly proxy: TestMember; readonly member: TestMember }> {
  const member = await startTestMember({
    tls: certificate,
    answer: (_head, socket) => socket.write(response('from the member')),
  });
  const made = await proxy(member.port);
  const transport = makeTransport({ ...memberOptions(member, { proxy: made.address }, authority.ca), ...change });
  const { handler, done } = recordingHandler();
  transport.send(getRequest('/api', { headers: ['Host', 'm', 'Authorization', 'Bearer secret'] }), handler);
  const outcome = await done;
  transport.close('abort');
  await made.proxy.close();
  await member.close();
  return { outcome, proxy: made.proxy, member };
}

const connectProxy =
  (answer: string, userinfo?: ProxyAddress['userinfo']) =>
  async (port: number): Promise<{ readonly proxy: TestMember; readonly address: ProxyAddress }> => {
    const proxy = await startTestMember({
      answer(_head, socket) {
        socket.write(answer);
        if (answer.startsWith('HTTP/1.1 2')) join(socket, port);
      },
    });
    return { proxy, address: address('http', proxy, userinfo) };
  };

const established = 'HTTP/1.1 200 Connection established\r\nX-Proxy: y\r\n\r\n';

describe('tunnel', () => {
  it('asks an http proxy by CONNECT, with nothing of the request in it', async () => {
    const { outcome, proxy, member } = await through(connectProxy(established));
    assert.equal(outcome.body, 'from the member');
    const target = `127.0.0.1:${member.port}`;
    assert.equal(proxy.connections[0]!.received(), `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    assert.ok(!proxy.connections[0]!.received().includes('secret'));
  });

  it('authenticates to an http proxy', async () => {
    const { outcome, proxy } = await through(connectProxy(established, { username: 'jürgen', password: 'p:w' }));
    assert.equal(outcome.body, 'from the member');
    const basic = Buffer.from('jürgen:p:w', 'utf8').toString('base64');
    assert.ok(proxy.connections[0]!.received().endsWith(`\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`));
  });

  for (const [name, answer, message] of [
    ['refuses', 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n', /it answered CONNECT with 403$/],
    ['wants a password', 'HTTP/1.1 407 X\r\nProxy-Authenticate: Basic\r\n\r\n', /it answered CONNECT with 407$/],
    ['redirects', 'HTTP/1.1 302 X\r\nLocation: http://evil/\r\n\r\n', /it answered CONNECT with 302$/],
    ['talks nonsense', 'garbage\r\n\r\n', /does not begin with HTTP/],
  ] as const) {
    it(`says so when an http proxy ${name}, and does not go direct`, async () => {
      const { outcome, member } = await through(connectProxy(answer));
      assert.equal(outcome.error?.code, 'MEMBER_PROXY');
      assert.equal(outcome.error.status, 502);
      assert.match(outcome.error.message, message);
      assert.match(
        outcome.error.message,
        /^proxy http:\/\/127.0.0.1:\d+ gave no connection to https:\/\/127.0.0.1:\d+: /,
      );
      assert.equal(member.connections.length, 0);
    });
  }

  it('fails when what follows a 200 is not the member', async () => {
    const { outcome, member } = await through(async () => {
      const proxy = await startTestMember({
        answer: (_head, socket) => socket.write(`${established}HTTP/1.1 200 OK\r\n\r\n`),
      });
      return { proxy, address: address('http', proxy) };
    });
    assert.equal(outcome.error?.code, 'MEMBER_TLS');
    assert.equal(member.connections.length, 0);
  });

  it('says so when the proxy refuses connections, and does not show its password', async () => {
    const { outcome, member } = await through(async () => {
      const proxy = await startTestMember({});
      await proxy.close();
      return { proxy, address: address('http', proxy, { username: 'u', password: 'hush' }) };
    });
    assert.equal(outcome.error?.code, 'MEMBER_PROXY');
    assert.match(outcome.error.message, /cannot be used \(ECONNREFUSED\)$/);
    assert.ok(!outcome.error.message.includes('hush'));
    assert.equal(member.connections.length, 0);
  });

  it('counts a silent proxy into the connect deadline', async () => {
    const { outcome } = await through(
      async () => {
        const proxy = await startTestMember({});
        return { proxy, address: address('http', proxy) };
      },
      { timeoutMs: 50 },
    );
    assert.equal(outcome.error?.code, 'MEMBER_TIMEOUT');
    assert.match(outcome.error.message, /through proxy http:\/\/127.0.0.1:\d+ within/);
  });

  it('keeps bytes that come right behind the answer to CONNECT, in whatever pieces', async () => {
    for (const cut of [0, 10, established.length, established.length + 2]) {
      const proxy = await startTestMember({
        answer(_head, socket) {
          const bytes = `${established}early`;
          socket.write(bytes.slice(0, cut));
          setImmediate(() => socket.end(bytes.slice(cut)));
        },
      });
      const socket = connect(proxy.port, '127.0.0.1');
      const endpoint = { scheme: 'http', host: 'm1', port: 80, basePath: '' } as const;
      let text = (await openTunnel(socket, address('http', proxy), endpoint)).toString();
      socket.on('data', (chunk: Buffer) => (text += chunk.toString())).resume();
      await new Promise((resolve) => socket.once('close', resolve));
      assert.equal(text, 'early');
      await proxy.close();
    }
  });

  it('speaks TLS to an https proxy, and TLS to the member inside', async () => {
    const { outcome, proxy } = await through(async (port) => {
      const made = await startTestMember({
        tls: certificate,
        answer(_head, socket) {
          socket.write(established);
          join(socket, port);
        },
      });
      return { proxy: made, address: address('https', made) };
    });
    assert.equal(outcome.body, 'from the member');
    assert.match(proxy.connections[0]!.received(), /^CONNECT /);
  });

  it('verifies the certificate of an https proxy', async () => {
    for (const [tls, message] of [
      [await (await makeTestAuthority('stranger')).issue(['ip:127.0.0.1']), /UNABLE_TO_VERIFY_LEAF_SIGNATURE/],
      [await authority.issue(['proxy.example.org']), /ERR_TLS_CERT_ALTNAME_INVALID/],
    ] as const) {
      const { outcome, member } = await through(async () => {
        const proxy = await startTestMember({ tls });
        return { proxy, address: address('https', proxy) };
      });
      assert.equal(outcome.error?.code, 'MEMBER_PROXY');
      assert.match(outcome.error.message, message);
      assert.equal(member.connections.length, 0);
    }
  });

  it('asks a socks5 proxy by address', async () => {
    const asked: Buffer[] = [];
    const { outcome, member } = await through(async (port) => {
      const proxy = await startTestMember({ onConnection: socksProxy(port, asked) });
      return { proxy, address: address('socks5', proxy) };
    });
    assert.equal(outcome.body, 'from the member');
    assert.deepEqual(asked[0], Buffer.from([5, 1, 0]));
    assert.deepEqual(asked[1], Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, member.port >> 8, member.port & 255]));
  });

  it('sends a host name to a socks5 proxy as a name, with user and password', async () => {
    const asked: Buffer[] = [];
    const { outcome } = await through(
      async (port) => {
        const proxy = await startTestMember({ onConnection: socksProxy(port, asked) });
        return { proxy, address: address('socks5', proxy, { username: 'me', password: 'pw' }) };
      },
      { endpoint: { scheme: 'https', host: 'm1.internal', port: 6443, basePath: '' } },
    );
    assert.equal(outcome.body, 'from the member');
    assert.deepEqual(asked[0], Buffer.from([5, 1, 2]));
    assert.deepEqual(asked[1], Buffer.from('\x01\x02me\x02pw', 'latin1'));
    assert.deepEqual(asked[2], Buffer.from('\x05\x01\0\x03\x0bm1.internal\x19\x2b', 'latin1'));
  });

  it('says so when a socks5 proxy refuses the password', async () => {
    const { outcome } = await through(async (port) => {
      const proxy = await startTestMember({ onConnection: socksProxy(port, []) });
      return { proxy, address: address('socks5', proxy, { username: 'me', password: 'wrong' }) };
    });
    assert.equal(outcome.error?.code, 'MEMBER_PROXY');
    assert.match(outcome.error.message, /refused the user name and password$/);
    assert.ok(!outcome.error.message.includes('wrong'));
  });

  it('does not go on without the authentication it was given', async () => {
    const { outcome } = await through(async () => {
      const proxy = await startTestMember({
        onConnection: (socket) => socket.on('data', () => socket.write('\x05\0')),
      });
      return { proxy, address: address('socks5', proxy, { username: 'me', password: 'pw' }) };
    });
    assert.equal(outcome.error?.code, 'MEMBER_PROXY');
    assert.match(outcome.error.message, /requires another authentication method$/);
  });

  for (const [reply, message] of [
    [2, /connection not allowed by ruleset$/],
    [5, /connection refused$/],
    [99, /SOCKS reply 99$/],
  ] as const) {
    it(`says why a socks5 proxy gives no connection (${reply})`, async () => {
      const { outcome, member } = await through(async (port) => {
        const proxy = await startTestMember({ onConnection: socksProxy(port, [], reply) });
        return { proxy, address: address('socks5', proxy) };
      });
      assert.equal(outcome.error?.code, 'MEMBER_PROXY');
      assert.match(outcome.error.message, message);
      assert.equal(member.connections.length, 0);
    });
  }

  it('upgrades through a proxy', async () => {
    const member = await startTestMember({
      tls: certificate,
      answer: (_head, socket) => socket.write('HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
    });
    const { proxy, address: proxyAddress } = await connectProxy(established)(member.port);
    const transport = makeTransport(memberOptions(member, { proxy: proxyAddress }, authority.ca));
    const answer = await transport.upgrade(
      getRequest('/'),
      'websocket',
      recordingHandler().handler,
      new AbortController().signal,
    );
    assert.ok(answer.kind === 'switched');
    answer.socket.write('through');
    await member.connections[0]!.waitFor(/through$/);
    transport.close('abort');
    await proxy.close();
    await member.close();
  });
});
