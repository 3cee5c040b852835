import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { impersonatedUser, impersonationChecks, outgoingUser, readImpersonation } from './impersonation.ts';

const cluster = { name: 'm1', uid: '0d1c', labels: {} };
const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
const refused = (status: number) => (error: unknown) => error instanceof GatewayError && error.status === status;

describe('headers that are refused', () => {
  const ok = ['Impersonate-User', 'bob'];
  const cases: readonly (readonly [title: string, headers: readonly string[], status: number])[] = [
    ['an unknown Impersonate header', [...ok, 'Impersonate-Foo', 'x'], 400],
    ['an unknown Impersonate header alone, in capitals', ['IMPERSONATE-FOO', ''], 400],
    ['an underscore look-alike', ['Impersonate_User', 'bob'], 400],
    ['an underscore look-alike of an extra', [...ok, 'impersonate_extra_scopes', 'x'], 400],
    ['a trailing dot', ['impersonate-user.', 'bob'], 400],
    ['a trailing escape', ['Impersonate-User%20', 'bob'], 400],
    ['an extra without key', [...ok, 'Impersonate-Extra-', 'x'], 400],
    ['an empty user', ['Impersonate-User', ''], 400],
    ['an empty user beside a group', ['Impersonate-User', '', 'Impersonate-Group', 'admins'], 400],
    ['an empty group', [...ok, 'Impersonate-Group', ''], 400],
    ['a user given twice', [...ok, 'impersonate-user', 'alice'], 400],
    ['a uid given twice', [...ok, 'Impersonate-Uid', '1', 'Impersonate-Uid', '2'], 400],
    ['a user that is not UTF-8', ['Impersonate-User', 'j\u00fcrgen'], 400],
    ['a group that is not UTF-8', [...ok, 'Impersonate-Group', '\u00ff'], 400],
    ['an extra key whose escapes are not UTF-8', [...ok, 'Impersonate-Extra-%ff', 'x'], 400],
    ['a reserved user', ['Impersonate-User', 'portcullis:probe'], 403],
    ['a reserved group', [...ok, 'Impersonate-Group', 'portcullis:x'], 403],
    ['a user with white space around it', ['Impersonate-User', ' admin'], 403],
    ['a group with white space around it', [...ok, 'Impersonate-Group', 'admins\t'], 403],
    ['a line break in an extra key', [...ok, 'Impersonate-Extra-a%0d%0ax', 'x'], 403],
    ['a NUL in an extra key', [...ok, 'Impersonate-Extra-%00', 'x'], 403],
    ['a next-line character in a user', ['Impersonate-User', latin1('a\u0085b')], 403],
  ];
  for (const [title, headers, status] of cases) {
    test(`${title} is ${status}`, () => {
      assert.throws(() => readImpersonation(headers), refused(status));
    });
  }
});

test('spelling of header names does not matter, order of values does', () => {
  const requested = readImpersonation([
    'iMPERSONATE-uSER',
    'bob',
    'impersonate-group',
    'b',
    'IMPERSONATE-GROUP',
    'a,system:masters',
    'Impersonate-Extra-K',
    '1',
    'impersonate-extra-k',
    '2',
  ]);
  assert.deepEqual(requested, { name: 'bob', uid: '', groups: ['b', 'a,system:masters'], extra: [['k', ['1', '2']]] });
});

test('names only near to impersonation are left alone', () => {
  assert.equal(
    readImpersonation(['X-Impersonate-User', 'bob', 'Impersonated', 'x', 'Accept', 'Impersonate-User']),
    undefined,
  );
});

test('an empty uid is no uid', () => {
  const requested = readImpersonation(['Impersonate-User', 'bob', 'Impersonate-Uid', '']);
  assert.ok(requested);
  assert.deepEqual(
    impersonationChecks(requested, makeUser({ name: 'dev' }), cluster).map((check) => check.resource),
    ['users'],
  );
});

test('values are read as UTF-8', () => {
  const requested = readImpersonation(['Impersonate-User', latin1('jürgen'), 'Impersonate-Group', latin1('日本')]);
  assert.equal(requested?.name, 'jürgen');
  assert.deepEqual(requested?.groups, ['日本']);
});

test('keys that are the same once unescaped are one key, and that key is what must be allowed', () => {
  const requested = readImpersonation([
    'Impersonate-User',
    'bob',
    'Impersonate-Extra-%41',
    '1',
    'Impersonate-Extra-a',
    '2',
    'Impersonate-Extra-__proto__',
    '3',
  ]);
  assert.ok(requested);
  assert.deepEqual(requested.extra, [
    ['a', ['1', '2']],
    ['__proto__', ['3']],
  ]);
  const checks = impersonationChecks(requested, makeUser({ name: 'dev' }), cluster);
  assert.deepEqual(
    checks.map((check) => [check.resource, check.subresource, check.name]),
    [
      ['users', '', 'bob'],
      ['userextras', 'a', '1'],
      ['userextras', 'a', '2'],
      ['userextras', '__proto__', '3'],
    ],
  );
});

