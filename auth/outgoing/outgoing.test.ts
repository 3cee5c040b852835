import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { makeIdentityExchange } from './identity-exchange.ts';
import { parseIdentityRules } from './identity-rules.ts';
import { makeOutgoingRules, outgoingIdentity } from './outgoing.ts';
import type { OutgoingRules, OutgoingSettings } from './outgoing.ts';

const limits = { privilegedUser: undefined, usernameOnly: false };
const noExchange = makeIdentityExchange([], limits);
const rulesWith = (change: Partial<OutgoingSettings>): OutgoingRules =>
  makeOutgoingRules({
    trust: { forwardSystemMasters: false, serviceAccountIdentity: 'prefixed' },
    exchange: noExchange,
    extra: undefined,
    usernameOnly: false,
    ...change,
  });
const exchangeOf = (...rules: readonly object[]) =>
  makeIdentityExchange(
    parseIdentityRules(
      JSON.stringify({
        spec: {
          clientIdentityExchanger: {
            rules: rules.map((rule) => ({ type: 'StaticMappingIdentityExchanger', ...rule })),
          },
        },
      }),
      'f',
      limits,
    ),
    limits,
  );
const cluster = (change: Partial<ClusterSpec> = {}): ClusterSpec =>
  ({ name: 'c1', uid: 'uid-c1', ...change }) as ClusterSpec;
const sent = (user: User, rules: OutgoingRules, spec = cluster()) => {
  const { name, uid, groups, extra } = outgoingIdentity(user, spec, rules);
  return { name, uid, groups, extra };
};
const hubUser = (name: string, ...groups: string[]): User =>
  makeUser({ name, groups: [...groups, 'system:authenticated'], origin: 'hub' });
const refused = (error: unknown): boolean => error instanceof GatewayError && error.code === 'IDENTITY_REFUSED';

test('without any rules the whole caller goes out', () => {
  const extra = [['scopes', ['a', 'b']]] as const;
  const user = makeUser({ name: 'ann', uid: 'u', groups: ['dev', 'system:authenticated'], extra });
  assert.deepEqual(sent(user, rulesWith({})), { name: 'ann', uid: 'u', groups: ['dev'], extra });
});

test('what a hub may not give away is taken off or refused (ATT-19)', () => {
  const rules = rulesWith({});
  assert.deepEqual(sent(hubUser('ann', 'system:masters', 'dev'), rules).groups, ['dev']);
  assert.equal(sent(hubUser('system:serviceaccount:a:b'), rules).name, 'cluster:hub:system:serviceaccount:a:b');
  assert.throws(() => sent(hubUser('system:node:n1'), rules), refused);
});

test("exchange rules see the hub's own name, and their word is not taken off again", () => {
  const rules = rulesWith({
    exchange: exchangeOf(
      { source: { user: 'system:serviceaccount:a:b' }, target: { user: 'system:serviceaccount:x:y' } },
      { source: { user: 'system:node:n1' }, target: { user: 'node-reader' } },
      { source: { group: 'system:masters' }, target: { user: 'root', groups: ['system:masters'] } },
    ),
  });
  assert.equal(sent(hubUser('system:serviceaccount:a:b'), rules).name, 'system:serviceaccount:x:y');
  assert.equal(sent(hubUser('system:node:n1'), rules).name, 'node-reader');
  assert.deepEqual(sent(hubUser('ann', 'system:masters'), rules).groups, ['system:masters']);
  assert.equal(sent(hubUser('system:serviceaccount:a:c'), rules).name, 'cluster:hub:system:serviceaccount:a:c');
  assert.throws(() => sent(hubUser('system:node:n2'), rules), refused);
});

test('only listed extra keys go out; the rest of the identity stays', () => {
  const user = makeUser({
    name: 'ann',
    uid: 'u',
    groups: ['dev'],
    extra: [
      ['a.io/k', ['1']],
      ['b', ['2', '3']],
    ],
  });
  assert.deepEqual(sent(user, rulesWith({ extra: new Set(['a.io/k']) })), {
    name: 'ann',
    uid: 'u',
    groups: ['dev'],
    extra: [['a.io/k', ['1']]],
  });
  assert.deepEqual(sent(user, rulesWith({ extra: new Set() })).extra, []);
  assert.deepEqual(sent(user, rulesWith({ extra: new Set(['__proto__']) })).extra, []);
});

test('a username-only gateway sends nothing but names', () => {
  const rules = rulesWith({ usernameOnly: true });
  const user = makeUser({ name: 'ann', uid: 'u', groups: ['dev', 'system:authenticated'], extra: [['k', ['v']]] });
  assert.deepEqual(sent(user, rules), { name: 'ann', uid: '', groups: [], extra: [] });
  assert.equal(sent(hubUser('system:serviceaccount:a:b'), rules).name, 'cluster:hub:system:serviceaccount:a:b');
  const anonymous = makeUser({ name: 'system:anonymous', groups: ['system:unauthenticated'] });
  assert.deepEqual(sent(anonymous, rules).groups, []);
  assert.throws(() => sent(makeUser({ name: 'ann', groups: ['system:unauthenticated'] }), rules), refused);
});

test('an answer is made once for a user and, where rules may apply, a cluster', () => {
  const user = hubUser('ann', 'dev');
  const plain = rulesWith({});
  const made = outgoingIdentity(user, cluster(), plain);
  assert.equal(outgoingIdentity(user, cluster({ uid: 'other' }), plain), made);
  const rules = rulesWith({ exchange: exchangeOf({ source: { cluster: 'c2' }, target: { user: 'x' } }) });
  const one = cluster();
  const two = cluster({ name: 'c2' });
  assert.equal(outgoingIdentity(user, one, rules), outgoingIdentity(user, one, rules));
  assert.equal(outgoingIdentity(user, two, rules), outgoingIdentity(user, two, rules));
  assert.equal(outgoingIdentity(user, one, rules).name, 'ann');
  assert.equal(outgoingIdentity(user, two, rules).name, 'x');
});

test('a cluster registered anew, or with another annotation, is asked about anew (ATT-24)', () => {
  const user = hubUser('ann');
  const rules = rulesWith({});
  const annotated = (target: string): ClusterSpec =>
    cluster({
      identityExchange: `{spec: {clientIdentityExchanger: {rules: [{type: StaticMappingIdentityExchanger, source: {user: ann}, target: {user: ${target}}}]}}}`,
    });
  assert.equal(outgoingIdentity(user, annotated('one'), rules).name, 'one');
  assert.equal(outgoingIdentity(user, annotated('two'), rules).name, 'two');
  assert.equal(outgoingIdentity(user, cluster(), rules).name, 'ann');
  assert.equal(outgoingIdentity(user, annotated('three'), rules).name, 'three', 'after one that no rule concerns');
});

test('a refusal is not remembered as an answer', () => {
  const rules = rulesWith({ usernameOnly: true });
  const user = makeUser({ name: 'ann', groups: ['system:unauthenticated'] });
  for (let i = 0; i < 2; i++) assert.throws(() => outgoingIdentity(user, cluster(), rules), refused);
});
