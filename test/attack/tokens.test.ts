// Tokens of an identity provider, through a whole gateway: no token that is not signed, meant for us and in time
// reaches a member as anybody, over any transport, and no header of one makes us ask for anything.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import type { ClientHttp2Session } from 'node:http2';
import type { ConnectionOptions } from 'node:tls';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { timeScaleVariable } from '../../config/time-scale.ts';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { base64url, jwkOf, makeKey, signRaw, signToken, signWithPublicKey, startIssuer } from '../issuer.ts';
import type { IssuerKey, Json, TestIssuer } from '../issuer.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Site } from '../site/site.ts';
import { tempDir } from '../pretend/temp-dir.ts';
import { newServer, type TestHttpServer } from '../pretend/server.ts';

const pods = '/clusters/m1/proxy/api/v1/pods';
const exec = '/clusters/m1/proxy/api/v1/namespaces/default/pods/web/exec?command=sh';
const [rsa, ec, ec384, mallory] = ['RS256', 'ES256', 'ES384', 'RS256'].map((alg, i) => makeKey(alg, `key-${i}`)) as [
  IssuerKey,
  IssuerKey,
  IssuerKey,
  IssuerKey,
];
const folder = tempDir('tokens');
let issuer: TestIssuer;
let site: Site;
let session: ClientHttp2Session;
/** Would hear anything a token made the gateway fetch. */
let trap: TestHttpServer;

before(async () => {
  const authority = await makeTestAuthority('provider');
  issuer = await startIssuer(authority, [rsa, ec, ec384]);
  trap = await newServer((_, response) => response.end('{}'));
  const file = join(folder, 'authentication.yaml');
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: {
            url: issuer.url,
            audiences: ['kubernetes', 'portcullis'],
            audienceMatchPolicy: 'MatchAny',
            certificateAuthority: authority.ca,
          },
          claimMappings: { username: { claim: 'sub', prefix: '' }, groups: { claim: 'groups', prefix: '' } },
        },
      ],
      anonymous: { enabled: true },
    }),
  );
  // Unknown keys are looked for every second.
  process.env[timeScaleVariable] = '0.2';
  site = await startSite({
    users: [{ token: 'alice-token', name: 'alice' }],
    config: { authenticationConfig: file },
  });
  session = await openHttp2(site);
  // Failed logins from an address slow down its further logins, except on connections that have authenticated before.
  // So a valid token comes first on this one.
  const { status } = await http2Exchange(
    session,
    http2Headers('GET', '/version', ['authorization', 'Bearer alice-token']),
  );
  assert.equal(status, 200);
});

after(async () => {
  session?.destroy();
  site?.close();
  trap?.close();
  await issuer?.close();
});

afterEach(() => void site.members[0]!.requests.splice(0));

function now(): number {
  return Math.floor(Date.now() / 1000);
}

function claims(changes: Json = {}): Json {
  return {
    iss: issuer.url,
    aud: 'portcullis',
    sub: 'jane',
    groups: ['dev'],
    iat: now(),
    exp: now() + 3600,
    ...changes,
  };
}

const bearer = (token: string): string => `Authorization: Bearer ${token}`;
const item = (token: string): string => `base64url.bearer.authorization.k8s.io.${base64url(token)}`;

let lastHost = 1;

/** From another loopback address each time: one from which many logins fail is held back with 429. */
function ask(bytes: string): Promise<RawAnswer> {
  lastHost = (lastHost % 250) + 1;
  return exchange(site, bytes, { localAddress: `127.0.1.${lastHost}` } as ConnectionOptions);
}

/** Sends it over HTTP/1.1, HTTP/2, an upgrade, and as a subprotocol: 401 each time, nothing at the member. */
async function assertRefused(token: string): Promise<void> {
  const sends = [requestBytes(`GET ${pods}`, [bearer(token)])];
  for (const upgrade of ['websocket', 'SPDY/3.1'])
    sends.push(requestBytes(`POST ${exec}`, [bearer(token), ...upgradeLines(upgrade)]));
  const lines = upgradeLines('websocket').filter((line) => !line.startsWith('Sec-WebSocket-Protocol'));
  sends.push(requestBytes(`GET ${exec}`, [...lines, `Sec-WebSocket-Protocol: ${item(token)}, v5.channel.k8s.io`]));
  // At the same time, since who waits for a key that may be new waits for the same fetch.
  const answers = await Promise.all([
    ...sends.map(async (bytes) => await ask(bytes)),
    http2Exchange(session, http2Headers('GET', pods, ['authorization', `Bearer ${token}`])),
  ]);
  for (const answer of answers) assert.equal(answer.status, 401, answer.body);
  assert.equal(site.upstream(), 0);
}

