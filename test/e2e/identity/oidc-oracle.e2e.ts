// kube-apiserver and the gateway are given the same AuthenticationConfiguration and the same tokens, and must say the
// same of them; where the gateway is stricter on purpose, that is told here one by one.
// Landing tier: tokens are judged as kube-apiserver does, or stricter.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { makeKey, signRaw, signToken, startIssuer } from '../../issuer.ts';
import type { Json, TestIssuer } from '../../issuer.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const key = makeKey('RS256', 'k');
const whoami = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
/** Each must give a text or a list of texts for {@link claimsForExpressions}. */
const expressions: readonly string[] = [
  'claims.name.lowerAscii() + "|" + claims.name.upperAscii()',
  'claims.name.substring(3) + "|" + claims.name.substring(0, 3) + "|" + claims.name.charAt(2)',
  'string(claims.name.indexOf("😀")) + string(claims.name.lastIndexOf("b")) + string(claims.name.size())',
  'claims.path.replace("/", "$&") + claims.path.replace("/", "", 1) + "ab".replace("", "-") + "ab".replace("", "-", 1)',
  // kube-apiserver takes no list straight from split() ("must return a string or a list of strings"), so it is joined
  // again.
  'claims.path.split("/").join("|")',
  'claims.path.split("/", 2).join("|") + "äb".split("").join("|")',
  '"\\u0085 x \\t\\u2003".trim()',
  'dyn(claims.groups).map(g, "p:" + g)',
  'dyn(claims.groups).filter(g, g.startsWith("d")) + dyn(claims.groups).map(g, g.endsWith("s"), g + "!")',
  '[claims.groups.join(), claims.groups.join("+")]',
  'claims.?missing.orValue("none") + claims.?nested.?deep.orValue("no") + claims[?"missing"].orValue("x")',
  'claims.nested["example.org/team"]',
  'string(claims.whole) + " " + string(claims.large) + " " + string(claims.small) + " " + string(claims.half) + " " + string(claims.yes)',
  'has(claims.nothing) && !has(claims.missing) && has(claims.nested.deep) ? "t" : "f"',
  'claims.exp - claims.iat <= 3600 && claims.whole == 3 && claims.half > 1 ? "t" : "f"',
  'claims.name.matches("^A.b") && !claims.name.matches("\\\\d") && claims.path.matches("b") ? "t" : "f"',
  'sets.equivalent(claims.groups, ["ops", "dev"]) && sets.contains(claims.groups, ["dev"]) && !sets.intersects(claims.groups, ["x"]) ? "t" : "f"',
  'dyn(claims.groups).exists(g, g == "ops") && dyn(claims.groups).exists_one(g, g == "dev") && dyn(claims.groups).all(g, g != "") ? "t" : "f"',
  '"dev" in claims.groups && !("x" in claims.groups) ? "t" : "f"',
  'claims.nothing == null && claims.name != null && claims.whole != "3" && (claims.missing == 1 || true) ? "t" : "f"',
  'claims.?groups[0].orValue("z") + claims.?groups[?9].orValue("z") + optional.none().orValue("q") + optional.of("v").value()',
  '(has(claims.is_admin) && claims.is_admin) ? "true" : ""',
  'claims.nothing',
  'dyn(claims.nested.list).map(x, string(x))',
];
const folder = tempDir('oracle');
let plain: TestIssuer;
let mapped: TestIssuer;
let plane: ControlPlane;
let gateway: GatewayProcess;

before(async () => {
  const authority = await makeTestAuthority('provider');
  plain = await startIssuer(authority, [key]);
  mapped = await startIssuer(authority, [key]);
  const file = join(folder, 'authentication.yaml');
  const issuer = (url: string): Json => ({
    url,
    audiences: ['a', 'b'],
    audienceMatchPolicy: 'MatchAny',
    certificateAuthority: authority.ca,
  });
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: issuer(plain.url),
          claimValidationRules: [
            { claim: 'hd', requiredValue: 'x.io' },
            { expression: 'claims.?level.orValue(2) >= 2 && claims.?ok.orValue(true) == true' },
          ],
          claimMappings: {
            username: { claim: 'email', prefix: 'o:' },
            groups: { claim: 'groups', prefix: 'g:' },
            uid: { expression: 'claims.?uid.orValue("none")' },
          },
          userValidationRules: [
            { expression: "!user.username.startsWith('o:system:') && user.groups.all(g, g != 'g:bad')" },
            { expression: "user.uid != 'bad' && !('x' in user.extra)" },
          ],
        },
        {
          issuer: issuer(mapped.url),
          claimMappings: {
            username: { expression: 'claims.sub' },
            extra: expressions.map((valueExpression, i) => ({ key: `x.io/e${i}`, valueExpression })),
          },
        },
      ],
    }),
  );
  plane = await startControlPlane({ members: ['m1'], apiserverArgs: [`--authentication-config=${file}`] });
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [],
    args: ['--authentication-config', file],
  });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
  await plain?.close();
  await mapped?.close();
});

const seconds = (): number => Math.floor(Date.now() / 1000);

function claims(issuer: TestIssuer, changes: Json = {}): Json {
  return {
    iss: issuer.url,
    aud: 'a',
    exp: seconds() + 600,
    iat: seconds(),
    hd: 'x.io',
    email: 'jane@x.io',
    groups: ['dev'],
    ...changes,
  };
}

