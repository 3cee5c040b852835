// What a hub says of a token or a right counts for exactly what it was said of. A key that is too short gives one
// caller the decision of another (CVE-2023-46254), and a status that is read too quickly is a yes that nobody gave
// (CVE-2023-48312).
import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { after, afterEach, before, test } from 'node:test';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { startPretendHub } from '../site/hub.ts';
import type { PretendHub } from '../site/hub.ts';
import { answerEcho } from '../site/member.ts';
import { exchange, requestBytes, upgradeLines } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

const clusters = ['m1', 'm2'] as const;
let hub: PretendHub;
let site: Site;
let session: ClientHttp2Session;

before(async () => {
  hub = await startPretendHub({});
  site = await startSite({
    members: 2,
    users: [{ token: 'bob-token', name: 'bob' }],
    config: { hubKubeconfig: hub.kubeconfig, sources: 'kubeconfig', apiAudiences: 'portcullis' },
  });
  for (const member of site.members) {
    member.answer = (request) => (request.values('upgrade').length > 0 ? request.reply(403) : answerEcho(request));
  }
  session = await openHttp2(site);
});
after(() => {
  session.destroy();
  site.close();
  hub.close();
});
afterEach(() => {
  hub.tokens = () => ({ authenticated: false, error: 'unknown token' });
  hub.access = () => ({ allowed: true });
  for (const member of site.members) member.requests.splice(0);
});

/** Statuses of HTTP/1.1, HTTP/2, WebSocket and SPDY. */
async function everyTransport(authorization: string, cluster: string = 'm1'): Promise<readonly number[]> {
  const pods = `/clusters/${cluster}/proxy/api/v1/namespaces/a/pods`;
  const lines = [`Authorization: ${authorization}`];
  const exec = `${pods}/b/exec?command=sh`;
  const answers = await Promise.all([
    exchange(site, requestBytes(`GET ${pods}`, lines)),
    http2Exchange(session, http2Headers('GET', pods, ['authorization', authorization])),
    exchange(site, requestBytes(`GET ${exec}`, [...lines, ...upgradeLines('websocket')])),
    exchange(site, requestBytes(`POST ${exec}`, [...lines, ...upgradeLines('SPDY/3.1')])),
  ]);
  return answers.map(({ status }) => status);
}

let turn = 0;
/** A token nobody has asked about yet. */
const freshToken = (): string => `Bearer token-${(turn += 1)}`;
const admin = { username: 'admin', groups: ['system:masters'] };
const audiences = ['portcullis'];

test('a status that is no clear yes logs nobody in, over every transport, 0 upstream (ATT-22)', async () => {
  for (const status of [
    { authenticated: false, user: admin, audiences },
    { user: admin, audiences },
    { authenticated: 'true', user: admin, audiences },
    { authenticated: 1, user: admin, audiences },
    { authenticated: null, user: admin, audiences },
    { authenticated: false, user: admin, audiences, error: 'expired' },
    { authenticated: true, user: admin, audiences: ['other'] },
    { authenticated: true, user: admin, audiences: ['Portcullis', 'portcullis '] },
  ]) {
    hub.tokens = () => status;
    assert.deepEqual(await everyTransport(freshToken()), [401, 401, 401, 401], JSON.stringify(status));
  }
  assert.equal(site.upstream(), 0);
});

test('a yes for nobody, or for a name that would change on its way, is refused, 0 upstream (ATT-01, ATT-15, ATT-16, ATT-22)', async () => {
  for (const user of [
    { username: '' },
    {},
    { username: ' ' },
    { username: ' admin' },
    { username: 'a\r\nImpersonate-Group: x' },
  ]) {
    hub.tokens = () => ({ authenticated: true, user, audiences });
    const statuses = await everyTransport(freshToken());
    assert.ok(
      statuses.every((status) => status === 401 || status === 403),
      `${JSON.stringify(user)}: ${statuses.join()}`,
    );
  }
  assert.equal(site.upstream(), 0);
});

test('an empty token is none: the hub is not asked, and nobody is logged in (ATT-22)', async () => {
  hub.tokens = () => ({ authenticated: true, user: admin, audiences });
  const asked = hub.reviews.length;
  for (const value of ['Bearer ', 'Bearer', 'Bearer  x', 'bearer\t', 'Basic YWRtaW46eA==', 'Token x', '']) {
    const statuses = await everyTransport(value);
    // Over HTTP/2 a value with a blank at its end is malformed, and its stream is reset.
    assert.ok(
      statuses.every((status, i) => status === 401 || (i === 1 && status === 0)),
      `${JSON.stringify(value)}: ${statuses.join()}`,
    );
  }
  assert.deepEqual([hub.reviews.length - asked, site.upstream()], [0, 0]);
});

