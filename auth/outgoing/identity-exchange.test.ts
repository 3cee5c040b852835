import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { makeIdentityExchange } from './identity-exchange.ts';
import { parseClusterIdentityRules, parseIdentityRules } from './identity-rules.ts';
import type { IdentityRuleLimits } from './identity-rules.ts';

const plain: IdentityRuleLimits = { privilegedUser: undefined, usernameOnly: false };
const privileged: IdentityRuleLimits = { privilegedUser: 'gateway-admin', usernameOnly: false };

interface Written {
  readonly name?: string;
  readonly type?: string;
  readonly source?: object;
  readonly target?: object;
  readonly url?: string;
}

const asPrivileged = { type: 'PrivilegedIdentityExchanger' };
const asStatic = { type: 'StaticMappingIdentityExchanger' };
const document = (...rules: readonly Written[]): string =>
  JSON.stringify({
    apiVersion: 'cluster.core.oam.dev/v1alpha1',
    kind: 'ClusterGatewayProxyConfiguration',
    spec: { clientIdentityExchanger: { rules } },
  });

/** Who goes out in place of the user by the rules of a file; undefined when no rule matches. */
function exchanged(user: User, cluster: string, limits: IdentityRuleLimits, ...rules: readonly Written[]) {
  const exchange = makeIdentityExchange(parseIdentityRules(document(...rules), 'rules.yaml', limits), limits);
  const made = exchange.exchange(user, { name: cluster });
  return made && { name: made.name, uid: made.uid, groups: made.groups, extra: made.extra };
}
const identity = (name: string, groups: readonly string[] = [], uid = '') => ({ name, uid, groups, extra: [] });

/** Faults of a file, one text each. */
function faults(source: string, limits: IdentityRuleLimits = plain): readonly string[] {
  try {
    parseIdentityRules(source, 'rules.yaml', limits);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error));
    return error.message.split('\n');
  }
  return [];
}

describe("the cases of cluster-gateway's own tests", () => {
  const test1 = makeUser({ name: 'test', extra: [['scopes', ['a']]], uid: 'u' });

  test('a user matches by name; privileged rules go out as the configured user, never as the bare credential (CG-08)', () => {
    const rule = { name: 'user-match', ...asPrivileged, source: { user: 'test' } };
    assert.deepEqual(exchanged(test1, 'c', privileged, rule), identity('gateway-admin'));
    assert.match(faults(document(rule)).join(), /rules\[0\]\.type: needs --allow-privileged-identity/);
  });

  test('one of the groups matches; groups without a user are refused when the file is read (CG-09)', () => {
    const user = makeUser({ name: 'test', groups: ['group', 'test-group'] });
    const rule = { ...asStatic, source: { group: 'test-group' } };
    const target = { user: 'ann', groups: ['projected'] };
    assert.deepEqual(exchanged(user, 'c', plain, { ...rule, target }), identity('ann', ['projected']));
    assert.match(
      faults(document({ ...rule, target: { groups: ['projected'] } })).join(),
      /rules\[0\]\.target\.user: is missing: an API server refuses groups or a uid without a user/,
    );
  });

  test('a user matches by uid (CG-10)', () => {
    const user = makeUser({ name: 'abc', uid: '12345' });
    const rule = { name: 'uid-match', ...asPrivileged, source: { uid: '12345' } };
    assert.deepEqual(exchanged(user, 'c', privileged, rule), identity('gateway-admin'));
    assert.equal(exchanged(makeUser({ name: 'abc', uid: '1234' }), 'c', privileged, rule), undefined);
  });

  test('the first rule whose cluster is asked for wins (CG-11)', () => {
    const rules = ['c1', 'c2', 'c2'].map((cluster, i) => ({
      ...asStatic,
      source: { cluster },
      target: { user: `user-${i + 1}` },
    }));
    assert.deepEqual(exchanged(test1, 'c2', plain, ...rules), identity('user-2'));
  });

  test('a user matches by pattern (CG-12)', () => {
    const rule = { ...asStatic, source: { userPattern: 'test-.*' }, target: { user: 'ann' } };
    assert.deepEqual(exchanged(makeUser({ name: 'test-1234' }), 'c', plain, rule), identity('ann'));
    assert.equal(exchanged(test1, 'c', plain, rule), undefined);
  });

  test('any group may match the pattern (CG-13)', () => {
    const user = makeUser({ name: 'test', groups: ['group', 'test-group:a'] });
    const rule = {
      ...asStatic,
      source: { groupPattern: 'test-group:.+' },
      target: { user: 'ann', groups: ['projected'] },
    };
    assert.deepEqual(exchanged(user, 'c', plain, rule), identity('ann', ['projected']));
    assert.equal(exchanged(makeUser({ name: 'test', groups: ['group'] }), 'c', plain, rule), undefined);
  });

  const special = { ...asStatic, source: { clusterPattern: 'cluster-\\d+' }, target: { user: 'special' } };

  test('a cluster matches by pattern, and nothing of the caller is left (CG-14)', () => {
    assert.deepEqual(exchanged(test1, 'cluster-1', plain, special), identity('special'));
  });

  test('a rule that asks a server outside is refused when the file is read (CG-15)', () => {
    const rule = { type: 'ExternalIdentityExchanger', source: { user: 'test' }, url: 'https://x.test' };
    assert.deepEqual(faults(document(rule)).length, 1);
    assert.match(faults(document(rule))[0]!, /^rules\.yaml:1:\d+: spec\.clientIdentityExchanger\.rules\[0\]\.type: /);
  });

  test('without a match there is no exchange (CG-16)', () => {
    assert.equal(exchanged(test1, 'cluster-other', plain, special), undefined);
  });

  const local = document({ ...asStatic, source: { group: 'group' }, target: { user: 'local' } });
  const both = (groups: readonly string[], name = 'test') =>
    makeIdentityExchange(
      parseIdentityRules(document({ ...asStatic, source: { user: 'test' }, target: { user: 'global' } }), 'f', plain),
      plain,
    ).exchange(makeUser({ name, groups }), { name: 'c', identityExchange: local })?.name;

  test("the cluster's rules come before those of the file (CG-05)", () => assert.equal(both(['group']), 'local'));
  test("where none of the cluster's matches, the file's decide (CG-06)", () =>
    assert.equal(both(['group-test']), 'global'));
  test('where no rule matches the caller is who they are (CG-07)', () =>
    assert.equal(both(['group-test'], 'tester'), undefined));
});

