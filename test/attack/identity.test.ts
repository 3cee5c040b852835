// Whose name arrives at the member, byte for byte, and what of the caller must not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { after, afterEach, before, test } from 'node:test';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import type { MemberRequest } from '../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import { rawHttp2 } from '../site/raw-http2.ts';
import { memberToken, startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

const everything = { apiGroups: ['*'], resources: ['*'] };
const groups500 = Array.from({ length: 500 }, (_, i) => `team-${i}-${'x'.repeat(100)}`);
const names = ['jürgen', '日本', 'ÅngstrÖm 😀', 'ċ', 'o’brien@example.com'];
let site: Site;
let session: ClientHttp2Session;

before(async () => {
  site = await startSite({
    users: [
      { token: 'alice-token', name: 'alice', uid: 'uid-7', groups: ['dev', 'ops'] },
      { token: 'boss-token', name: 'boss' },
      { token: 'big-token', name: 'big', groups: groups500 },
      ...names.map((name, i) => ({ token: `name-${i}`, name, groups: [`${name}-group`] })),
    ],
    rules: [
      {
        subjects: [{ kind: 'Group', name: 'system:authenticated' }],
        verbs: ['get', 'list', 'watch', 'create', 'post'],
        ...everything,
        nonResourceURLs: ['*'],
      },
      { subjects: [{ kind: 'User', name: 'boss' }], verbs: ['impersonate'], ...everything },
    ],
  });
  session = await openHttp2(site);
});

after(() => {
  session.destroy();
  site.close();
});

afterEach(() => void site.members[0]!.requests.splice(0));

const pods = '/clusters/m1/proxy/api/v1/pods';
const pseudo = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'gateway.test'],
  [':path', pods],
] as const;
const exec = '/clusters/m1/proxy/api/v1/namespaces/default/pods/web/exec';
const bearer = (token = 'alice-token'): string => `Authorization: Bearer ${token}`;

/** Asks over HTTP/1.1 and then HTTP/2 with the same headers; the requests that arrived. */
async function bothWays(headers: readonly (readonly [string, string])[], status = 200): Promise<MemberRequest[]> {
  const { requests } = site.members[0]!;
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const one = await exchange(site, requestBytes(`GET ${pods}`, lines));
  assert.equal(one.status, status, one.body);
  const list = http2Headers(
    'GET',
    pods,
    headers.flatMap(([name, value]) => [name.toLowerCase(), value]),
  );
  const two = await http2Exchange(session, list);
  assert.equal(two.status, status, two.body);
  return requests.splice(0);
}

