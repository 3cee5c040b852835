import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExpressionError, readExpression } from './claim-expression.ts';
import { readStrictJson } from '../../lib/json/strict-json.ts';
import type { JsonObject } from '../../lib/json/strict-json.ts';

const claims = readStrictJson(
  JSON.stringify({
    sub: 'Zoë😀',
    email: 'Zoë@Example.COM',
    email_verified: true,
    exp: 1000,
    nbf: 400,
    big: 1234567,
    groups: ['dev', 'ops'],
    aud: ['a', 'b'],
    mixed: ['x', 1, null],
    nested: { admin: true, 'example.org/team': 'blue' },
    nothing: null,
    empty: '',
    path: 'a/b/c',
  }),
) as JsonObject;

function value(source: string): unknown {
  return readExpression(source, 'claims').evaluate(claims);
}

/** Expressions and what cel-go answers; those of Kubernetes' documentation and tests among them. */
const served: readonly (readonly [string, unknown])[] = [
  ['claims.sub', 'Zoë😀'],
  ['"oidc:" + claims.sub', 'oidc:Zoë😀'],
  ['claims.?email_verified.orValue(true) == true', true],
  ['claims.?missing.orValue("d")', 'd'],
  ['claims.?nested.?admin.orValue(false)', true],
  ['claims[?"missing"].orValue("d")', 'd'],
  ['has(claims.sub) && !has(claims.missing)', true],
  ['has(claims.nothing)', true],
  ['has(claims.nested.admin) && claims.nested.admin', true],
  ['claims.nested["example.org/team"]', 'blue'],
  ['claims.exp - claims.nbf <= 86400', true],
  ['claims.exp - claims.nbf < 600', false],
  ['claims.groups.map(g, "oidc:" + g)', ['oidc:dev', 'oidc:ops']],
  ['claims.groups.filter(g, g != "dev")', ['ops']],
  ['claims.groups.map(g, g.startsWith("o"), g + "!")', ['ops!']],
  ['claims.groups.exists(g, g == "ops") && !claims.groups.all(g, g == "ops")', true],
  ['claims.groups.exists_one(g, g.endsWith("s"))', true],
  ['"dev" in claims.groups && !("x" in claims.groups)', true],
  ['sets.equivalent(claims.aud, ["b", "a"])', true],
  [
    'sets.contains(claims.aud, ["a"]) && !sets.contains(claims.aud, ["c"]) && sets.intersects(claims.aud, ["c", "b"])',
    true,
  ],
  ['sets.contains(claims.mixed, [1])', true],
  ['claims.email.lowerAscii()', 'zoë@example.com'],
  ['"ÀB".lowerAscii() + "àb".upperAscii()', 'ÀbàB'],
  ['claims.sub.size() == 4 && size(claims.groups) == 2', true],
  ['claims.sub.charAt(3) + claims.sub.charAt(4)', '😀'],
  ['claims.sub.substring(3)', '😀'],
  ['claims.sub.substring(0, 3)', 'Zoë'],
  ['claims.sub.indexOf("😀") == 3 && "😀a😀".lastIndexOf("😀") == 2', true],
  ['claims.email.split("@")[0]', 'Zoë'],
  ['"a,b,c".split(",", 2)', ['a', 'b,c']],
  ['claims.path.replace("/", "-")', 'a-b-c'],
  ['claims.path.replace("/", "$&", 1)', 'a$&b/c'],
  ['"ab".replace("", "-")', '-a-b-'],
  ['claims.groups.join("+") + claims.groups.join()', 'dev+opsdevops'],
  ['"\\u0085 x \\t".trim()', 'x'],
  ['claims.sub.matches("^Z") && !claims.sub.matches("\\\\d")', true],
  ['string(claims.exp) + string(claims.big) + string(true) + string(7)', '10001.234567e+06true7'],
  ['string(claims.sub)', 'Zoë😀'],
  ['(has(claims.is_admin) && claims.is_admin) ? "true" : ""', ''],
  ['claims.sub == 3', false],
  ['claims.nothing == null', true],
  ['(claims.missing == "x") || true', true],
  ['optional.none().orValue("z") + optional.of("y").value()', 'zy'],
  ['claims.?groups[0].orValue("none")', 'dev'],
  [`'it"s'`, 'it"s'],
  ['1.5', 1.5],
];

for (const [source, expected] of served) {
  test(`${source} means what it means in kube-apiserver`, () => {
    assert.deepEqual(value(source), expected);
  });
}

