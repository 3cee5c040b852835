// With anonymous requests let in, a credential that is no good is still 401 and never nobody. "no authenticator knows
// this caller" is not "this caller sent nothing" (CVE-2022-29165 took the one for the other).
import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { after, afterEach, before, test } from 'node:test';
import { authority, makeCertificate } from '../../auth/x509/certificates.fixture.ts';
import type { TestCertificate } from '../../auth/x509/certificates.fixture.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { startPretendHub } from '../site/hub.ts';
import type { PretendHub } from '../site/hub.ts';
import { answerEcho } from '../site/member.ts';
import { exchange, requestBytes, upgradeLines } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';
import type { Shown } from '../site/tls-sessions.ts';
import { clientCertificate } from '../site/client-certificate.ts';

const dayMs = 24 * 60 * 60 * 1000;
const pods = '/clusters/m1/proxy/api/v1/namespaces/a/pods';
const exec = `${pods}/b/exec?command=sh`;
const subprotocol = `base64url.bearer.authorization.k8s.io.${Buffer.from('unknown').toString('base64url')}`;
let root: TestCertificate;
let hub: PretendHub;
let site: Site;
let session: ClientHttp2Session;

before(async () => {
  const valid = { validFromMs: Date.now() - dayMs, validToMs: Date.now() + dayMs, extensions: authority() };
  root = await makeCertificate({ subject: [{ CN: ['users'] }], ...valid });
  hub = await startPretendHub({});
  site = await startSite({
    users: [{ token: 'bob-token', name: 'bob' }],
    clientCa: root.pem,
    config: { hubKubeconfig: hub.kubeconfig, sources: 'kubeconfig', anonymousAuth: true },
  });
  site.members[0]!.answer = (request) =>
    request.values('upgrade').length > 0 ? request.reply(403) : answerEcho(request);
  session = await openHttp2(site);
});
after(() => {
  session.destroy();
  site.close();
  hub.close();
});
afterEach(() => {
  site.members[0]!.requests.splice(0);
  hub.tokens = () => ({ authenticated: false });
});

/** Statuses of HTTP/1.1, HTTP/2, WebSocket and SPDY. */
async function everyTransport(authorization: string | undefined, shown?: Shown): Promise<readonly number[]> {
  const lines = authorization === undefined ? [] : [`Authorization: ${authorization}`];
  const flat = authorization === undefined ? [] : ['authorization', authorization];
  const over = shown === undefined ? session : await openHttp2(site, shown);
  const answers = [
    await exchange(site, requestBytes(`GET ${pods}`, lines), shown),
    await http2Exchange(over, http2Headers('GET', pods, flat)),
    await exchange(site, requestBytes(`GET ${exec}`, [...lines, ...upgradeLines('websocket')]), shown),
    await exchange(site, requestBytes(`POST ${exec}`, [...lines, ...upgradeLines('SPDY/3.1')]), shown),
  ];
  if (over !== session) over.destroy();
  return answers.map(({ status }) => status);
}

test('who sends nothing is anonymous, and the member is told so (ATT-23)', async () => {
  assert.deepEqual(await everyTransport(undefined), [200, 200, 403, 403]);
  const { requests } = site.members[0]!;
  assert.equal(requests.length, 4);
  for (const { values } of requests) {
    assert.deepEqual(values('impersonate-user'), ['system:anonymous']);
    // The member gives anonymous its group by itself; system:authenticated would be a lie.
    assert.deepEqual(values('impersonate-group'), []);
  }
});

test('a token that is unknown, refused or malformed is 401 and never anonymous, over every transport, 0 upstream (ATT-23)', async () => {
  for (const authorization of [
    'Bearer unknown',
    'bearer unknown',
    'Bearer a.b.c',
    'Bearer eyJhbGciOiJub25lIn0.e30.',
    'Basic Ym9iOng=',
    'Negotiate x',
    'x',
  ]) {
    assert.deepEqual(await everyTransport(authorization), [401, 401, 401, 401], authorization);
  }
  hub.tokens = () => ({ authenticated: false, user: { username: 'admin' }, error: 'expired' });
  assert.deepEqual(await everyTransport('Bearer another'), [401, 401, 401, 401]);
  assert.equal(site.upstream(), 0);
});

test('a hub that cannot be asked about a token makes nobody of its holder (ATT-23)', async () => {
  hub.down();
  try {
    assert.deepEqual(await everyTransport('Bearer not-asked-yet'), [503, 503, 503, 503]);
  } finally {
    hub.up();
  }
  assert.equal(site.upstream(), 0);
});

test('a token among the WebSocket subprotocols that is no good is 401, 0 upstream (ATT-23, ATT-38)', async () => {
  const lines = upgradeLines('websocket').filter((line) => !line.startsWith('Sec-WebSocket-Protocol'));
  for (const value of [
    `${subprotocol}, v5.channel.k8s.io`,
    subprotocol,
    `${subprotocol}, ${subprotocol}, v5.channel.k8s.io`,
  ]) {
    const answer = await exchange(site, requestBytes(`GET ${exec}`, [...lines, `Sec-WebSocket-Protocol: ${value}`]));
    assert.equal(answer.status, 401, value);
  }
  assert.equal(site.upstream(), 0);
});

test('a client certificate that has expired is 401 and never anonymous, 0 upstream (ATT-23)', async () => {
  const expired = await clientCertificate('alice', root, { validToMs: Date.now() - 1000 });
  assert.deepEqual(await everyTransport(undefined, expired), [401, 401, 401, 401]);
  assert.equal(site.upstream(), 0);
});

test('impersonation headers make nobody somebody (ATT-23)', async () => {
  hub.access = ({ resourceAttributes }) => ({ allowed: resourceAttributes?.['verb'] !== 'impersonate' });
  const answer = await exchange(site, requestBytes(`GET ${pods}`, ['Impersonate-User: admin']));
  assert.equal(answer.status, 403);
  assert.equal(site.upstream(), 0);
  hub.access = () => ({ allowed: true });
});