/** The latin1 view of a text's UTF-8 bytes, which is what raw headers hold. */
function wire(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function assertIsAlice(request: MemberRequest | undefined): void {
  assert.ok(request);
  assert.deepEqual(request.values('impersonate-user'), ['alice']);
  assert.deepEqual(request.values('impersonate-group'), ['dev', 'ops']);
  assert.deepEqual(request.values('impersonate-uid'), ['uid-7']);
  assert.deepEqual(request.values('authorization'), [`Bearer ${memberToken(1)}`]);
}

const injected = 'Impersonate-User, impersonate-group, IMPERSONATE-UID, Authorization, Host';

for (const [name, lines] of Object.entries({
  'one list': [`Connection: ${injected}`],
  'with keep-alive': [`Connection: keep-alive, ${injected}`],
  'with close': [`Connection: close, ${injected}`],
  repeated: [
    'Connection: Impersonate-User',
    'connection: Impersonate-Group',
    'CONNECTION: Authorization, Impersonate-Uid',
  ],
  'other hop-by-hop headers': [
    `Connection: ${injected}`,
    `Keep-Alive: ${injected}`,
    `Proxy-Connection: ${injected}`,
    'TE: trailers',
    `Trailer: ${injected}`,
  ],
})) {
  test(`Connection naming the injected headers (${name}) takes none of them away (ATT-02)`, async () => {
    const { status } = await exchange(site, requestBytes(`GET ${pods}`, [bearer(), ...lines]));
    assert.equal(status, 200);
    const [request] = site.members[0]!.requests;
    assertIsAlice(request);
    for (const hop of ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer'])
      assert.deepEqual(request!.values(hop), []);
  });
}

for (const token of ['websocket', 'SPDY/3.1']) {
  test(`an upgrade to ${token} whose Connection names the injected headers keeps them; Connection is rebuilt (ATT-02)`, async () => {
    const client = await openRaw(site);
    const lines = upgradeLines(token).filter((line) => !line.startsWith('Connection'));
    client.send(
      requestBytes(`GET ${exec}`, [bearer(), `Connection: Upgrade, ${injected}`, `Connection: ${injected}`, ...lines]),
    );
    const request = await site.members[0]!.request(0);
    assertIsAlice(request);
    assert.deepEqual(request.values('connection'), ['Upgrade']);
    assert.deepEqual(request.values('upgrade'), [token]);
    client.close();
  });
}

const remote: (readonly [string, string])[] = [
  ['X-Remote-User', 'admin'],
  ['X-Remote-Group', 'system:masters'],
  ['X-Remote-Uid', '1'],
  ['X-Remote-Extra-Scopes', 'all'],
  ['X_Remote_User', 'admin'],
  ['X-Forwarded-User', 'admin'],
  ['X-Forwarded-Client-Cert', 'admin'],
  ['X-Forwarded-For', '10.0.0.1'],
  ['X-Forwarded-Host', 'evil.test'],
  ['X-Original-Url', '/api/v1/secrets'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Forwarded', 'for=10.0.0.1'],
];

test('X-Remote-* and their like beside a token change nothing and go no further (ATT-04)', async () => {
  const requests = await bothWays([['Authorization', 'Bearer alice-token'], ...remote]);
  assert.equal(requests.length, 2);
  for (const request of requests) {
    assertIsAlice(request);
    assert.deepEqual(request.values('x-forwarded-for'), ['127.0.0.1']);
    assert.doesNotMatch(request.head, /remote|admin|masters|10\.0\.0\.1|evil|override|original|forwarded(?!-for)/i);
  }
});

test('X-Remote-* without a credential is 401 and nothing upstream (ATT-04)', async () => {
  assert.deepEqual(await bothWays(remote, 401), []);
});

for (const [name, headers] of Object.entries({
  'no credential': [],
  'an empty bearer token': ['Authorization: Bearer '],
  'an unknown token': [bearer('nobody')],
  'a token with another in front': ['Authorization: Bearer  alice-token'],
  'Basic with a known token': [`Authorization: Basic ${Buffer.from('alice:alice-token').toString('base64')}`],
  'a token in a cookie': ['Cookie: token=alice-token'],
  'a token as Proxy-Authorization': ['Proxy-Authorization: Bearer alice-token'],
  'a token as X-Auth-Token': ['X-Auth-Token: alice-token'],
})) {
  test(`${name} is 401 and nothing upstream (ATT-04)`, async () => {
    const answer = await exchange(
      site,
      requestBytes(`GET ${pods}?token=alice-token&access_token=alice-token`, headers),
    );
    assert.equal(answer.status, 401);
    assert.equal((JSON.parse(answer.body) as { kind: string }).kind, 'Status');
    assert.equal(site.upstream(), 0);
  });
}

test('two Authorization headers are refused, whichever of them is good (ATT-04)', async () => {
  for (const pair of [
    [bearer(), bearer('nobody')],
    [bearer('nobody'), bearer()],
    [bearer(), bearer()],
  ]) {
    assert.equal((await exchange(site, requestBytes(`GET ${pods}`, pair))).status, 400);
  }
  for (const tokens of [
    ['alice-token', 'nobody'],
    ['nobody', 'alice-token'],
  ]) {
    const headers = [...pseudo, ...tokens.map((token) => ['authorization', `Bearer ${token}`] as const)];
    assert.equal(await rawHttp2(site, { headers }), 400);
  }
  assert.equal(await rawHttp2(site, { headers: [...pseudo, ['authorization', 'Bearer nobody']] }), 401);
  assert.equal(site.upstream(), 0);
});

test('names that are not ASCII arrive as exactly their UTF-8 bytes (ATT-17)', async () => {
  for (const [i, name] of names.entries()) {
    for (const request of await bothWays([['Authorization', `Bearer name-${i}`]])) {
      assert.deepEqual(request.values('impersonate-user'), [wire(name)]);
      assert.deepEqual(request.values('impersonate-group'), [wire(`${name}-group`)]);
    }
  }
});

test('names that are not ASCII arrive byte-exact behind --as as well (ATT-17)', async () => {
  const boss = ['Authorization', 'Bearer boss-token'] as const;
  for (const name of names) {
    const asked = [boss, ['Impersonate-User', wire(name)], ['Impersonate-Group', wire(`${name} group`)]] as const;
    for (const request of await bothWays(asked)) {
      assert.deepEqual(request.values('impersonate-user'), [wire(name)]);
      assert.deepEqual(request.values('impersonate-group'), [wire(`${name} group`)]);
    }
  }
});

test('a name that is no UTF-8, or holds a control character, is refused (ATT-15)', async () => {
  for (const [name, status] of [
    ['\xff\xfe', 400],
    ['j\xfcrgen', 400],
    ['a\tb', 403],
    ['\xc2\x85', 403],
    ['a\xe2\x80\xa8b', 403],
    ['\xed\xa0\x80', 400],
    ['a\xc2\xa0', 403],
  ] as const) {
    const asked = [
      ['Authorization', 'Bearer boss-token'],
      ['Impersonate-User', name],
    ] as const;
    assert.deepEqual(await bothWays(asked, status), [], JSON.stringify(name));
  }
});

test('blanks around a name are not part of it; a name of blanks is none (ATT-16)', async () => {
  const answer = await exchange(site, requestBytes(`GET ${pods}`, [bearer('boss-token'), 'Impersonate-User:  \t ']));
  assert.equal(answer.status, 400);
  assert.equal(site.upstream(), 0);
});

test('a group with a comma is one group (ATT-18)', async () => {
  const requests = await bothWays([
    ['Authorization', 'Bearer boss-token'],
    ['Impersonate-User', 'bob'],
    ['Impersonate-Group', 'a,system:masters'],
    ['Impersonate-Group', 'b, c'],
    ['Impersonate-Extra-Scopes', 'x,y'],
    ['Impersonate-Extra-Scopes', 'z'],
  ]);
  for (const request of requests) {
    assert.deepEqual(request.values('impersonate-group'), ['a,system:masters', 'b, c']);
    assert.deepEqual(request.values('impersonate-extra-scopes'), ['x,y', 'z']);
  }
  assert.equal(requests.length, 2);
});

test('a user in 500 groups arrives in all 500, one line each (ATT-18)', async () => {
  const requests = await bothWays([['Authorization', 'Bearer big-token']]);
  assert.equal(requests.length, 2);
  for (const request of requests) assert.deepEqual(request.values('impersonate-group'), groups500);
});

test('none of 1,200 header lines is lost, in whatever place they stand (ATT-18)', async () => {
  const groups = Array.from({ length: 1200 }, (_, i) => `group-${i}`);
  const requests = await bothWays([
    ['Authorization', 'Bearer boss-token'],
    ['Impersonate-User', 'bob'],
    ...groups.map((group) => ['Impersonate-Group', group] as const),
  ]);
  assert.equal(requests.length, 2);
  for (const request of requests) assert.deepEqual(request.values('impersonate-group'), groups);
});

test('an impersonation header behind 1,200 others is seen and refused (ATT-18)', async () => {
  const filler = Array.from({ length: 1200 }, (_, i) => [`X-Filler-${i}`, 'x'] as const);
  const last = ['Impersonate-User', 'admin'] as const;
  assert.deepEqual(await bothWays([['Authorization', 'Bearer alice-token'], ...filler, last], 403), []);
});

test('a header of 64 KiB arrives whole; a head over 1 MiB is 431, never cut (ATT-18)', async () => {
  const agent = 'a'.repeat(65_536);
  for (const request of await bothWays([
    ['Authorization', 'Bearer alice-token'],
    ['User-Agent', agent],
  ])) {
    assert.deepEqual(request.values('user-agent'), [agent]);
  }
  const tooLong = requestBytes(`GET ${pods}`, [bearer(), `User-Agent: ${'a'.repeat(2 * 1024 * 1024)}`]);
  const client = await openRaw(site);
  client.send(tooLong);
  assert.equal((await client.answer()).status, 431);
  client.close();
  const other = await openHttp2(site);
  const list = http2Headers('GET', pods, [
    'authorization',
    'Bearer alice-token',
    'user-agent',
    'a'.repeat(2 * 1024 * 1024),
  ]);
  const answer = await Promise.race([http2Exchange(other, list), once(other, 'close').then(() => undefined)]);
  assert.ok(answer === undefined || answer.status === 0 || answer.status === 431, `answered ${answer?.status}`);
  other.destroy();
  assert.equal(site.upstream(), 0);
});

test('a hostile member sees nothing of the caller’s credentials (ATT-31)', async () => {
  const secrets = ['alice-token', 'cookie-secret', 'proxy-secret', 'remote-secret', 'csrf-secret'];
  const item = `base64url.bearer.authorization.k8s.io.${Buffer.from('alice-token').toString('base64url')}`;
  const headers: (readonly [string, string])[] = [
    ['Authorization', 'Bearer alice-token'],
    ['Cookie', 'session=cookie-secret'],
    ['Proxy-Authorization', 'Basic proxy-secret'],
    ['X-Remote-User', 'remote-secret'],
    ['X-CSRF-Token', 'csrf-secret'],
    ['Sec-WebSocket-Protocol', `${item}, v5.channel.k8s.io`],
  ];
  await bothWays(headers);
  const client = await openRaw(site);
  const lines = upgradeLines('websocket').filter((line) => !line.startsWith('Sec-WebSocket-Protocol'));
  client.send(requestBytes(`GET ${exec}`, [...lines, ...headers.map(([name, value]) => `${name}: ${value}`)]));
  const upgraded = await site.members[0]!.request(0);
  assert.deepEqual(upgraded.values('sec-websocket-protocol'), ['v5.channel.k8s.io']);
  client.close();
  const seen = site.members[0]!.bytes.join('');
  assert.match(seen, /member-credential-1/);
  for (const secret of [...secrets, item, 'base64url.bearer']) assert.ok(!seen.includes(secret), secret);
});

test('headers, clusters and queries named like parts of JavaScript objects mean nothing (ATT-35)', async () => {
  const odd = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'];
  const [request] = await bothWays([
    ['Authorization', 'Bearer alice-token'],
    ...odd.map((name) => [name, 'x'] as const),
  ]);
  assertIsAlice(request);
  assert.doesNotMatch(request!.head, /proto|constructor|tostring/i);
  for (const name of odd) {
    const unknown = await exchange(site, requestBytes(`GET /clusters/${name}/proxy/api`, [bearer()]));
    assert.equal(unknown.status, 404);
    const path = `/apis/gateway.portcullis.io/v1alpha1/clusters/${name}`;
    assert.equal((await exchange(site, requestBytes(`GET ${path}`, [bearer()]))).status, 404);
    const query = `${pods}?${name}=1&watch[${name}]=true`;
    assert.equal((await exchange(site, requestBytes(`GET ${query}`, [bearer()]))).status, 200);
  }
  site.members[0]!.requests.splice(0);
  const extra = await bothWays([
    ['Authorization', 'Bearer boss-token'],
    ['Impersonate-User', 'bob'],
    ['Impersonate-Extra-__proto__', 'polluted'],
  ]);
  assert.equal(extra.length, 2);
  for (const { values } of extra) assert.deepEqual(values('impersonate-extra-__proto__'), ['polluted']);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
});
