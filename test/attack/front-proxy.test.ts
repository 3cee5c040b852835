// A gateway behind a hub: whom a front proxy names is who the member sees, nobody else's headers say anything, and what
// a hub may not vouch for is refused on every path. The members record exact bytes.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { authority, makeCertificate, usedFor } from '../../auth/x509/certificates.fixture.ts';
import type { TestCertificate } from '../../auth/x509/certificates.fixture.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { startPretendHub } from '../site/hub.ts';
import type { PretendHub } from '../site/hub.ts';
import { answerEcho } from '../site/member.ts';
import type { MemberRequest } from '../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Site } from '../site/site.ts';
import { resumed, ticket, tlsVersions } from '../site/tls-sessions.ts';
import type { Shown } from '../site/tls-sessions.ts';
import { clientCertificate } from '../site/client-certificate.ts';

const dayMs = 24 * 60 * 60 * 1000;
const pods = '/clusters/m1/proxy/api/v1/pods';
const exec = '/clusters/m1/proxy/api/v1/namespaces/a/pods/b/exec?command=sh';
const get = (...headers: string[]): string => requestBytes(`GET ${pods}`, headers);
const wire = (text: string): string => Buffer.from(text).toString('latin1');
let proxies: TestCertificate;
let people: TestCertificate;
let published: Record<string, string>;
let hub: PretendHub;
let site: Site;
let proxy: Shown;

