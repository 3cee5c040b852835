import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { stringify } from 'yaml';
import { GatewayError } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';
import { base64url, makeKey, signRaw, signToken } from '../../test/issuer.ts';
import type { IssuerKey, Json } from '../../test/issuer.ts';
import { readAuthenticationConfig } from './authentication-config.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import { makeJwtAuthenticator } from './jwt.ts';
import type { JwtAuthenticator } from './jwt.ts';
import type { SigningKeys } from './signing-keys.ts';

const url = 'https://issuer.example.com';
const startSeconds = 1_800_000_000;
let key: IssuerKey;
let keys: SigningKeys;
let closed = 0;
let clockMs = startSeconds * 1000;

function setOf(...pairs: readonly IssuerKey[]): SigningKeys {
  const list = pairs.map(({ kid, alg, publicKey }) => ({ keyId: kid, algorithm: alg, key: publicKey }));
  return { keys: list, fingerprint: list.map(({ keyId }) => keyId).join() };
}

before(() => {
  key = makeKey('ES256', 'k');
  keys = setOf(key);
});

/** Keys that never change. */
function fixed(): IssuerKeys {
  return {
    current: () => keys,
    first: () => Promise.resolve(keys),
    changed: () => Promise.resolve(undefined),
    fault: () => undefined,
    close: () => void (closed += 1),
  };
}

type Input = Record<string, unknown>;

function config(
  mappings: Input = {},
  rest: Input = {},
  issuer: Input = {},
): ReturnType<typeof readAuthenticationConfig> {
  const jwt = [
    {
      issuer: { url, audiences: ['me'], ...issuer },
      claimMappings: { username: { claim: 'sub', prefix: '' }, ...mappings },
      ...rest,
    },
  ];
  return readAuthenticationConfig(
    stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration', jwt }),
    'auth.yaml',
  );
}

function make(mappings: Input = {}, rest: Input = {}, forwardSystemMasters = false): JwtAuthenticator {
  const made = makeJwtAuthenticator({ follow: fixed, now: () => clockMs, forwardSystemMasters });
  made.replace(config(mappings, rest).jwt);
  return made;
}

const usual = { iss: url, aud: 'me', sub: 'jane', exp: startSeconds + 60 };

async function ask(authenticator: JwtAuthenticator, token: string): Promise<User | undefined> {
  return await authenticator.authenticate({
    rawHeaders: ['Authorization', `Bearer ${token}`],
    peerCertificates: [],
    tlsAuthorized: false,
  });
}

async function askFor(claims: Json, mappings: Input = {}, rest: Input = {}): Promise<User | undefined> {
  return await ask(make(mappings, rest), signToken({ ...usual, ...claims }, key));
}

const refused =
  (reason: RegExp, code = 'UNAUTHENTICATED') =>
  (error: unknown) =>
    error instanceof GatewayError && error.code === code && reason.test(error.message);

test('name, uid, groups and extra are exactly what the mappings say', async () => {
  const user = await askFor(
    { groups: ['a', 'b'], jti: 'id-1', tenant: 't', empty: '', exp: startSeconds + 60 },
    {
      username: { claim: 'sub', prefix: 'oidc:' },
      groups: { claim: 'groups', prefix: 'g:' },
      uid: { claim: 'sub' },
      extra: [
        { key: 'a.io/t', valueExpression: 'claims.tenant' },
        { key: 'a.io/none', valueExpression: 'claims.empty' },
        { key: 'a.io/list', valueExpression: '["x", "", "y"]' },
      ],
    },
  );
  assert.deepEqual(
    { ...user },
    {
      name: 'oidc:jane',
      uid: 'jane',
      groups: ['g:a', 'g:b'],
      extra: [
        ['authentication.kubernetes.io/credential-id', ['JTI=id-1']],
        ['a.io/t', ['t']],
        ['a.io/list', ['x', 'y']],
      ],
      origin: 'hub',
      expiresAtMs: (startSeconds + 60) * 1000,
    },
  );
});

test('names beyond ASCII come through as they are', async () => {
  for (const sub of ['jürgen', '日本', 'ÅngstrÖm 😀', 'o’brien@example.com'])
    assert.equal((await askFor({ sub }))?.name, sub);
});