for (const [source, reason] of [
  ['claims.sub.format("x")', /uses \.format\(\) with 1 arguments, which this gateway does not support/],
  ['int(claims.exp) > 3', /uses int\(\)/],
  ['duration("1h") > duration("1m")', /needs a number, and neither side is known|uses duration/],
  ['claims.sub > "A"', /needs a number, and neither side is known to be one/],
  ['claims[claims.sub]', /index that is not a literal/],
  ['{"a": 1}', /uses a map|is not valid/],
  ['b"abc"', /this kind of literal/],
  ['3u', /this kind of literal/],
  ['claims.exp / 0', /uses "\/"/],
  ['"sub" in claims', /"claims" without a member/],
  ['size(claims) > 1', /"claims" without a member/],
  ['claims.all(c, c != "")', /"claims" without a member/],
  ['cel.bind(x, claims.sub, x)', /uses "cel"|\.bind/],
  ['claims.__proto__', /would unescape/],
  ['claims.foo__dot__bar', /would unescape/],
  ['claims["foo__slash__bar"]', /would unescape/],
  ['user.username', /uses "user"/],
  ['request.auth', /uses "request"/],
  ['claims.groups.exists(i, v, v == "x")', /form of exists|is not valid/],
  ['claims.groups.exists(claims, claims == "x")', /the name "\w+" twice/],
  ['claims.groups.map(g, claims.groups.map(g, g))', /the name "\w+" twice/],
  ['claims.sub.matches(claims.sub)', /pattern that is not a string literal/],
  ['claims.sub.matches("(?=x)")', /has a pattern that/],
  ['claims.sub.matches("a**")', /has a pattern that/],
  ['has(claims.?sub)', /has\(\) of anything but a field/],
  ['type(claims.sub) == string', /uses type\(\)|uses "string"/],
  ['ip("1.2.3.4").isCanonical()', /uses ip\(\)|uses \.isCanonical/],
  ['claims.sub +', /is not valid/],
  ['', /is not valid/],
  [`"${'x'.repeat(5000)}"`, /too long/],
] as const) {
  test(`${source.slice(0, 50)} is refused when it is read, with the reason`, () => {
    assert.throws(
      () => readExpression(source, 'claims'),
      (error) => error instanceof ExpressionError && reason.test(error.message),
    );
  });
}

for (const source of [
  'claims.missing',
  'claims.missing.more',
  'claims.sub + 1',
  'claims.exp ? "a" : "b"',
  'claims.groups[9]',
  'claims.sub.substring(9)',
  'claims.mixed.join()',
  'string(claims.groups)',
  'claims.toString',
  'claims.constructor',
  'claims.nested.__proto_',
])
  test(`${source} is an error for these claims, never a value`, () => {
    assert.throws(() => value(source));
  });

test('an expression says whether it is a boolean, and which claims it names', () => {
  assert.equal(readExpression('claims.a', 'claims').isBoolean, false);
  assert.equal(readExpression('claims.?a.orValue(true)', 'claims').isBoolean, false);
  const rule = readExpression('claims.?email_verified.orValue(true) == true && claims["email"] != ""', 'claims');
  assert.equal(rule.isBoolean, true);
  assert.deepEqual([...rule.names], ['email_verified']);
});

test('an expression over the user knows its four fields and no others', () => {
  const user = new Map<string, JsonObject | string | readonly string[]>([
    ['username', 'system:x'],
    ['uid', ''],
    ['groups', ['a']],
    ['extra', new Map([['example.org/k', ['v']]])],
  ]);
  const run = (source: string): unknown => readExpression(source, 'user').evaluate(user);
  assert.equal(run("!user.username.startsWith('system:')"), false);
  assert.equal(run("user.groups.all(group, !group.startsWith('system:'))"), true);
  assert.equal(run("user.extra['example.org/k'][0] == 'v' && user.uid == ''"), true);
  assert.throws(() => run('user.name == "x"'), /the user has no "name"/);
});

test('loops within loops over long lists are refused before they run', () => {
  const groups = Array.from({ length: 2_000 }, (_, i) => `g${i}`);
  const long = new Map([['groups', groups]]);
  const once = readExpression('claims.groups.exists(g, g == "g1999")', 'claims');
  assert.equal(once.evaluate(long), true);
  const twice = readExpression('claims.groups.exists(g, claims.groups.exists(h, g + h == "x"))', 'claims');
  assert.throws(() => twice.evaluate(long), /too long/);
});
