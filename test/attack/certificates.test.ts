// Client certificates are judged on every request, whatever the handshake said: expiry and removal of the CA end a
// connection that is open and a session that is resumed.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { authority, makeCertificate, usedFor } from '../../auth/x509/certificates.fixture.ts';
import type { TestCertificate, TestCertificateOptions } from '../../auth/x509/certificates.fixture.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import type { RawClient } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Site } from '../site/site.ts';
import { resumed, ticket, tlsVersions } from '../site/tls-sessions.ts';
import type { Shown, Ticket } from '../site/tls-sessions.ts';
import { clientCertificate } from '../site/client-certificate.ts';

const pods = '/clusters/m1/proxy/api/v1/pods';
const dayMs = 24 * 60 * 60 * 1000;
let root: TestCertificate;
let other: TestCertificate;
let site: Site;

before(async () => {
  const valid = { validFromMs: Date.now() - dayMs, validToMs: Date.now() + dayMs, extensions: authority() };
  root = await makeCertificate({ subject: [{ CN: ['users'] }], ...valid });
  other = await makeCertificate({ subject: [{ CN: ['others'] }], ...valid });
  site = await startSite({ users: [{ token: 'bob-token', name: 'bob' }], clientCa: root.pem });
});
after(() => site.close());
afterEach(() => void site.members[0]!.requests.splice(0));

/** A client certificate, valid for a day and signed by the trusted root unless told otherwise. */
function issue({
  name = 'alice',
  ...change
}: Partial<TestCertificateOptions> & { readonly name?: string } = {}): Promise<Shown> {
  return clientCertificate(name, root, { subject: [{ CN: [name] }, { O: ['dev'] }], ...change });
}

const get = requestBytes(`GET ${pods}`);

test('a user certificate named like a front proxy is that user, whatever X-Remote-User says (ATT-05)', async () => {
  const shown = await issue({ name: 'front-proxy-client' });
  const lines = ['X-Remote-User: admin', 'X-Remote-Group: system:masters', 'X-Remote-Extra-Scopes: all'];
  assert.equal((await exchange(site, requestBytes(`GET ${pods}`, lines), shown)).status, 200);
  const session = await openHttp2(site, shown);
  const headers = lines.flatMap((line) => line.toLowerCase().split(': '));
  assert.equal((await http2Exchange(session, http2Headers('GET', pods, headers))).status, 200);
  session.destroy();
  assert.equal(site.upstream(), 2);
  for (const request of site.members[0]!.requests) {
    assert.deepEqual(request.values('impersonate-user'), ['front-proxy-client']);
    assert.deepEqual(request.values('impersonate-group'), ['dev']);
    assert.doesNotMatch(request.head, /admin|masters|remote|scopes/i);
  }
});

test('a name of a certificate that is not ASCII arrives as its UTF-8 bytes (ATT-17)', async () => {
  const shown = await issue({ subject: [{ CN: ['jürgen 日本'] }, { O: ['größe'] }, { O: ['a,b'] }] });
  assert.equal((await exchange(site, get, shown)).status, 200);
  const [request] = site.members[0]!.requests;
  const wire = (text: string): string => Buffer.from(text).toString('latin1');
  assert.deepEqual(request!.values('impersonate-user'), [wire('jürgen 日本')]);
  assert.deepEqual(request!.values('impersonate-group'), [wire('größe'), 'a,b']);
});

for (const [name, change] of Object.entries({
  'without a name': { subject: [{ O: ['system:masters'] }] },
  'with an empty name': { subject: [{ CN: [''] }, { O: ['system:masters'] }] },
  'with a name of blanks': { subject: [{ CN: [' '] }] },
  'with a blank before its name': { subject: [{ CN: [' admin'] }] },
  'with a line break in its name': { subject: [{ CN: ['a\r\nImpersonate-Group: system:masters'] }] },
  'with NUL in its name': { subject: [{ CN: ['alice\u0000.evil'] }] },
  'with a line break in a group': { subject: [{ CN: ['alice'] }, { O: ['a\nb'] }] },
  'with a name of the gateway’s own': { subject: [{ CN: ['portcullis:probe'] }] },
  'for servers': { extensions: [usedFor('1.3.6.1.5.5.7.3.1')] },
  'that has expired': { validToMs: Date.now() - 1000 },
  'that is not valid yet': { validFromMs: Date.now() + dayMs / 2 },
} as Record<string, Partial<TestCertificateOptions>>)) {
  test(`a certificate ${name} logs nobody in, and nothing goes upstream (ATT-01, ATT-15)`, async () => {
    const answer = await exchange(site, get, await issue(change));
    assert.ok(answer.status === 401 || answer.status === 403, `answered ${answer.status}`);
    assert.equal(site.upstream(), 0);
  });
}