for (const [name, claims, mappings, reason] of [
  ['no user claim', { sub: undefined }, {}, /"sub" for username is no string/],
  ['a number as user', { sub: 7 }, {}, /no string/],
  ['null as user', { sub: null }, {}, /no string/],
  ['an empty user', { sub: '' }, { username: { claim: 'sub', prefix: 'p:' } }, /is empty/],
  ['an expression without value', {}, { username: { expression: '""' } }, /name is empty/],
  ['an expression that is a number', { n: 1 }, { username: { expression: 'claims.n' } }, /does not give a string/],
  ['an expression over what is missing', {}, { username: { expression: 'claims.gone' } }, /cannot be evaluated/],
  [
    'an email that is not verified',
    { email: 'a@b', email_verified: false },
    { username: { claim: 'email', prefix: '' } },
    /not verified/,
  ],
  [
    'an email_verified that is text',
    { email: 'a@b', email_verified: 'true' },
    { username: { claim: 'email', prefix: '' } },
    /not verified/,
  ],
  ['groups as an object', { groups: { a: true } }, { groups: { claim: 'groups', prefix: '' } }, /neither a string nor/],
  ['groups with a number', { groups: ['a', 1] }, { groups: { claim: 'groups', prefix: '' } }, /neither a string nor/],
  ['a uid that is a number', { id: 5 }, { uid: { claim: 'id' } }, /for uid is no string/],
  ['no uid', {}, { uid: { claim: 'id' } }, /for uid is no string/],
  [
    'distributed groups',
    { _claim_names: { groups: 's' }, _claim_sources: { s: { endpoint: 'https://127.0.0.1:1/' } } },
    { groups: { claim: 'groups', prefix: '' } },
    /distributed/,
  ],
] as const) {
  test(`${name} refuses the token`, async () => {
    await assert.rejects(askFor(claims, mappings), refused(reason));
  });
}

test('email without email_verified is taken, groups may be one string, null or missing', async () => {
  assert.equal((await askFor({ email: 'a@b' }, { username: { claim: 'email', prefix: '' } }))?.name, 'a@b');
  const groups = { groups: { claim: 'groups', prefix: 'g:' } };
  assert.deepEqual((await askFor({ groups: 'dev' }, groups))?.groups, ['g:dev']);
  assert.deepEqual((await askFor({ groups: null }, groups))?.groups, []);
  assert.deepEqual((await askFor({}, groups))?.groups, []);
});

test('every validation rule must hold; the operator’s message is shown', async () => {
  const rules = {
    claimValidationRules: [
      { claim: 'hd', requiredValue: 'x.io' },
      { expression: 'claims.level >= 2', message: 'log in with a second factor' },
    ],
    userValidationRules: [{ expression: "!user.username.startsWith('system:')", message: 'no system names' }],
  };
  assert.equal((await askFor({ hd: 'x.io', level: 2 }, {}, rules))?.name, 'jane');
  await assert.rejects(askFor({ hd: 'y.io', level: 2 }, {}, rules), refused(/"hd" does not have the required value/));
  await assert.rejects(askFor({ hd: ['x.io'], level: 2 }, {}, rules), refused(/required value/));
  await assert.rejects(askFor({ level: 2 }, {}, rules), refused(/required value/));
  await assert.rejects(askFor({ hd: 'x.io', level: 1 }, {}, rules), refused(/log in with a second factor/));
  await assert.rejects(askFor({ hd: 'x.io' }, {}, rules), refused(/cannot be evaluated/));
  await assert.rejects(askFor({ hd: 'x.io', level: 2, sub: 'system:x' }, {}, rules), refused(/no system names/));
});

test('groups of a provider that equal system:masters in a cluster or a hub are left out like it (ATT-45)', async () => {
  const groups = ['kubeadm:cluster-admins', 'system:cluster-admins', 'dev', 'system:authenticated'];
  const user = await askFor({ groups }, { groups: { claim: 'groups', prefix: '' } });
  assert.deepEqual(user?.groups, ['dev', 'system:authenticated']);
});

test('system:masters of a provider is left out unless the operator wants it; rules see it either way', async () => {
  const mappings = { groups: { claim: 'groups', prefix: '' } };
  const token = signToken({ ...usual, groups: ['system:masters', 'dev'] }, key);
  assert.deepEqual((await ask(make(mappings), token))?.groups, ['dev']);
  assert.deepEqual((await ask(make(mappings, {}, true), token))?.groups, ['system:masters', 'dev']);
  const rules = { userValidationRules: [{ expression: "user.groups.all(g, !g.startsWith('system:'))" }] };
  await assert.rejects(ask(make(mappings, rules), token), refused(/rule/));
});

test('a name that would change on its way as a header is refused, not mended (ATT-01)', async () => {
  for (const sub of [' jane', 'jane\r\nX: y', 'ja\u0000ne', '\ud800'])
    await assert.rejects(askFor({ sub }), refused(/user name/, 'IDENTITY_REFUSED'));
});