test('a token in the query, in a form or in a cookie logs nobody in (ATT-22)', async () => {
  hub.tokens = () => ({ authenticated: true, user: admin, audiences });
  const path = '/clusters/m1/proxy/api/v1/pods';
  for (const request of [
    requestBytes(`GET ${path}?access_token=secret-in-query&token=secret-in-query`),
    requestBytes(`GET ${path}`, ['Cookie: token=secret-in-query; Authorization=Bearer secret-in-query']),
    requestBytes(
      `POST ${path}`,
      ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 28'],
      'access_token=secret-in-query',
    ),
  ]) {
    assert.equal((await exchange(site, request)).status, 401);
  }
  assert.equal(site.upstream(), 0);
  assert.doesNotMatch(site.log(), /secret-in-query/);
});

interface Caller {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const account: Caller = {
  username: 'system:serviceaccount:a:builder',
  uid: '1',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:a'],
  extra: { 'acme.com/scope': ['all'] },
};
/** Each differs from the one who is allowed in one part of the identity only. */
const others: Readonly<Record<string, Caller>> = {
  'of the same name in another namespace': { ...account, username: 'system:serviceaccount:b:builder' },
  'with another uid': { ...account, uid: '2' },
  'with one group less': { ...account, groups: ['system:serviceaccounts'] },
  'with the groups joined': { ...account, groups: ['system:serviceaccounts,system:serviceaccounts:a'] },
  'with other extra': { ...account, extra: { 'acme.com/scope': ['none'] } },
  'without extra': { ...account, extra: {} },
  'with the extra split otherwise': { ...account, extra: { 'acme.com/scope': ['a', 'll'] } },
};

for (const [name, other] of Object.entries(others)) {
  test(`what is decided about one caller is not taken for one ${name}, over every transport and at once (ATT-24)`, async () => {
    const tokens = { mine: freshToken(), theirs: freshToken() };
    hub.tokens = (token) => ({
      authenticated: true,
      user: `Bearer ${token}` === tokens.mine ? account : other,
      audiences,
    });
    const wanted = JSON.stringify(reviewOf(account));
    hub.access = (spec) => ({
      allowed: JSON.stringify(reviewOf({ username: spec.user ?? '', ...(spec as Partial<Caller>) })) === wanted,
    });
    for (let i = 0; i < 2; i++) {
      const [mine, theirs] = await Promise.all([everyTransport(tokens.mine), everyTransport(tokens.theirs)]);
      assert.deepEqual(
        [mine, theirs],
        [
          [200, 200, 403, 403],
          [403, 403, 403, 403],
        ],
        `turn ${i}`,
      );
    }
    // The member's 403 to an upgrade and ours look alike: what it was asked tells them apart.
    const { requests } = site.members[0]!;
    assert.equal(requests.length, 8);
    for (const { values } of requests) {
      assert.deepEqual(values('impersonate-user'), ['cluster:hub:system:serviceaccount:a:builder']);
      assert.deepEqual(values('impersonate-extra-acme.com%2fscope'), ['all']);
    }
  });
}

/** The parts of a SubjectAccessReview that say who. */
function reviewOf({ username, uid, groups = [], extra = {} }: Caller): unknown {
  return [username, uid ?? '', groups.filter((group) => group !== 'system:authenticated'), extra];
}

test('what is decided about one cluster or verb is not taken for another (ATT-24)', async () => {
  const token = freshToken();
  hub.tokens = () => ({ authenticated: true, user: { username: 'carla' }, audiences });
  hub.access = ({ resourceAttributes }) => ({
    allowed: resourceAttributes?.['name'] === 'm1' && resourceAttributes['verb'] !== 'create',
  });
  for (let i = 0; i < 2; i++) {
    const statuses = await Promise.all(clusters.map((cluster) => everyTransport(token, cluster)));
    assert.deepEqual(statuses, [
      [200, 200, 403, 403],
      [403, 403, 403, 403],
    ]);
  }
  assert.deepEqual(
    site.members.map(({ requests }) => requests.length),
    [4, 0],
  );
});
