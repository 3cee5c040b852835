import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { ProxyAddress } from '../../model/records.ts';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestAuthority, TestCertificate } from '../../test/pretend/certificates.ts';
import { startHttp2Member } from '../http2/http2-member.fixture.ts';
import { getRequest, memberOptions, recordingHandler, response, startTestMember } from '../pools/member.fixture.ts';
import type { Outcome, TestMember } from '../pools/member.fixture.ts';
import { makeTransport } from '../pools/transport.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

let authority: TestAuthority;
let proxyAuthority: TestAuthority;
let certificate: TestCertificate;
let proxyCertificate: TestCertificate;
let gateway: TestCertificate;
const folder = tempDir('proxy-connection');

before(async () => {
  authority = await makeTestAuthority();
  proxyAuthority = await makeTestAuthority('the tunnel');
  certificate = await authority.issue(['ip:127.0.0.1']);
  proxyCertificate = await proxyAuthority.issue(['proxy.internal']);
  gateway = await proxyAuthority.issue(['gateway']);
});

const established = 'HTTP/1.1 200 Connection Established\r\n\r\n';

/** Does what CONNECT asks for. */
function tunnel(head: string, socket: Socket): void {
  const onward = connect(Number(/^CONNECT \S+:(\d+) /.exec(head)![1]), '127.0.0.1');
  socket.removeAllListeners('data');
  socket.write(established);
  socket.pipe(onward).pipe(socket);
  socket.on('close', () => onward.destroy());
  onward.on('close', () => socket.destroy()).on('error', () => socket.destroy());
}

