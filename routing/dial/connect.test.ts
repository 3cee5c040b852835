import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { TlsOptions, TLSSocket } from 'node:tls';
import { before, describe, it } from 'node:test';
import type { GatewayError } from '../../model/errors.ts';
import { MemberDialer } from './connect.ts';
import type { DialTarget } from './connect.ts';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestAuthority, TestCertificate } from '../../test/pretend/certificates.ts';
import { getRequest, memberOptions, recordingHandler, response, startTestMember } from '../pools/member.fixture.ts';
import { makeTransport } from '../pools/transport.ts';

let authority: TestAuthority;
let other: TestAuthority;
let certificate: TestCertificate;
let named: TestCertificate;

before(async () => {
  authority = await makeTestAuthority();
  other = await makeTestAuthority('another authority');
  certificate = await authority.issue(['ip:127.0.0.1']);
  named = await authority.issue(['kubernetes']);
});

/** Dials a TLS member once and closes everything. */
async function dialOnce(
  server: TlsOptions,
  change: Partial<DialTarget>,
): Promise<{ readonly protocol: string; readonly serverName: string | false | null }> {
  const seen = Promise.withResolvers<TLSSocket>();
  const member = await startTestMember({ tls: server, onConnection: (socket) => seen.resolve(socket as TLSSocket) });
  try {
    const dialer = new MemberDialer(memberOptions(member, change, authority.ca));
    const { socket, protocol } = await dialer.dial(['h2', 'http/1.1']);
    const serverName = (await seen.promise).servername;
    socket.destroy();
    return { protocol, serverName };
  } finally {
    await member.close();
  }
}

const trust = (change: Partial<DialTarget['tls']>): Partial<DialTarget> => ({
  tls: { ca: authority.ca, serverName: undefined, insecure: false, ...change },
});

function fault(code: string, status: number, message: RegExp) {
  return (error: GatewayError): boolean => {
    assert.equal(error.code, code);
    assert.equal(error.status, status);
    assert.match(error.message, message);
    assert.equal(error.details.cluster, 'm1');
    return true;
  };
}

