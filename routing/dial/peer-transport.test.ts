// Cases of cluster-gateway's own transport tests (docs/reference/cluster-gateway-cases.md): from a Secret to the
// connection it leads to. A field that is read and then not used when dialling would pass a test of the source alone,
// so these tests dial.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';
import { before, test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import type { ClusterSpec, Credential } from '../../model/records.ts';
import { makeClusterGatewaySource } from '../../cache/sources/objects/cluster-gateway.ts';
import { base64, compiled } from '../../cache/sources/objects/hub-objects.fixture.ts';
import { MemberDialer } from './connect.ts';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import type { TestAuthority, TestCertificate } from '../../test/pretend/certificates.ts';
import { memberOptions, startTestMember } from '../pools/member.fixture.ts';
import type { TestMember } from '../pools/member.fixture.ts';

const namespace = 'credentials';
const clusterProxy = { scheme: 'http', host: '127.0.0.1', port: 8090, userinfo: undefined } as const;
let authority: TestAuthority;
let certificate: TestCertificate;
let client: TestCertificate;

before(async () => {
  authority = await makeTestAuthority();
  certificate = await authority.issue(['localhost']);
  client = await authority.issue(['gateway']);
});

/** The cluster of a Secret with these texts. */
function specOf(
  type: string,
  data: Readonly<Record<string, string>>,
  more: { labels?: object; annotations?: object; allowExec?: readonly string[] } = {},
): ClusterSpec {
  const labels = { 'cluster.core.oam.dev/cluster-credential-type': type, ...more.labels };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'm1', namespace, uid: 'u', resourceVersion: '1', labels, annotations: more.annotations ?? {} },
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])),
  } as unknown as ApiObject;
  const { allowExec = [] } = more;
  const [spec] = compiled(
    makeClusterGatewaySource({ secretNamespace: namespace, clusterProxy, allowExec, allowExecEnv: [] }),
    [secret],
  );
  assert.equal(spec?.problem, undefined);
  return spec!;
}

interface Dialled {
  readonly serverName: string | false | null;
  readonly peer: string | undefined;
  readonly credential: Credential;
}

/** Dials the cluster that `make` gives for the member's port; resolves with what the member saw. */
async function dialled(make: (member: TestMember) => ClusterSpec, tls: TlsOptions = certificate): Promise<Dialled> {
  const seen = Promise.withResolvers<TLSSocket>();
  const member = await startTestMember({ tls, onConnection: (socket) => seen.resolve(socket as TLSSocket) });
  try {
    const spec = make(member);
    const credential = (await spec.credential?.current())!;
    const { endpoint, tls: trust, proxy } = spec;
    const { clientCertificate } = credential;
    const target = { endpoint: endpoint!, tls: trust, proxy, clientCertificate };
    const { socket } = await new MemberDialer(memberOptions(member, target, authority.ca)).dial(['http/1.1']);
    const { servername, ...peer } = await seen.promise.then((each) => ({
      servername: each.servername,
      name: each.getPeerCertificate().subjectaltname,
    }));
    socket.destroy();
    return { serverName: servername, peer: peer.name, credential };
  } finally {
    await member.close();
  }
}

const at = ({ port }: TestMember): string => `https://localhost:${port}`;

test('a token and host:port: the name without the port is asked for and verified by the CA, the token is what goes out (CG-35)', async () => {
  const seen = await dialled((member) =>
    specOf('ServiceAccountToken', { endpoint: at(member), 'ca.crt': authority.ca, token: 'test-token' }),
  );
  assert.equal(seen.serverName, 'localhost');
  assert.equal(seen.credential.authorization, 'Bearer test-token');
});

test('an X509 pair and host:port: the member is shown the certificate (CG-36)', async () => {
  const seen = await dialled(
    (member) =>
      specOf('X509Certificate', {
        endpoint: at(member),
        'ca.crt': authority.ca,
        'tls.crt': client.cert,
        'tls.key': client.key,
      }),
    { ...certificate, ca: authority.ca, requestCert: true, rejectUnauthorized: true },
  );
  assert.equal(seen.peer, 'DNS:gateway');
  assert.equal(seen.credential.authorization, undefined);
});