test('a good token is the same user over HTTP/1.1, HTTP/2, upgrades and as a subprotocol; the member never sees it', async () => {
  const token = signToken(claims({ sub: 'jürgen' }), rsa);
  assert.equal((await ask(requestBytes(`GET ${pods}`, [bearer(token)]))).status, 200);
  assert.equal(
    (await http2Exchange(session, http2Headers('GET', pods, ['authorization', `Bearer ${token}`]))).status,
    200,
  );
  const lines = upgradeLines('websocket').filter((line) => !line.startsWith('Sec-WebSocket-Protocol'));
  for (const more of [
    [bearer(token), 'Sec-WebSocket-Protocol: v5.channel.k8s.io'],
    [`Sec-WebSocket-Protocol: ${item(token)}, v5.channel.k8s.io`],
  ]) {
    const client = await openRaw(site);
    client.send(requestBytes(`GET ${exec}`, [...lines, ...more]));
    await waitFor(() => site.upstream() >= (more.length === 2 ? 3 : 4));
    client.close();
  }
  const { requests } = site.members[0]!;
  assert.equal(requests.length, 4);
  for (const request of requests) {
    assert.deepEqual(
      request.values('impersonate-user').map((name) => Buffer.from(name, 'latin1').toString()),
      ['jürgen'],
    );
    assert.deepEqual(request.values('impersonate-group'), ['dev']);
    assert.ok(!request.head.includes(token.slice(-20)) && !request.head.includes('base64url'));
  }
});

const payload = (changes: Json = {}): string => base64url(JSON.stringify(claims(changes)));
const header = (fields: Json): string => base64url(JSON.stringify(fields));
/** Mallory's own key, as she would like it to be found. */
const herKey = (): Json => ({ kid: 'mallory', jwk: jwkOf(mallory) });

const forged: Readonly<Record<string, () => string>> = {
  'alg none': () => `${header({ alg: 'none' })}.${payload()}.`,
  'alg None': () => `${header({ alg: 'None' })}.${payload()}.`,
  'alg none with a signature': () => `${header({ alg: 'none' })}.${payload()}.AAAA`,
  'no alg': () => signToken(claims(), rsa, { alg: undefined }),
  'HS256 with the public key as secret': () => signWithPublicKey(claims(), rsa),
  'no signature': () => signToken(claims(), rsa).replace(/[^.]+$/, ''),
  'the signature of another token': () =>
    signToken(claims(), rsa).replace(/[^.]+$/, signToken(claims({ sub: 'x' }), rsa).split('.')[2]!),
  'claims changed after signing': () => signToken(claims(), rsa).replace(/\.[^.]+\./, `.${payload({ sub: 'admin' })}.`),
  'a key of our own choice in jwk': () => signToken(claims(), mallory, herKey()),
  'a key of our own choice behind jku': () => signToken(claims(), mallory, { kid: 'mallory', jku: `${trap.url}/jwks` }),
  'a certificate behind x5u': () => signToken(claims(), mallory, { kid: 'mallory', x5u: `${trap.url}/cert` }),
  'a certificate in x5c': () => signToken(claims(), mallory, { kid: 'mallory', x5c: ['MIIB'] }),
  'the id of a good key and the key of another': () => signToken(claims(), mallory, { kid: rsa.kid }),
  'a key id that is a path': () => signToken(claims(), mallory, { kid: '../../../../etc/passwd' }),
  'a key id that is a URL': () => signToken(claims(), mallory, { kid: `${trap.url}/key` }),
  'a key id that is no text': () => signToken(claims(), rsa, { kid: { toString: 'x' } }),
  'PS256 with a key for RS256': () =>
    signRaw(JSON.stringify({ alg: 'PS256', kid: rsa.kid }), JSON.stringify(claims()), rsa, 'PS256'),
  'RS512 with a key for RS256': () =>
    signRaw(JSON.stringify({ alg: 'RS512', kid: rsa.kid }), JSON.stringify(claims()), rsa, 'RS512'),
  'ES256 with a P-384 key': () =>
    signRaw(JSON.stringify({ alg: 'ES256', kid: ec384.kid }), JSON.stringify(claims()), ec384, 'ES256'),
  'r = s = 0': () => `${header({ alg: 'ES256', kid: ec.kid })}.${payload()}.${base64url(Buffer.alloc(64))}`,
  'a signature in DER': () =>
    signRaw(JSON.stringify({ alg: 'ES256', kid: ec.kid }), JSON.stringify(claims()), ec, 'RS256'),
  'a critical header': () => signToken(claims(), rsa, { crit: ['exp'] }),
  'an unencoded payload': () => signToken(claims(), rsa, { b64: false, crit: ['b64'] }),
  'a compressed payload': () => signToken(claims(), rsa, { zip: 'DEF' }),
  'JSON serialization': () => JSON.stringify({ payload: payload(), signatures: [] }).replaceAll(' ', ''),
  'five parts': () => `${signToken(claims(), rsa)}.AAAA.AAAA`,
  padding: () => `${signToken(claims(), rsa)}==`,
};