describe('connect', () => {
  it('verifies the address and sends no SNI for an IP address', async () => {
    assert.deepEqual(await dialOnce(certificate, {}), { protocol: 'http/1.1', serverName: false });
  });

  it('verifies tls-server-name in place of the host, and sends it', async () => {
    assert.deepEqual(await dialOnce(named, trust({ serverName: 'kubernetes' })), {
      protocol: 'http/1.1',
      serverName: 'kubernetes',
    });
  });

  it('negotiates HTTP/2 where the member has it', async () => {
    assert.equal((await dialOnce({ ...certificate, ALPNProtocols: ['h2', 'http/1.1'] }, {})).protocol, 'h2');
  });

  it('refuses a certificate of another authority', async () => {
    const wrong = await other.issue(['ip:127.0.0.1']);
    await assert.rejects(
      dialOnce(wrong, {}),
      fault('MEMBER_TLS', 502, /not signed by the cluster's certificate authority/),
    );
  });

  it('refuses a private certificate when the cluster gives no authority: the system roots decide', async () => {
    await assert.rejects(
      dialOnce(certificate, trust({ ca: undefined })),
      fault('MEMBER_TLS', 502, /not signed by any system root; set certificate-authority/),
    );
  });

  it('refuses a certificate for another name', async () => {
    await assert.rejects(
      dialOnce(named, {}),
      fault('MEMBER_TLS', 502, /^the certificate of https:\/\/127.0.0.1:\d+ is not valid for "127.0.0.1"/),
    );
    await assert.rejects(
      dialOnce(certificate, trust({ serverName: 'kubernetes' })),
      fault('MEMBER_TLS', 502, /"kubernetes"/),
    );
  });

  it('refuses an expired certificate, and one that is not valid yet', async () => {
    const day = 86_400_000;
    const now = Date.now();
    const validity = (from: number, to: number) => ({
      notBefore: new Date(now + from * day),
      notAfter: new Date(now + to * day),
    });
    const expired = await authority.issue(['ip:127.0.0.1'], validity(-10, -5));
    await assert.rejects(dialOnce(expired, {}), fault('MEMBER_TLS', 502, /has expired$/));
    const early = await authority.issue(['ip:127.0.0.1'], validity(5, 10));
    await assert.rejects(dialOnce(early, {}), fault('MEMBER_TLS', 502, /is not valid yet$/));
  });

  it('verifies nothing only when the cluster says insecure', async () => {
    const wrong = await other.issue(['example.org']);
    assert.equal((await dialOnce(wrong, trust({ ca: undefined, insecure: true }))).protocol, 'http/1.1');
  });

  it('says when the authority of the cluster is no PEM', async () => {
    await assert.rejects(
      dialOnce(certificate, trust({ ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' })),
      fault('MEMBER_TLS', 502, /certificate authority of the cluster is not a PEM certificate$/),
    );
    await assert.rejects(
      dialOnce(certificate, trust({ ca: 'nonsense' })),
      fault('MEMBER_TLS', 502, /certificate authority of the cluster is not a PEM certificate$/),
    );
  });

  it('says when the client certificate cannot be used, without showing it', async () => {
    await assert.rejects(
      dialOnce(certificate, { clientCertificate: { cert: certificate.cert, key: 'secret-key' } }),
      (error: GatewayError) => {
        fault('MEMBER_CREDENTIAL', 502, /client certificate and key cannot be used/)(error);
        assert.ok(!error.message.includes('secret-key'));
        return true;
      },
    );
  });

  it('presents the client certificate', async () => {
    const seen = Promise.withResolvers<string>();
    const client = await authority.issue(['client']);
    const member = await startTestMember({
      tls: { ...certificate, ca: authority.ca, requestCert: true, rejectUnauthorized: true },
      onConnection: (socket) => seen.resolve((socket as TLSSocket).getPeerCertificate().subjectaltname ?? ''),
    });
    const { socket } = await new MemberDialer(memberOptions(member, { clientCertificate: client }, authority.ca)).dial([
      'http/1.1',
    ]);
    assert.equal(await seen.promise, 'DNS:client');
    socket.destroy();
    await member.close();
  });

  for (const [maxVersion, code, message] of [
    ['TLSv1.2', 'MEMBER_TLS', /failed \(alert handshake failure\)$/],
    // With TLS 1.3 the refusal comes after the handshake, as the answer to the request.
    ['TLSv1.3', 'MEMBER_CREDENTIAL', /refused the gateway's client certificate/],
  ] as const) {
    it(`says that the member wants a client certificate (${maxVersion})`, async () => {
      const member = await startTestMember({
        tls: { ...certificate, ca: authority.ca, requestCert: true, rejectUnauthorized: true, maxVersion },
      });
      const transport = makeTransport(memberOptions(member, {}, authority.ca));
      const { handler, done } = recordingHandler();
      transport.send(getRequest('/', { method: 'POST' }), handler);
      const { error } = await done;
      transport.close('abort');
      await member.close();
      assert.equal(error?.code, code);
      assert.match(error.message, message);
    });
  }

  it('says that the port is closed', async () => {
    const member = await startTestMember({});
    await member.close();
    await assert.rejects(
      new MemberDialer(memberOptions(member, {}, authority.ca)).dial(['http/1.1']),
      fault('MEMBER_REFUSED', 503, new RegExp(`^connection refused by https://127.0.0.1:${member.port}$`)),
    );
  });

  it('says that the name cannot be resolved', async () => {
    const endpoint = { scheme: 'https', host: 'no-such-host.invalid', port: 6443, basePath: '' } as const;
    await assert.rejects(
      new MemberDialer(memberOptions({ port: 0 }, { endpoint }, authority.ca)).dial(['http/1.1']),
      fault('MEMBER_UNAVAILABLE', 503, /host name of https:\/\/no-such-host.invalid:6443 cannot be resolved/),
    );
  });

  it('gives up at the deadline when the member does not finish the TLS handshake', async () => {
    const accepted = Promise.withResolvers<void>();
    const member = await startTestMember({ onConnection: () => accepted.resolve() });
    await assert.rejects(
      new MemberDialer(memberOptions(member, { timeoutMs: 50 }, authority.ca)).dial(['http/1.1']),
      fault('MEMBER_TIMEOUT', 504, /^no connection to https:\/\/127.0.0.1:\d+ within 0.05 s$/),
    );
    await accepted.promise;
    await member.connections[0]!.closed;
    await member.close();
  });

  it('says that the member does not speak TLS', async () => {
    const member = await startTestMember({
      onConnection: (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    });
    await assert.rejects(
      new MemberDialer(memberOptions(member, {}, authority.ca)).dial(['http/1.1']),
      fault('MEMBER_TLS', 502, /does not speak TLS$/),
    );
    await member.close();
  });

  it('says that the member closed the connection during the handshake', async () => {
    for (const close of ['destroy', 'end', 'resetAndDestroy'] as const) {
      const member = await startTestMember({ onConnection: (socket) => socket[close]() });
      await assert.rejects(
        new MemberDialer(memberOptions(member, {}, authority.ca)).dial(['http/1.1']),
        fault('MEMBER_UNAVAILABLE', 503, /^connection reset by https:/),
      );
      await member.close();
    }
  });

  it('resumes TLS sessions within one dialer, and in no other', async () => {
    const reused: boolean[] = [];
    const member = await startTestMember({
      tls: certificate,
      onConnection: (socket) => reused.push((socket as TLSSocket).isSessionReused()),
      answer: (_head, socket) => socket.end(response('ok', 'HTTP/1.1 200 OK\r\nConnection: close')),
    });
    for (const transport of [1, 2].map(() => makeTransport(memberOptions(member, {}, authority.ca)))) {
      for (let i = 0; i < 2; i++) {
        const { handler, done } = recordingHandler();
        transport.send(getRequest('/'), handler);
        assert.equal((await done).body, 'ok');
      }
      transport.close('abort');
    }
    await member.close();
    assert.deepEqual(reused, [false, true, false, true]);
  });

  it('stops when it is given up', async () => {
    const member = await startTestMember({});
    const giveUp = new AbortController();
    const dialed = new MemberDialer(memberOptions(member, {}, authority.ca)).dial(['http/1.1'], giveUp.signal);
    await member.connection(0);
    giveUp.abort();
    await assert.rejects(dialed, fault('MEMBER_UNAVAILABLE', 503, /connecting was cancelled/));
    await member.connections[0]!.closed;
    await member.close();
  });

  it('ignores the proxy settings of the environment', async () => {
    const seen: string[] = [];
    const proxy = createServer((socket) => {
      seen.push('proxy');
      socket.destroy();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const address = proxy.address() as { port: number };
    const saved = process.env['HTTPS_PROXY'];
    process.env['HTTPS_PROXY'] = `http://127.0.0.1:${address.port}`;
    try {
      await dialOnce(certificate, {});
    } finally {
      if (saved === undefined) delete process.env['HTTPS_PROXY'];
      else process.env['HTTPS_PROXY'] = saved;
      await new Promise((resolve) => proxy.close(resolve));
    }
    assert.deepEqual(seen, []);
  });
});