test('checks ask about the caller, on the cluster of the request', () => {
  const requested = readImpersonation(['Impersonate-User', 'system:serviceaccount:ns:sa', 'Impersonate-Uid', 'u']);
  assert.ok(requested);
  const caller = makeUser({ name: 'dev', groups: ['g'] });
  const [account, uid] = impersonationChecks(requested, caller, cluster);
  const common = { user: caller, verb: 'impersonate', cluster, resourceRequest: true, subresource: '', path: '' };
  assert.deepEqual(account, {
    ...common,
    apiGroup: '',
    apiVersion: '',
    resource: 'serviceaccounts',
    namespace: 'ns',
    name: 'sa',
  });
  assert.deepEqual(uid, {
    ...common,
    apiGroup: 'authentication.k8s.io',
    apiVersion: 'v1',
    resource: 'uids',
    namespace: '',
    name: 'u',
  });
});

test('a malformed ServiceAccount name is an ordinary user', () => {
  const names = ['a', 'a:b:c', ':b', 'a:', 'A:b', 'a:B', 'a.b:c', `${'a'.repeat(64)}:b`, `a:${'b'.repeat(254)}`];
  for (const name of names) {
    const requested = readImpersonation(['Impersonate-User', `system:serviceaccount:${name}`]);
    assert.ok(requested);
    const [check] = impersonationChecks(requested, makeUser({ name: 'dev' }), cluster);
    assert.equal(check?.resource, 'users', name);
    assert.deepEqual(impersonatedUser(requested, 'operator').groups, ['system:authenticated'], name);
  }
});

/** client-go:transport/round_trippers.go headerKeyEscape, over UTF-8 bytes. */
function headerKeyEscape(key: string): string {
  return [...Buffer.from(key, 'utf8')]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[!#$&'*+\-.^_`|~0-9A-Za-z]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

test('any extra key survives the way through a header, in lower case', () => {
  // fast-check's own unit of all code points takes two seconds to build.
  const character = fc.oneof(fc.nat(0x7f), fc.nat(0x10ffff)).map((code) => String.fromCodePoint(code));
  const characters = fc.array(character, { minLength: 1 }).map((all) => all.join(''));
  const usable = characters.filter((key) => {
    try {
      return makeUser({ name: 'x', extra: [[key, []]] }).extra.length === 1 && key.toLowerCase().trim() !== '';
    } catch {
      return false;
    }
  });
  fc.assert(
    fc.property(usable, fc.constantFrom('Impersonate-Extra-', 'impersonate-extra-'), (key, prefix) => {
      const requested = readImpersonation(['Impersonate-User', 'bob', prefix + headerKeyEscape(key), 'v']);
      assert.deepEqual(requested?.extra, [[key.toLowerCase(), ['v']]]);
    }),
    { numRuns: 500 },
  );
});

describe('the identity that goes out', () => {
  /** What a member makes of the headers written for a user. */
  const arrival = (user: User) => {
    const headers = ['Impersonate-User', user.name, ...user.groups.flatMap((group) => ['Impersonate-Group', group])];
    const requested = readImpersonation(headers);
    assert.ok(requested);
    return impersonatedUser(requested, 'operator');
  };
  const groupNames = fc.constantFrom(
    'a',
    'b',
    'system:authenticated',
    'system:unauthenticated',
    'system:masters',
    'system:serviceaccounts',
    'system:serviceaccounts:ns',
  );
  const names = fc.constantFrom(
    'bob',
    'system:anonymous',
    'system:serviceaccount:ns:sa',
    'system:serviceaccount:other:sa',
  );

  test('arrives at a member as exactly the user it was', () => {
    fc.assert(
      fc.property(names, fc.array(groupNames), (name, groups) => {
        const user = impersonatedUser({ name, uid: 'u', groups, extra: [['k', ['v']]] }, 'operator');
        const sent = outgoingUser(user);
        assert.deepEqual(new Set(arrival(sent).groups), new Set(user.groups));
        assert.deepEqual([sent.name, sent.uid, sent.extra], [user.name, user.uid, user.extra]);
      }),
      { numRuns: 500 },
    );
  });

  test('leaves out the groups that a member adds by itself', () => {
    const sent = (name: string, ...groups: string[]) => outgoingUser(makeUser({ name, groups })).groups;
    assert.deepEqual(sent('bob', 'dev', 'system:authenticated'), ['dev']);
    assert.deepEqual(sent('bob', 'system:authenticated'), []);
    assert.deepEqual(sent('system:anonymous', 'system:unauthenticated'), []);
    assert.deepEqual(sent('system:serviceaccount:a:b', 'system:serviceaccounts', 'system:authenticated'), [
      'system:serviceaccounts',
    ]);
  });

  test("sends a ServiceAccount's name alone when its groups are what the member gives it", () => {
    const groups = ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated'];
    assert.deepEqual(outgoingUser(makeUser({ name: 'system:serviceaccount:a:b', groups })).groups, []);
    const more = outgoingUser(makeUser({ name: 'system:serviceaccount:a:b', groups: [...groups, 'ops'] })).groups;
    assert.deepEqual(more, ['system:serviceaccounts', 'system:serviceaccounts:a', 'ops']);
  });

  test('keeps them where leaving them out would give the user more rights', () => {
    const sent = (name: string, ...groups: string[]) => outgoingUser(makeUser({ name, groups })).groups;
    assert.deepEqual(sent('bob', 'system:unauthenticated'), ['system:unauthenticated']);
    assert.deepEqual(sent('system:serviceaccount:a:b', 'system:authenticated'), ['system:authenticated']);
  });
});