/** A proxy that wants a certificate of its own authority. */
const strictProxy = (maxVersion: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3'): Promise<TestMember> =>
  startTestMember({
    tls: { ...proxyCertificate, ca: proxyAuthority.ca, requestCert: true, rejectUnauthorized: true, maxVersion },
    answer: tunnel,
  });

function strictAddress({ port }: TestMember, tls: Partial<NonNullable<ProxyAddress['tls']>> = {}): ProxyAddress {
  return {
    scheme: 'https',
    host: '127.0.0.1',
    port,
    userinfo: undefined,
    tls: { ca: proxyAuthority.ca, ...gateway, serverName: 'proxy.internal', ...tls },
  };
}

/** One GET to a TLS member through this proxy. */
async function get(proxy: ProxyAddress, member: TestMember): Promise<Outcome> {
  const transport = makeTransport(memberOptions(member, { proxy }, authority.ca));
  const { handler, done } = recordingHandler();
  transport.send(getRequest('/'), handler);
  const outcome = await done;
  transport.close('abort');
  return outcome;
}

const startMember = (): Promise<TestMember> =>
  startTestMember({ tls: certificate, answer: (_head, socket) => socket.write(response('from the member')) });

describe('proxy connection', () => {
  it('asks over a Unix socket, and keeps the connection for the next request', async () => {
    const path = join(folder, 'server.sock');
    const proxy = await startTestMember({ path, answer: tunnel });
    const member = await startMember();
    const address: ProxyAddress = { scheme: 'unix', host: '', port: 0, userinfo: undefined, socketPath: path };
    const transport = makeTransport(memberOptions(member, { proxy: address }, authority.ca));
    for (const reused of [false, true]) {
      const { handler, done } = recordingHandler();
      transport.send(getRequest('/'), handler);
      const outcome = await done;
      assert.deepEqual([outcome.body, outcome.reused], ['from the member', [reused]]);
    }
    const target = `127.0.0.1:${member.port}`;
    assert.equal(proxy.connections.length, 1);
    assert.ok(proxy.connections[0]!.received().startsWith(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`));
    transport.close('abort');
    await proxy.close();
    await member.close();
  });

  it('says when nobody listens on the Unix socket, and when its path is relative', async () => {
    const member = await startMember();
    for (const [socketPath, message] of [
      [join(folder, 'nobody.sock'), /^proxy unix:\S+nobody.sock of the cluster cannot be used \(ENOENT\)$/],
      ['relative.sock', /the path of its socket is not absolute$/],
    ] as const) {
      const { error } = await get({ scheme: 'unix', host: '', port: 0, userinfo: undefined, socketPath }, member);
      assert.equal(error?.code, 'MEMBER_PROXY');
      assert.match(error.message, message);
    }
    assert.equal(member.connections.length, 0);
    await member.close();
  });

  it('proves itself to a proxy with a certificate, and shows it to nobody else', async () => {
    const proxy = await strictProxy();
    const shown: string[] = [];
    const member = await startTestMember({
      tls: { ...certificate, requestCert: true, rejectUnauthorized: false },
      onConnection: (socket) =>
        shown.push((socket as never as { getPeerX509Certificate(): string }).getPeerX509Certificate()),
      answer: (_head, socket) => socket.write(response('from the member')),
    });
    assert.equal((await get(strictAddress(proxy), member)).body, 'from the member');
    assert.deepEqual(shown, [undefined]);
    await proxy.close();
    await member.close();
  });

  it('says that the proxy wants a certificate, and gives no connection with a stranger’s', async () => {
    const member = await startMember();
    const none = await strictProxy();
    const { ca, serverName } = strictAddress(none).tls!;
    const { error } = await get({ ...strictAddress(none), tls: { ca: ca!, serverName: serverName! } }, member);
    assert.equal(error?.code, 'MEMBER_PROXY');
    assert.match(error.message, /^proxy https:\/\/\S+ refused the gateway's client certificate \(/);
    const strangers = await strictProxy();
    const certificateOfOther = await (await makeTestAuthority('stranger')).issue(['gateway']);
    assert.equal((await get(strictAddress(strangers, certificateOfOther), member)).error?.code, 'MEMBER_PROXY');
    assert.equal(member.connections.length, 0);
    for (const one of [none, strangers, member]) await one.close();
  });

  it('trusts the authority of the proxy alone when there is one', async () => {
    const member = await startMember();
    const impostor = await startTestMember({ tls: await authority.issue(['proxy.internal']), answer: tunnel });
    const { error } = await get(strictAddress(impostor), member);
    assert.match(error!.message, /UNABLE_TO_VERIFY_LEAF_SIGNATURE/);
    const otherName = await startTestMember({ tls: await proxyAuthority.issue(['other.internal']), answer: tunnel });
    assert.match((await get(strictAddress(otherName), member)).error!.message, /ERR_TLS_CERT_ALTNAME_INVALID/);
    assert.equal(member.connections.length, 0);
    for (const one of [impostor, otherName, member]) await one.close();
  });

  it('says which part of the set-up cannot be used, without showing it', async () => {
    const member = await startMember();
    const proxy = await strictProxy();
    for (const [tls, message] of [
      [{ ca: 'nonsense' }, /the certificate authority configured for it is not a PEM certificate$/],
      [{ key: 'secret-key' }, /the client certificate and key configured for it cannot be used$/],
    ] as const) {
      const { error } = await get(strictAddress(proxy, tls), member);
      assert.equal(error?.code, 'MEMBER_PROXY');
      assert.match(error.message, message);
    }
    await proxy.close();
    await member.close();
  });

  it('carries HTTP/2 sessions and upgrades through the same kind of tunnel', async () => {
    const proxy = await strictProxy();
    const watched = await startHttp2Member(certificate, (stream) => {
      stream.respond({ ':status': 200 });
      stream.end('events');
    });
    const change = { proxy: strictAddress(proxy) };
    const transport = makeTransport(memberOptions(watched, change, authority.ca));
    const { handler, done } = recordingHandler();
    transport.send(getRequest('/', { longRunning: true }), handler);
    assert.equal((await done).body, 'events');
    assert.equal(transport.stats().http2Sessions, 1);
    transport.close('abort');
    await watched.close();

    const upgrading = await startTestMember({
      tls: certificate,
      answer: (_head, socket) => socket.write('HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
    });
    const other = makeTransport(memberOptions(upgrading, change, authority.ca));
    const { signal } = new AbortController();
    const answer = await other.upgrade(getRequest('/'), 'websocket', recordingHandler().handler, signal);
    assert.ok(answer.kind === 'switched');
    answer.socket.write('through');
    await upgrading.connections[0]!.waitFor(/through$/);
    other.close('abort');
    await upgrading.close();
    await proxy.close();
  });
});

describe('headers of a proxy', () => {
  const plain = (proxy: TestMember, change: Partial<ProxyAddress>): ProxyAddress => ({
    scheme: 'http',
    host: '127.0.0.1',
    port: proxy.port,
    userinfo: undefined,
    ...change,
  });

  it('go with CONNECT only; the user of the URL goes before the header', async () => {
    const proxy = await startTestMember({ answer: tunnel });
    const member = await startMember();
    const headers = [
      ['X-Tenant', 'a'],
      ['proxy-authorization', 'Basic other'],
    ] as const;
    await get(plain(proxy, { headers, userinfo: { username: 'u', password: 'p' } }), member);
    const target = `127.0.0.1:${member.port}`;
    assert.equal(
      proxy.connections[0]!.received().split('\r\n\r\n')[0],
      `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nX-Tenant: a\r\nProxy-Authorization: Basic dTpw`,
    );
    assert.ok(!member.connections[0]!.received().includes('Tenant'));
    await proxy.close();
    await member.close();
  });

  it('cannot change where the tunnel goes or where its head ends', async () => {
    const proxy = await startTestMember({ answer: tunnel });
    const member = await startMember();
    for (const header of [
      ['Host', 'elsewhere:443'],
      ['X', 'a\r\nHost: elsewhere'],
      ['X: y\r\nZ', 'a'],
      ['Content-Length', '5'],
      ['X', '\u010a'],
    ] as const) {
      const { error } = await get(plain(proxy, { headers: [header] }), member);
      assert.match(error!.message, /a header configured for it is not allowed$/);
    }
    assert.deepEqual(new Set(proxy.connections.map(({ received }) => received())), new Set(['']));
    await proxy.close();
    await member.close();
  });

  it('shows the proxy’s reason as konnectivity words it, but nothing of what we sent', async () => {
    const member = await startMember();
    const type = 'Content-Type: text/plain; charset=utf-8';
    for (const [answer, message] of [
      [
        `HTTP/1.1 500 Internal Server Error\r\n${type}\r\n\r\ncurrently no tunnels available: No agent available`,
        /it answered CONNECT with 500: currently no tunnels available: No agent available$/,
      ],
      [
        // Its own status line for a dial that failed at the agent.
        `HTTP/0.1 502 Bad Gateway\r\nConnection: close\r\n${type}\r\n\r\ndial tcp 10.0.0.1:6443:\n\x1bconnect: refused\n`,
        /with 502: dial tcp 10.0.0.1:6443: connect: refused$/,
      ],
      [`HTTP/1.1 407 No\r\n${type}\r\n\r\nwrong: Basic c2VjcmV0`, /with 407$/],
      [`HTTP/0.1 200 OK\r\n\r\n`, /does not begin with HTTP/],
      ['HTTP/1.1 403 No\r\nContent-Type: text/html\r\n\r\n<html>', /with 403$/],
    ] as const) {
      const [head, body] = answer.split(/(?<=\r\n\r\n)/);
      const proxy = await startTestMember({
        answer(_head, socket) {
          socket.write(head!);
          setImmediate(() => socket.end(body ?? ''));
        },
      });
      const headers = [['Proxy-Authorization', 'Basic c2VjcmV0']] as const;
      const { error } = await get(plain(proxy, { headers }), member);
      assert.equal(error?.code, 'MEMBER_PROXY');
      assert.match(error.message, message);
      await proxy.close();
    }
    const mute = await startTestMember({ answer: (_head, socket) => socket.write('HTTP/1.1 403 No\r\n\r\n') });
    assert.match(
      (await get(plain(mute, {}), member)).error!.message,
      /with 403$/,
      'a proxy that neither says why nor closes',
    );
    assert.equal(member.connections.length, 0);
    for (const one of [mute, member]) await one.close();
  });
});