interface Said {
  readonly status: number;
  readonly user: unknown;
}

/** What both say of a token: kube-apiserver asked directly, and the same member behind the gateway. */
async function both(token: string): Promise<{ readonly kube: Said; readonly ours: Said }> {
  const member = plane.member('m1');
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const send = async (to: GatewayProcess, prefix: string): Promise<Said> => {
    const { status, body } = await ask(to, token, 'POST', prefix + path, whoami, {
      'content-type': 'application/json',
    });
    const { status: said } = JSON.parse(body.toString()) as { readonly status?: { readonly userInfo?: unknown } };
    return { status, user: status === 201 ? said?.userInfo : undefined };
  };
  const direct = { url: member.url, caPem: member.caPem } as GatewayProcess;
  return { kube: await send(direct, ''), ours: await send(gateway, '/clusters/m1/proxy') };
}

test('every expression gives in the gateway what it gives in kube-apiserver', { timeout: 120_000 }, async () => {
  const token = signToken(
    claims(mapped, {
      sub: 'jürgen',
      name: 'AÀb😀',
      path: 'a/b/c',
      groups: ['dev', 'ops'],
      whole: 3,
      large: 1234567,
      small: 0.00001,
      half: 1.5,
      yes: true,
      nothing: null,
      nested: { deep: 'd', 'example.org/team': 'blue', list: [1, 'x', true, 1e21] },
    }),
    key,
  );
  const { kube, ours } = await both(token);
  assert.equal(
    kube.status,
    201,
    (await plane.logs()).split('\n').findLast((line) => line.includes('Unable to auth')) ?? 'no reason',
  );
  assert.equal(ours.status, 201);
  assert.deepEqual(ours.user, kube.user);
  const { extra } = kube.user as { readonly extra: Readonly<Record<string, unknown>> };
  // Two of them give nothing on purpose.
  assert.equal(Object.keys(extra).length, expressions.length - 2);
});

const same: Readonly<Record<string, () => Json>> = {
  'a good one': () => ({}),
  'another audience of ours in a list': () => ({ aud: ['x', 'b'] }),
  'another audience': () => ({ aud: 'c' }),
  'no audience': () => ({ aud: undefined }),
  'an end a second ago': () => ({ exp: seconds() - 1 }),
  'no end': () => ({ exp: undefined }),
  'an end with a fraction': () => ({ exp: seconds() + 60.5 }),
  'a beginning in 30 s': () => ({ nbf: seconds() + 30 }),
  'a beginning in 90 s': () => ({ nbf: seconds() + 90 }),
  'an iat in the future': () => ({ iat: seconds() + 9999 }),
  'another issuer': () => ({ iss: `${plain.url}/` }),
  'a number as email': () => ({ email: 7 }),
  'no email': () => ({ email: undefined }),
  'an email that is verified': () => ({ email_verified: true }),
  'an email that is not verified': () => ({ email_verified: false }),
  'an email_verified that is text': () => ({ email_verified: 'true' }),
  'groups as text': () => ({ groups: 'dev' }),
  'groups null': () => ({ groups: null }),
  'no groups': () => ({ groups: undefined }),
  'groups with a number': () => ({ groups: ['a', 1] }),
  'groups as an object': () => ({ groups: { a: 1 } }),
  'a required claim of another value': () => ({ hd: 'y.io' }),
  'no required claim': () => ({ hd: undefined }),
  'a required claim in a list': () => ({ hd: ['x.io'] }),
  'a level too low': () => ({ level: 1 }),
  'a level that is text': () => ({ level: '3' }),
  'a rule that is false': () => ({ ok: false }),
  'a rule that is no boolean': () => ({ ok: 'yes' }),
  'a user that is forbidden': () => ({ email: 'system:x' }),
  'a group that is forbidden': () => ({ groups: ['dev', 'bad'] }),
  'a uid': () => ({ uid: 'u-1' }),
  'a uid that is a number': () => ({ uid: 5 }),
  'a uid that is forbidden': () => ({ uid: 'bad' }),
  'a jti': () => ({ jti: 'token-1' }),
  'a jti that is a number': () => ({ jti: 5 }),
};

for (const [name, changes] of Object.entries(same)) {
  test(`of a token with ${name} both say the same`, async () => {
    const { kube, ours } = await both(signToken(claims(plain, changes()), key));
    assert.deepEqual(ours, kube);
    assert.ok(kube.status === 201 || kube.status === 401);
  });
}

const stricter: Readonly<Record<string, () => string>> = {
  'an end that is text': () => signToken(claims(plain, { exp: String(seconds() + 60) }), key),
  'an empty email': () => signToken(claims(plain, { email: '' }), key),
  'null among the groups': () => signToken(claims(plain, { groups: ['dev', null] }), key),
  'a name that stands twice': () =>
    signRaw(
      JSON.stringify({ alg: 'RS256', kid: 'k' }),
      `${JSON.stringify(claims(plain)).slice(0, -1)},"uid":"a","uid":"b"}`,
      key,
    ),
};

for (const [name, make] of Object.entries(stricter)) {
  test(`a token with ${name} is 401 here, though kube-apiserver takes it`, async () => {
    const { kube, ours } = await both(make());
    assert.equal(kube.status, 201);
    assert.equal(ours.status, 401);
  });
}