test('https without a port is port 443 (CG-37)', () => {
  const { endpoint } = specOf('ServiceAccountToken', {
    endpoint: 'https://foo.bar',
    'ca.crt': authority.ca,
    token: 't',
  });
  assert.deepEqual(endpoint, { scheme: 'https', host: 'foo.bar', port: 443, basePath: '' });
});

test('insecure only where the object says so: a Secret without a CA leaves verification on (CG-38)', async () => {
  const data = (member: TestMember): Readonly<Record<string, string>> => ({ endpoint: at(member), token: 't' });
  await assert.rejects(
    dialled((member) => specOf('ServiceAccountToken', data(member))),
    (error: { code?: string }) => error.code === 'MEMBER_TLS',
  );
  const annotations = { 'gateway.portcullis.io/insecure-skip-tls-verify': 'true' };
  await dialled((member) => specOf('ServiceAccountToken', data(member), { annotations }));
});

test('cluster-proxy: the proxy server is asked for the cluster by its name, and what is behind it is verified (CG-39)', () => {
  const labels = { 'cluster.core.oam.dev/cluster-endpoint-type': 'ClusterProxy' };
  const spec = specOf('ServiceAccountToken', { 'ca.crt': authority.ca, token: 't' }, { labels });
  assert.equal(spec.endpoint?.host, 'm1');
  assert.deepEqual(spec.proxy, clusterProxy);
  assert.equal(spec.tls.insecure, false);
  assert.equal(spec.tls.ca?.trim(), authority.ca.trim());
});

test('a socks5 proxy-url is the way to the member (CG-40)', async () => {
  const asked: Buffer[] = [];
  const socks = (socket: Socket, port: number): void => {
    socket.on('data', (chunk: Buffer) => {
      asked.push(chunk);
      if (asked.length === 1) return void socket.write(Buffer.from([5, 0]));
      const onward = connect(port, '127.0.0.1');
      socket.removeAllListeners('data');
      socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]));
      socket.pipe(onward).pipe(socket);
      onward.on('error', () => socket.destroy());
    });
  };
  let port = 0;
  const proxy = await startTestMember({ onConnection: (socket) => socks(socket, port) });
  const seen = await dialled((member) => {
    port = member.port;
    const proxyUrl = `socks5://127.0.0.1:${proxy.port}`;
    return specOf('ServiceAccountToken', {
      endpoint: at(member),
      'ca.crt': authority.ca,
      token: 't',
      'proxy-url': proxyUrl,
    });
  });
  assert.equal(seen.serverName, 'localhost');
  // RFC 1928: version 5, connect, a name of 9 bytes.
  assert.equal(asked[1]!.subarray(0, 14).toString('latin1'), '\x05\x01\x00\x03\x09localhost');
  await proxy.close();
});

/** Dials with what a plugin says, to a member that looks at certificates. */
function dialledByPlugin(status: object): Promise<Dialled> {
  const apiVersion = 'client.authentication.k8s.io/v1beta1';
  const text = JSON.stringify({ apiVersion, kind: 'ExecCredential', status }).replaceAll(' ', String.raw`\u0020`);
  const exec = JSON.stringify({ apiVersion, command: 'echo', args: [text] });
  const allowed = { allowExec: [`echo ${text}`] };
  return dialled((member) => specOf('Dynamic', { endpoint: at(member), 'ca.crt': authority.ca, exec }, allowed), {
    ...certificate,
    ca: authority.ca,
    requestCert: true,
    rejectUnauthorized: false,
  });
}

test('a Dynamic Secret gives the token of its plugin, and no certificate (CG-41)', async () => {
  const seen = await dialledByPlugin({ token: 'fresh' });
  assert.equal(seen.credential.authorization, 'Bearer fresh');
  assert.equal(seen.peer, undefined);
});

test('a Dynamic Secret gives the certificate of its plugin, which the member is shown (CG-42)', async () => {
  const seen = await dialledByPlugin({ clientCertificateData: client.cert, clientKeyData: client.key });
  assert.equal(seen.credential.authorization, undefined);
  assert.equal(seen.peer, 'DNS:gateway');
});