before(async () => {
  const valid = { validFromMs: Date.now() - dayMs, validToMs: Date.now() + dayMs, extensions: authority() };
  proxies = await makeCertificate({ subject: [{ CN: ['front-proxy-ca'] }], ...valid });
  people = await makeCertificate({ subject: [{ CN: ['hub-client-ca'] }], ...valid });
  published = {
    'client-ca-file': people.pem,
    'requestheader-client-ca-file': proxies.pem,
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User","X-Sso-User"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  };
  hub = await startPretendHub(published);
  site = await startSite({
    users: [{ token: 'bob-token', name: 'bob' }],
    config: { hubKubeconfig: hub.kubeconfig, sources: 'kubeconfig' },
  });
  // Upgrades are refused by the member: what matters here is what reached it.
  site.members[0]!.answer = (request) => {
    if (request.values('upgrade').length > 0) request.reply(403);
    else answerEcho(request);
  };
  proxy = await clientCertificate('front-proxy-client', proxies);
  await waitFor(async () => (await exchange(site, get('X-Remote-User: early'), proxy)).status === 200);
});
after(() => {
  site.close();
  hub.close();
});
beforeEach(() => {
  hub.tokens = () => ({ authenticated: false, error: 'unknown token' });
  hub.access = () => ({ allowed: true });
});
afterEach(() => void site.members[0]!.requests.splice(0));

/** Asks over HTTP/1.1, HTTP/2 and as an upgrade; what arrived at the member, and the statuses. */
async function everyWay(lines: readonly string[], shown: Shown | undefined) {
  const { requests } = site.members[0]!;
  requests.splice(0);
  const options = shown ?? {};
  const plain = await exchange(site, get(...lines), options);
  const session = await openHttp2(site, options);
  const flat = lines.flatMap((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
  });
  const second = await http2Exchange(session, http2Headers('GET', pods, flat));
  session.destroy();
  const upgrade = await exchange(site, requestBytes(`GET ${exec}`, [...upgradeLines('websocket'), ...lines]), options);
  return { statuses: [plain.status, second.status, upgrade.status], requests: [...requests] };
}

const leaked = /x-remote|x-sso|remote-user/i;
function identities(requests: readonly MemberRequest[]) {
  for (const request of requests) assert.doesNotMatch(request.head, leaked);
  return requests.map((request) => ({
    user: request.values('impersonate-user'),
    uid: request.values('impersonate-uid'),
    groups: request.values('impersonate-group'),
  }));
}

test('whom a front proxy names arrives byte for byte, on every transport (ATT-17, ATT-18)', async () => {
  const lines = [
    `X-Remote-User: ${wire('jürgen 日本')}`,
    'X-Remote-Uid: 42',
    'X-Remote-Group: a,system:b',
    `X-Remote-Group: ${wire('größe')}`,
    'X-Remote-Extra-Acme.com%2Fteam: x',
  ];
  const { statuses, requests } = await everyWay(lines, proxy);
  assert.deepEqual(statuses, [200, 200, 403]);
  assert.equal(requests.length, 3);
  for (const identity of identities(requests)) {
    assert.deepEqual(identity, { user: [wire('jürgen 日本')], uid: ['42'], groups: ['a,system:b', wire('größe')] });
  }
  for (const request of requests) assert.match(request.head, /impersonate-extra-acme\.com%2fteam: x/i);
});

test('headers of a caller without a front proxy’s certificate say nothing and go nowhere (ATT-04)', async () => {
  const claims = [
    'X-Remote-User: admin',
    'X-Remote-Group: system:masters',
    'X-Remote-Uid: 0',
    'X-Sso-User: admin',
    'X-Remote-Extra-A: b',
  ];
  const otherName = await clientCertificate('somebody', proxies);
  const serving = await clientCertificate('front-proxy-client', proxies, {
    extensions: [usedFor('1.3.6.1.5.5.7.3.1')],
  });
  const expired = await clientCertificate('front-proxy-client', proxies, { validToMs: Date.now() - 1000 });
  const selfSigned = await clientCertificate('front-proxy-client', undefined as never);
  for (const shown of [undefined, otherName, serving, expired, selfSigned]) {
    const alone = await everyWay(claims, shown);
    assert.deepEqual([alone.statuses, alone.requests.length], [[401, 401, 401], 0]);
    const withToken = await everyWay([...claims, 'Authorization: Bearer bob-token'], shown);
    assert.equal(withToken.requests.length, 3);
    for (const { user, groups, uid } of identities(withToken.requests))
      assert.deepEqual([user, groups, uid], [['bob'], [], []]);
  }
});

test('a certificate of the hub’s client authority is its holder, named like a front proxy or not (ATT-05)', async () => {
  for (const name of ['front-proxy-client', 'kate']) {
    const { requests } = await everyWay(
      ['X-Remote-User: admin', 'X-Sso-User: admin'],
      await clientCertificate(name, people),
    );
    assert.deepEqual(
      identities(requests).map(({ user }) => user),
      [[name], [name], [name]],
    );
  }
});

test('a front proxy that names nobody is nobody (ATT-05)', async () => {
  for (const lines of [[], ['X-Remote-Group: system:masters'], ['X-Remote-User:'], ['X_Remote_User: admin']]) {
    const { statuses, requests } = await everyWay(
      lines.map((line) => (line.includes(': ') ? line : `${line} `)),
      proxy,
    );
    assert.deepEqual([statuses, requests.length], [[401, 401, 401], 0], lines.join());
  }
});

test('the front proxy comes before a token beside it', async () => {
  const { requests } = await everyWay(['X-Remote-User: alice', 'Authorization: Bearer bob-token'], proxy);
  assert.deepEqual(
    identities(requests).map(({ user }) => user),
    [['alice'], ['alice'], ['alice']],
  );
});

test('custom header names of the hub are read and never reach a member', async () => {
  const { requests } = await everyWay(['X-Sso-User: sam'], proxy);
  assert.deepEqual(
    identities(requests).map(({ user }) => user),
    [['sam'], ['sam'], ['sam']],
  );
});

test('identities that no member may see are refused, and nothing goes upstream (ATT-15, ATT-16, ATT-19)', async () => {
  const refused: readonly (readonly string[])[] = [
    ['X-Remote-User: system:node:n1'],
    ['X-Remote-User: system:kube-controller-manager'],
    ['X-Remote-User: cluster:hub:system:serviceaccount:a:b'],
    ['X-Remote-User: portcullis:probe'],
    ['X-Remote-User: system:bootstrap:07401b', 'X-Remote-Group: system:bootstrappers'],
    ['X-Remote-User: alice', 'X-Remote-Group: system:nodes'],
    ['X-Remote-User: alice', 'X-Remote-Group: system:bootstrappers:kubeadm:default-node-token'],
    ['X-Remote-User: alice', 'X-Remote-Group: portcullis:x'],
    [`X-Remote-User: ${wire('a\u0085b')}`],
  ];
  for (const lines of refused) {
    const { statuses, requests } = await everyWay(lines, proxy);
    assert.deepEqual([statuses, requests.length], [[403, 403, 403], 0], lines.join());
  }
});

test('system:masters of the hub stays there, and its ServiceAccounts are somebody else in a member (ATT-19)', async () => {
  const kate = await everyWay(['X-Remote-User: kate', 'X-Remote-Group: system:masters', 'X-Remote-Group: ops'], proxy);
  assert.deepEqual(
    identities(kate.requests).map(({ groups }) => groups),
    [['ops'], ['ops'], ['ops']],
  );
  const account = await everyWay(
    ['X-Remote-User: system:serviceaccount:a:b', 'X-Remote-Group: system:serviceaccounts:a'],
    proxy,
  );
  for (const { user, groups } of identities(account.requests)) {
    assert.deepEqual(user, ['cluster:hub:system:serviceaccount:a:b']);
    assert.deepEqual(groups, ['cluster:hub:system:serviceaccounts:a']);
  }
});

test('groups that equal system:masters stay on the hub on every transport, and users with such names are refused (ATT-45)', async () => {
  const equals = ['kubeadm:cluster-admins', 'system:cluster-admins', 'system:admin'];
  const kate = await everyWay(
    ['X-Remote-User: kate', 'X-Remote-Group: ops', ...equals.map((group) => `X-Remote-Group: ${group}`)],
    proxy,
  );
  assert.deepEqual(
    identities(kate.requests).map(({ user, groups }) => [user, groups]),
    Array.from({ length: 3 }, () => [['kate'], ['ops']]),
  );
  for (const name of ['system:admin', 'system:cluster-admin', 'kubeadm:admin']) {
    const { statuses, requests } = await everyWay([`X-Remote-User: ${name}`], proxy);
    assert.deepEqual([statuses, requests.length], [[403, 403, 403], 0], name);
  }
  const as = ['X-Remote-User: boss', 'Impersonate-User: alice', 'Impersonate-Group: kubeadm:cluster-admins'];
  const { requests } = await everyWay([...as, 'Impersonate-Group: dev'], proxy);
  assert.deepEqual(
    identities(requests).map(({ groups }) => groups),
    [['dev'], ['dev'], ['dev']],
  );
  const { statuses } = await everyWay(['X-Remote-User: boss', 'Impersonate-User: system:admin'], proxy);
  assert.deepEqual(statuses, [403, 403, 403]);
});

test('--as is no way around it: whom a user of the hub may act as is the hub’s to vouch for, too (ATT-19)', async () => {
  const as = (user: string, ...more: string[]): Promise<RawAnswer> =>
    exchange(site, get('X-Remote-User: boss', `Impersonate-User: ${user}`, ...more), proxy);
  assert.equal((await as('system:node:n1')).status, 403);
  assert.equal((await as('alice', 'Impersonate-Group: system:nodes')).status, 403);
  assert.equal(site.upstream(), 0);
  assert.equal((await as('system:serviceaccount:a:b')).status, 200);
  assert.equal((await as('alice', 'Impersonate-Group: system:masters', 'Impersonate-Group: dev')).status, 200);
  const [account, alice] = identities(site.members[0]!.requests);
  assert.deepEqual(account!.user, ['cluster:hub:system:serviceaccount:a:b']);
  assert.deepEqual([alice!.user, alice!.groups], [['alice'], ['dev']]);
});

test('whom the hub does not let impersonate is refused, each part of the identity for itself (ATT-03)', async () => {
  hub.access = ({ resourceAttributes }) => ({ allowed: resourceAttributes?.['resource'] !== 'groups' });
  const lines = ['X-Remote-User: eve', 'Impersonate-User: alice'];
  assert.equal((await exchange(site, get(...lines, 'Impersonate-Group: ops'), proxy)).status, 403);
  assert.equal(site.upstream(), 0);
  assert.equal((await exchange(site, get(...lines), proxy)).status, 200);
});

test('a hub that is down is 503 for whom it would have to be asked about, never 401 and never a yes', async () => {
  hub.tokens = (token) => ({ authenticated: true, user: { username: token } });
  const known = get('Authorization: Bearer known');
  assert.equal((await exchange(site, known)).status, 200);
  assert.equal((await exchange(site, get('X-Remote-User: early'), proxy)).status, 200);
  hub.down();
  try {
    assert.equal((await exchange(site, known)).status, 200, 'a decision that is remembered holds');
    assert.equal((await exchange(site, get('X-Remote-User: early'), proxy)).status, 200);
    const requests = site.upstream();
    for (const line of [
      'Authorization: Bearer unknown',
      'Authorization: Bearer bob-token',
      'Authorization: Bearer known',
    ]) {
      const path = line.endsWith('unknown') ? pods : `${pods}?watch=true`;
      const answer = await exchange(site, requestBytes(`GET ${path}`, [line]));
      assert.equal(answer.status, 503, line);
      assert.equal(answer.values('retry-after').length, 0);
      assert.match(answer.body, /"reason":"ServiceUnavailable"/);
    }
    const discovery = await exchange(site, requestBytes('GET /apis', ['Authorization: Bearer known']));
    assert.equal(discovery.status, 200, 'discovery asks nobody');
    assert.equal(site.upstream(), requests);
  } finally {
    hub.up();
  }
  await waitFor(async () => (await exchange(site, get('Authorization: Bearer unknown'))).status === 200);
});

test('a token that the hub fills a user in for and does not vouch for logs nobody in', async () => {
  hub.tokens = () => ({ authenticated: false, user: { username: 'admin', groups: ['system:masters'] } });
  assert.equal((await exchange(site, get('Authorization: Bearer forged'))).status, 401);
  assert.equal(site.upstream(), 0);
});

test('once the hub trusts another authority, open connections and resumed sessions follow it too (ATT-06)', async () => {
  const next = await makeCertificate({
    subject: [{ CN: ['next-ca'] }],
    validFromMs: Date.now() - dayMs,
    validToMs: Date.now() + dayMs,
    extensions: authority(),
  });
  const open = await openRaw(site, proxy);
  const kate = await openRaw(site, await clientCertificate('kate', people));
  for (const client of [open, kate]) {
    client.send(get('X-Remote-User: alice'));
    assert.equal((await client.answer()).status, 200);
  }
  const asAlice = get('X-Remote-User: alice');
  const overHttp2 = await openHttp2(site, proxy);
  const list = http2Headers('GET', pods, ['x-remote-user', 'alice']);
  assert.equal((await http2Exchange(overHttp2, list)).status, 200);
  const tickets = await Promise.all(tlsVersions.map((version) => ticket(site, proxy, version, asAlice)));
  assert.equal((await resumed(site, tickets[0]!, proxy, asAlice))?.status, 200, 'a session can be resumed');
  hub.publish({ ...published, 'client-ca-file': next.pem, 'requestheader-client-ca-file': next.pem });
  await waitFor(async () => (await exchange(site, get('X-Remote-User: alice'), proxy)).status === 401);
  site.members[0]!.requests.splice(0);
  for (const client of [open, kate]) {
    client.send(get('X-Remote-User: alice'));
    assert.equal((await client.answer()).status, 401);
    client.close();
  }
  assert.equal((await http2Exchange(overHttp2, list)).status, 401);
  overHttp2.destroy();
  const upgrade = requestBytes(`GET ${exec}`, ['X-Remote-User: alice', ...upgradeLines('websocket')]);
  for (const each of tickets) {
    for (const bytes of [asAlice, upgrade]) {
      const answer = await resumed(site, each, proxy, bytes);
      assert.ok(answer === null || answer.status === 401, `answered ${answer?.status}`);
    }
  }
  assert.equal(site.upstream(), 0);
  const newProxy = await clientCertificate('front-proxy-client', next);
  assert.equal((await exchange(site, get('X-Remote-User: alice'), newProxy)).status, 200);
  hub.publish(published);
  await waitFor(async () => (await exchange(site, get('X-Remote-User: alice'), proxy)).status === 200);
});

test('the log holds no token of a caller (ATT-31)', async () => {
  hub.tokens = () => ({ authenticated: true, user: { username: 'alice' } });
  await exchange(site, get('Authorization: Bearer very-secret-hub-token'));
  hub.tokens = (token) => ({ authenticated: false, error: `bad token ${token}` });
  await exchange(site, get('Authorization: Bearer another-secret-hub-token'));
  assert.doesNotMatch(site.log(), /secret-hub-token/);
});