test('every part of a source must hold', () => {
  const source = {
    user: 'ann',
    group: 'ops',
    uid: '1',
    cluster: 'c1',
    userPattern: '^a',
    groupPattern: '^o',
    clusterPattern: '1$',
  };
  const rule = { ...asStatic, source, target: { user: 'x' } };
  const ann = { name: 'ann', groups: ['ops'], uid: '1' };
  assert.ok(exchanged(makeUser(ann), 'c1', plain, rule));
  for (const change of [{ name: 'bob' }, { groups: ['dev'] }, { uid: '2' }])
    assert.equal(exchanged(makeUser({ ...ann, ...change }), 'c1', plain, rule), undefined);
  assert.equal(exchanged(makeUser(ann), 'c2', plain, rule), undefined);
  for (const change of [{ userPattern: '^b' }, { groupPattern: '^d' }, { clusterPattern: '2$' }])
    assert.equal(exchanged(makeUser(ann), 'c1', plain, { ...rule, source: { ...source, ...change } }), undefined);
});

test('two parts about groups may hold by two groups, as in cluster-gateway', () => {
  const rule = { ...asStatic, source: { group: 'a', groupPattern: '^b' }, target: { user: 'x' } };
  assert.ok(exchanged(makeUser({ name: 'n', groups: ['a', 'b1'] }), 'c', plain, rule));
});

test("cluster-gateway's example file loads as it is", () => {
  const example = `apiVersion: cluster.core.oam.dev/v1alpha1
kind: ClusterGatewayProxyConfiguration
spec:
  clientIdentityExchanger:
    rules:
      - name: super-user
        source:
          group: sudoer
        type: PrivilegedIdentityExchanger
      - name: mapping
        source:
          user: user-12345
          cluster: cluster-34567
        target:
          user: user-34567
        type: StaticMappingIdentityExchanger`;
  assert.deepEqual(
    parseIdentityRules(example, 'f', privileged).map(({ name, becomes }) => [name, becomes.name]),
    [
      ['super-user', 'gateway-admin'],
      ['mapping', 'user-34567'],
    ],
  );
  assert.deepEqual(faults(example), [
    'rules.yaml:9:9: spec.clientIdentityExchanger.rules[0].type: needs --allow-privileged-identity and --privileged-user NAME',
  ]);
});