for (const [name, make] of Object.entries(forged)) {
  test(`a token with ${name} is 401 and makes nobody ask anything (ATT-20)`, { timeout: 60_000 }, async () => {
    await assertRefused(make());
    assert.equal(trap.requests.length, 0);
    assert.ok(issuer.asked.every((path) => path === '/jwks' || path === '/.well-known/openid-configuration'));
  });
}

const wrong: Readonly<Record<string, () => Json>> = {
  'another audience': () => ({ aud: 'somebody-else' }),
  'an audience that begins alike': () => ({ aud: 'portcullis2' }),
  'an audience in another case': () => ({ aud: 'Portcullis' }),
  'no audience': () => ({ aud: undefined }),
  'a number as audience': () => ({ aud: 7 }),
  'no audience in the list': () => ({ aud: [] }),
  'an object in the list of audiences': () => ({ aud: ['portcullis', {}] }),
  'azp alone': () => ({ aud: undefined, azp: 'portcullis' }),
  'no end': () => ({ exp: undefined }),
  'an end that is text': () => ({ exp: String(now() + 100) }),
  'an end that is null': () => ({ exp: null }),
  'an end that has passed': () => ({ exp: now() - 1 }),
  'a beginning in an hour': () => ({ nbf: now() + 3600 }),
  'a beginning that is text': () => ({ nbf: '0' }),
  'another issuer': () => ({ iss: 'https://evil.test' }),
  'an issuer with a slash more': () => ({ iss: `${issuer.url}/` }),
  'an issuer in upper case': () => ({ iss: issuer.url.toUpperCase() }),
  'an issuer that begins alike': () => ({ iss: `${issuer.url}.evil.test` }),
  'a list of issuers': () => ({ iss: [issuer.url] }),
  'no issuer': () => ({ iss: undefined }),
};

for (const [name, changes] of Object.entries(wrong)) {
  test(`a signed token with ${name} is 401 (ATT-21)`, async () => {
    await assertRefused(signToken(claims(changes()), rsa));
  });
}

for (const [name, text] of [
  ['iss', () => `"iss":"${issuer.url}"`],
  ['aud', () => '"aud":"portcullis"'],
  ['sub', () => '"sub":"admin"'],
  ['exp', () => `"exp":${now() + 9999}`],
  ['su\\u0062', () => '"su\\u0062":"admin"'],
] as const) {
  test(`a signed token in which ${name} stands twice is 401 (ATT-21)`, async () => {
    await assertRefused(
      signRaw(
        JSON.stringify({ alg: 'RS256', kid: rsa.kid }),
        `${JSON.stringify(claims()).slice(0, -1)},${text()}}`,
        rsa,
      ),
    );
  });
}

test('an end beyond what a number holds is 401 (ATT-21)', async () => {
  const text = JSON.stringify(claims({ exp: 0 })).replace('"exp":0', '"exp":1e400');
  await assertRefused(signRaw(JSON.stringify({ alg: 'RS256', kid: rsa.kid }), text, rsa));
});