test('a certificate of another CA, or self-signed, logs nobody in; a token beside it does (ATT-06)', async () => {
  for (const issuer of [other, undefined]) {
    const shown = await issue(issuer === undefined ? { issuer: undefined as never } : { issuer });
    assert.equal((await exchange(site, get, shown)).status, 401);
    assert.equal(site.upstream(), 0);
    const withToken = requestBytes(`GET ${pods}`, ['Authorization: Bearer bob-token']);
    assert.equal((await exchange(site, withToken, shown)).status, 200);
    assert.deepEqual(site.members[0]!.requests.splice(0)[0]!.values('impersonate-user'), ['bob']);
  }
});

test('a session that is resumed after its certificate expired is 401, and so is an open connection (ATT-06)', async () => {
  // Certificates count whole seconds; the third from now is far enough for the handshakes below.
  const validToMs = (Math.floor(Date.now() / 1000) + 3) * 1000;
  const shown = await issue({ validToMs });
  const overHttp2 = await openHttp2(site, shown);
  assert.equal((await http2Exchange(overHttp2, http2Headers('GET', pods))).status, 200);
  const open: RawClient[] = [];
  const tickets: Ticket[] = [];
  for (const version of tlsVersions) {
    const client = await openRaw(site, { ...shown, maxVersion: version });
    client.send(get);
    assert.equal((await client.answer()).status, 200);
    open.push(client);
    const session = await ticket(site, shown, version, get);
    assert.equal((await resumed(site, session, shown, get))?.status, 200, `${version} can be resumed`);
    tickets.push(session);
  }
  await waitFor(() => Date.now() > validToMs + 50);
  site.members[0]!.requests.splice(0);
  assert.equal((await http2Exchange(overHttp2, http2Headers('GET', pods))).status, 401);
  overHttp2.destroy();
  for (const client of open) {
    client.send(get);
    assert.equal((await client.answer()).status, 401);
    client.close();
  }
  const exec = requestBytes('GET /clusters/m1/proxy/api/v1/namespaces/a/pods/b/exec', upgradeLines('websocket'));
  for (const session of tickets) {
    for (const bytes of [get, exec]) {
      const answer = await resumed(site, session, shown, bytes);
      assert.ok(answer === null || answer.status === 401, `answered ${answer?.status}`);
    }
  }
  assert.equal(site.upstream(), 0);
});

test('once the CA is taken away, open connections and resumed sessions are 401 over both protocols (ATT-06)', async () => {
  const shown = await issue();
  const open = await openRaw(site, shown);
  open.send(get);
  assert.equal((await open.answer()).status, 200);
  const overHttp2 = await openHttp2(site, shown);
  assert.equal((await http2Exchange(overHttp2, http2Headers('GET', pods))).status, 200);
  const tickets = [await ticket(site, shown, 'TLSv1.2', get), await ticket(site, shown, 'TLSv1.3', get)];
  site.replace(site.files.clientCa, other.pem);
  await waitFor(async () => (await exchange(site, get, shown)).status === 401);
  site.members[0]!.requests.splice(0);
  open.send(get);
  assert.equal((await open.answer()).status, 401);
  assert.equal((await http2Exchange(overHttp2, http2Headers('GET', pods))).status, 401);
  for (const session of tickets) {
    const answer = await resumed(site, session, shown, get);
    assert.ok(answer === null || answer.status === 401, `answered ${answer?.status}`);
  }
  assert.equal(site.upstream(), 0);
  assert.equal((await exchange(site, get, await issue({ issuer: other }))).status, 200);
  open.close();
  overHttp2.destroy();
});