describe('what could widen a rule is refused, with its position', () => {
  const good = { ...asStatic, source: { user: 'a' }, target: { user: 'x' } };
  const cases: readonly (readonly [title: string, rule: Written, reason: RegExp])[] = [
    ['S01: a mapping to the empty user', { ...good, target: { user: '' } }, /target\.user: must not be empty/],
    [
      'S01: a mapping to nobody',
      { ...asStatic, source: { user: 'a' } },
      /target: is missing: name the user to impersonate/,
    ],
    ['S01: a mapping to an empty group', { ...good, target: { user: 'x', groups: [''] } }, /groups\[0\]: must not be/],
    ['S01: a mapping to an empty uid', { ...good, target: { user: 'x', uid: '' } }, /target\.uid: must not be empty/],
    ['S15: a line break in the user', { ...good, target: { user: 'x\r\nImpersonate-Group: y' } }, /control character/],
    ['S15: a NUL in a group', { ...good, target: { user: 'x', groups: ['a\0'] } }, /control character/],
    [
      'S16: white space around the user',
      { ...good, target: { user: ' x' } },
      /target\.user: starts or ends with white/,
    ],
    ['S19: a name of the gateway itself', { ...good, target: { user: 'portcullis:probe' } }, /are the gateway's own/],
    ['S19: a group of the gateway', { ...good, target: { user: 'x', groups: ['portcullis:y'] } }, /gateway's own/],
    ['no source', { ...asStatic, target: { user: 'x' } }, /rules\[0\]\.source: is missing/],
    ['a source that names nobody', { ...good, source: {} }, /source: names nobody; write group/],
    ['an empty name', { ...good, source: { user: '' } }, /source\.user: must not be empty/],
    ['an empty pattern', { ...good, source: { userPattern: '' } }, /userPattern: must not be empty/],
    [
      'a star for a pattern',
      { ...good, source: { userPattern: '*' } },
      /userPattern: is not a regular expression of Go/,
    ],
    ['a pattern that does not end', { ...good, source: { groupPattern: '(' } }, /groupPattern: is not a regular/],
    ['a misspelt field', { ...good, source: { userPatern: 'a' } }, /source\.userPatern: is not a field of this object/],
    ['a number for a name', { ...good, source: { user: 12_345 } }, /source\.user: must be a string/],
    ['an unknown type', { ...good, type: 'Static' }, /rules\[0\]\.type: must be "Privileged/],
    ['an extra in the target', { ...good, target: { user: 'x', extra: {} } }, /target\.extra: is not a field/],
    ['a privileged rule with a target', { ...good, ...asPrivileged }, /target: must be removed/],
    ['an address where none is asked', { ...good, url: 'https://x.test' }, /url: has no meaning/],
  ];
  for (const [title, rule, reason] of cases) {
    test(title, () => {
      const found = faults(document(rule), privileged);
      assert.ok(found.length > 0, 'it was accepted');
      assert.match(found.join('\n'), reason);
      assert.match(found[0]!, /^rules\.yaml:1:\d+: /);
    });
  }

  test('one bad rule refuses the file, and all faults are told at once', () => {
    const bad = { ...good, source: {} };
    assert.equal(faults(document(good, bad, good, { ...good, target: {} })).length, 2);
  });

  test('documents that are none of these', () => {
    assert.match(faults('').join(), /rules\.yaml: is empty/);
    assert.match(faults('null').join(), /must be an object/);
    assert.match(faults('spec: {}').join(), /spec\.clientIdentityExchanger: is missing/);
    assert.match(faults(document().replace('v1alpha1', 'v1')).join(), /apiVersion: must be "cluster\.core/);
    assert.match(faults('kind: Secret\nspec: {clientIdentityExchanger: {}}').join(), /rules\.yaml:1:1: kind: must be/);
    assert.match(faults('a: [').join(), /^rules\.yaml:1:/);
    assert.deepEqual(faults(document()), []);
  });

  test('a fault never quotes the values of what may be the wrong file (ATT-32)', () => {
    const token = 'eyJhbGciOi.secret';
    const wrong = JSON.stringify({ kind: 'Config', users: [{ user: { token } }], spec: token });
    assert.ok(!faults(wrong).join('\n').includes('secret'));
    const pattern = document({ ...good, source: { userPattern: `(${token}` } });
    assert.ok(!faults(pattern).join('\n').includes('secret'));
  });

  test('with a username-only gateway, targets that would be cut are refused', () => {
    const limits = { privilegedUser: undefined, usernameOnly: true };
    const found = faults(document({ ...good, target: { user: 'x', groups: ['g'], uid: '1' } }), limits).join('\n');
    assert.match(found, /target\.groups: cannot be sent with --impersonation-mode=username/);
    assert.match(found, /target\.uid: cannot/);
    assert.deepEqual(faults(document(good), limits), []);
  });
});

describe("a cluster's own annotation", () => {
  const user = makeUser({ name: 'alice' });
  const mapped = (identityExchange: string, name = 'c1') =>
    makeIdentityExchange(
      parseIdentityRules(
        document({ ...asStatic, source: { user: 'alice' }, target: { user: 'global' } }),
        'f',
        privileged,
      ),
      privileged,
    ).exchange(user, { name, identityExchange });
  const closed = (reason: RegExp) => (error: unknown) =>
    error instanceof GatewayError &&
    error.code === 'CLUSTER_UNUSABLE' &&
    error.status === 503 &&
    reason.test(error.message);

  test('that is malformed closes the cluster; the rules of the file never take its place', () => {
    assert.throws(() => mapped('{'), closed(/cluster "c1".*not valid: annotation cluster\.core\.oam\.dev/));
    assert.throws(() => mapped(''), closed(/is empty/));
    assert.throws(() => mapped('rules: []'), closed(/spec: is missing/));
    assert.throws(() => mapped(document({ ...asStatic, source: { user: 'bob' } })), closed(/target: is missing/));
    assert.throws(() => mapped('{'), closed(/./), 'and again, from memory');
  });

  test('may not be privileged, whatever the flags say (ATT-19)', () => {
    assert.throws(
      () => mapped(document({ ...asPrivileged, source: { user: 'alice' } })),
      closed(/privileged rules are taken from the gateway's own file only/),
    );
  });

  test('is about its own cluster, whatever it says of clusters', () => {
    const rule = { ...asStatic, source: { user: 'alice', cluster: 'elsewhere' }, target: { user: 'local' } };
    assert.equal(mapped(document(rule))?.name, 'local');
    const elsewhere = { ...rule, source: { user: 'alice', clusterPattern: '^elsewhere$' } };
    assert.equal(mapped(document(elsewhere))?.name, 'global');
    const [own] = parseClusterIdentityRules(document(rule), 'c1', plain);
    assert.equal(own?.source.cluster, 'c1');
  });

  test('without rules leaves the decision to the file', () => {
    assert.equal(mapped(document())?.name, 'global');
  });

  test('has its fault told in words', () => {
    const exchange = makeIdentityExchange([], plain);
    assert.match(exchange.fault({ name: 'c1', identityExchange: '{' }) ?? '', /annotation cluster\.core\.oam\.dev/);
    assert.equal(exchange.fault({ name: 'c1', identityExchange: document() }), undefined);
    assert.equal(exchange.fault({ name: 'c1' }), undefined);
  });
});

test('a name too long for patterns is refused, not taken for one that does not match (ATT-18)', () => {
  const rule = { ...asStatic, source: { userPattern: '^contractor-' }, target: { user: 'limited' } };
  const long = makeUser({ name: `contractor-${'x'.repeat(1_100)}` });
  assert.throws(
    () => exchanged(long, 'c', plain, rule),
    (error) => error instanceof GatewayError && error.code === 'IDENTITY_REFUSED',
  );
  assert.equal(exchanged(long, 'c', plain, { ...rule, source: { user: 'x' } }), undefined);
});

test('whoever asks, the answer is a user of the rules or nobody', () => {
  const names = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
  const rules = [
    { ...asStatic, source: { userPattern: '^[a-m]', group: 'ops' }, target: { user: 'first' } },
    { ...asStatic, source: { groupPattern: 's$' }, target: { user: 'second' } },
  ];
  const exchange = makeIdentityExchange(parseIdentityRules(document(...rules), 'f', plain), plain);
  fc.assert(
    fc.property(names, fc.array(fc.constantFrom('ops', 'dev', 'admins')), (name, groups) => {
      fc.pre(name === name.trim() && !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(name));
      const made = exchange.exchange(makeUser({ name, groups }), { name: 'c' });
      const wanted =
        /^[a-m]/.test(name) && groups.includes('ops')
          ? 'first'
          : groups.some((g) => g.endsWith('s'))
            ? 'second'
            : undefined;
      assert.equal(made?.name, wanted);
    }),
  );
});