test('iat in the future is not judged, a list of audiences needs one of ours, as in kube-apiserver', async () => {
  for (const changes of [{ iat: now() + 9999 }, { aud: ['x', 'kubernetes'] }, { nbf: now() + 30 }]) {
    const answer = await ask(requestBytes(`GET ${pods}`, [bearer(signToken(claims(changes), ec))]));
    assert.equal(answer.status, 200, answer.body);
  }
});

test('anonymous requests are let in, but a bad credential of any kind is 401, never anonymous (ATT-23)', async () => {
  assert.equal((await ask(requestBytes('GET /version'))).status, 200);
  const discovery = await ask(requestBytes('GET /apis'));
  assert.equal(discovery.status, 403, 'discovery is for authenticated users');
  assert.match(discovery.body, /system:anonymous/);
  assert.equal((await ask(requestBytes(`GET ${pods}`))).status, 403);
  for (const value of [
    'Bearer nonsense',
    'Bearer a.b.c',
    `Bearer ${signToken(claims(), mallory)}`,
    'Bearer ',
    'Bearer  x',
    'Basic YTpi',
    'bearer',
  ]) {
    const answer = await ask(requestBytes('GET /version', [`Authorization: ${value}`]));
    assert.equal(answer.status, 401, value);
  }
  assert.equal(site.upstream(), 0);
});

test('reserved names of a provider are refused or renamed, and system:masters is left out (ATT-19)', async () => {
  const askAs = async (changes: Json): Promise<number> =>
    (await ask(requestBytes(`GET ${pods}`, [bearer(signToken(claims(changes), ec))]))).status;
  assert.equal(await askAs({ sub: 'system:node:n1' }), 403);
  assert.equal(await askAs({ sub: 'system:kube-scheduler' }), 403);
  assert.equal(await askAs({ groups: ['system:nodes'] }), 403);
  assert.equal(await askAs({ sub: 'portcullis:probe' }), 403);
  assert.equal(await askAs({ sub: 'a\r\nImpersonate-Group: system:masters' }), 403);
  assert.equal(site.upstream(), 0);
  assert.equal(await askAs({ groups: ['system:masters', 'dev'] }), 200);
  assert.equal(await askAs({ sub: 'system:serviceaccount:kube-system:admin' }), 200);
  const [masters, account] = site.members[0]!.requests;
  assert.deepEqual(masters!.values('impersonate-group'), ['dev']);
  assert.deepEqual(account!.values('impersonate-user'), ['cluster:hub:system:serviceaccount:kube-system:admin']);
});

test('groups of a provider that equal system:masters are left out, and users with such names are refused (ATT-45)', async () => {
  const askAs = async (changes: Json): Promise<number> =>
    (await ask(requestBytes(`GET ${pods}`, [bearer(signToken(claims(changes), ec))]))).status;
  for (const sub of ['system:admin', 'kubeadm:cluster-admins']) assert.equal(await askAs({ sub }), 403, sub);
  assert.equal(site.upstream(), 0);
  assert.equal(await askAs({ groups: ['kubeadm:cluster-admins', 'system:cluster-admins', 'dev'] }), 200);
  assert.deepEqual(site.members[0]!.requests[0]!.values('impersonate-group'), ['dev']);
});

test('claims named __proto__ and constructor change nothing (ATT-35)', async () => {
  const text = `${JSON.stringify(claims()).slice(0, -1)},"__proto__":{"groups":["system:masters"]},"constructor":{"prototype":{"x":1}}}`;
  const token = signRaw(JSON.stringify({ alg: 'RS256', kid: rsa.kid }), text, rsa);
  assert.equal((await ask(requestBytes(`GET ${pods}`, [bearer(token)]))).status, 200);
  assert.deepEqual(site.members[0]!.requests[0]!.values('impersonate-group'), ['dev']);
  assert.equal(({} as Record<string, unknown>)['x'], undefined);
});

test('no token and no claim of a refused one is in the log (ATT-32)', async () => {
  const token = signToken(claims({ sub: 'canary-user', aud: 'canary-audience' }), rsa);
  await assertRefused(token);
  for (const part of [...token.split('.'), 'canary-user', 'canary-audience']) assert.ok(!site.log().includes(part));
});