test('exp counts to the second and with no leeway, nbf with a minute; the answer is remembered no longer than that', async () => {
  const made = make();
  const token = signToken({ ...usual, nbf: startSeconds + 60 }, key);
  const user = await ask(made, token);
  assert.equal(await ask(made, token), user, 'the same object while it counts');
  clockMs = (startSeconds + 60) * 1000;
  assert.equal(await ask(made, token), user);
  clockMs += 1;
  await assert.rejects(ask(made, token), refused(/expired/));
  clockMs = startSeconds * 1000;
  await assert.rejects(askFor({ nbf: startSeconds + 61 }), refused(/not valid yet/));
});

test('a clock that is set back or forth is followed at once (FLT-17)', async () => {
  const made = make();
  const token = signToken(usual, key);
  await ask(made, token);
  clockMs += 3_600_000;
  await assert.rejects(ask(made, token), refused(/expired/));
  clockMs -= 3_600_000;
  assert.equal((await ask(made, token))?.name, 'jane');
});

test('a token that was verified with a withdrawn key no longer counts', async () => {
  const made = make();
  const token = signToken(usual, key);
  await ask(made, token);
  const before = keys;
  keys = setOf(makeKey('ES256', 'other'));
  await assert.rejects(ask(made, token), refused(/no key of its identity provider signed it/));
  keys = before;
});

test('a new file counts for the next request; keys of a provider that stays are kept', async () => {
  const made = make();
  const token = signToken(usual, key);
  await ask(made, token);
  closed = 0;
  made.replace(config({ username: { claim: 'sub', prefix: 'new:' } }).jwt);
  assert.equal((await ask(made, token))?.name, 'new:jane');
  assert.equal(closed, 0);
  made.replace(config({}, {}, { url: 'https://other.example.com' }).jwt);
  assert.equal(closed, 1);
  await assert.rejects(ask(made, token), refused(/not issued by an identity provider known here/));
  made.replace([]);
  assert.equal(await ask(made, token), undefined, 'no providers, no opinion');
});

test('a token without key id is tried with every key that fits', async () => {
  const before = keys;
  const rsa = makeKey('RS256', 'r');
  keys = setOf(makeKey('ES256', 'x'), rsa, key);
  const made = make();
  assert.equal((await ask(made, signToken(usual, key, { kid: undefined })))?.name, 'jane');
  assert.equal((await ask(made, signToken(usual, rsa, { kid: '' })))?.name, 'jane');
  await assert.rejects(ask(made, signToken(usual, key, { kid: 'r' })), refused(/no key/));
  keys = before;
});

test('all nine algorithms of kube-apiserver verify, and nothing else', async () => {
  const before = keys;
  for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512']) {
    const pair = makeKey(alg, alg);
    keys = setOf(pair);
    assert.equal((await ask(make(), signToken(usual, pair)))?.name, 'jane', alg);
  }
  keys = before;
  const unsigned = `${base64url(JSON.stringify({ alg: 'none' }))}.${base64url(JSON.stringify(usual))}.`;
  await assert.rejects(ask(make(), unsigned), refused(/header is not valid/));
});

test('a name that stands twice in header or claims refuses the token, though it is signed', async () => {
  const claims = JSON.stringify(usual).slice(0, -1);
  const header = '{"alg":"ES256","kid":"k"';
  for (const repeated of ['"sub":"admin"', '"exp":9999999999', '"aud":"me"', '"iss":"https://issuer.example.com"'])
    await assert.rejects(ask(make(), signRaw(`${header}}`, `${claims},${repeated}}`, key)), refused(/not issued by/));
  await assert.rejects(ask(make(), signRaw(`${header},"alg":"ES256"}`, `${claims}}`, key)), refused(/header/));
  assert.equal((await ask(make(), signRaw(`${header}}`, `${claims}}`, key)))?.name, 'jane');
});

test('claims named like members of objects are claims, and no object changes', async () => {
  const token = signRaw(
    '{"alg":"ES256"}',
    `${JSON.stringify(usual).slice(0, -1)},"__proto__":{"groups":["x"]},"constructor":"c"}`,
    key,
  );
  const user = await ask(make({ groups: { claim: 'groups', prefix: '' }, uid: { claim: 'constructor' } }), token);
  assert.deepEqual([user?.groups, user?.uid], [[], 'c']);
  await assert.rejects(askFor({}, { uid: { claim: 'toString' } }), refused(/no string/));
});
