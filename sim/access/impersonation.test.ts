// Named after the cases of kubernetes' own impersonation_test.go, with its authorizer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes, Authorize } from './authorize.ts';
import { impersonate } from './impersonation.ts';
import type { SimUser } from '../model/types.ts';

/** impersonateAuthorizer of impersonation_test.go. */
const authorize: Authorize = (a: Attributes) => {
  const { name, groups } = a.user;
  const is = (group: string): boolean => groups.includes(group);
  const allowed =
    name === 'system:admin' ||
    (is('wheel') && a.verb === 'impersonate' && a.resource === 'users') ||
    (is('sa-impersonater') && a.resource === 'serviceaccounts') ||
    (is('regular-impersonater') && a.resource === 'users') ||
    (is('group-impersonater') && a.resource === 'groups') ||
    (is('extra-setter-scopes') && a.resource === 'userextras' && a.subresource === 'scopes') ||
    (is('extra-setter-particular-scopes') &&
      a.resource === 'userextras' &&
      a.subresource === 'scopes' &&
      a.name === 'scope-a') ||
    (is('extra-setter-project') && a.resource === 'userextras' && a.subresource === 'project') ||
    (is('everything-impersonater') && ['users', 'groups', 'uids', 'userextras'].includes(a.resource));
  return { isAllowed: allowed, reason: '' };
};

const caller = (name: string, ...groups: string[]): SimUser => ({ name, groups });
const run = (user: SimUser, ...rawHeaders: string[]): SimUser | undefined => impersonate(rawHeaders, user, authorize);
const status = (code: number) => (error: { code: number }) => error.code === code;

test('not impersonating', () => assert.equal(run(caller('tester')), undefined));
test('impersonating without the right is 403 with the words of kube-apiserver', () => {
  assert.throws(() => run(caller('tester'), 'Impersonate-User', 'anyone'), {
    code: 403,
    message:
      'users "anyone" is forbidden: User "tester" cannot impersonate resource "users" in API group "" at the cluster scope',
  });
});
test('impersonating group without user is 400', () => {
  assert.throws(() => run(caller('tester'), 'Impersonate-Group', 'some-group'), status(400));
});
test('impersonating extra without user is 400', () => {
  assert.throws(() => run(caller('tester'), 'Impersonate-Extra-scopes', 'scope-a'), status(400));
});
test('impersonating uid without user is 400', () => {
  assert.throws(() => run(caller('tester'), 'Impersonate-Uid', 'some-uid'), status(400));
});
test('an empty user with groups is 400', () => {
  assert.throws(() => run(caller('tester'), 'Impersonate-User', '', 'Impersonate-Group', 'g'), status(400));
});
test('disallowed group', () => {
  assert.throws(
    () => run(caller('dev', 'wheel'), 'Impersonate-User', 'system:admin', 'Impersonate-Group', 'some-group'),
    status(403),
  );
});
test('allowed group', () => {
  const user = run(
    caller('dev', 'wheel', 'group-impersonater'),
    'Impersonate-User',
    'system:admin',
    'Impersonate-Group',
    'some-group',
  );
  assert.deepEqual(user, { name: 'system:admin', groups: ['some-group', 'system:authenticated'] });
});
test('disallowed userextra', () => {
  const headers = ['Impersonate-User', 'system:admin', 'Impersonate-Group', 'g', 'Impersonate-Extra-scopes', 'scope-a'];
  assert.throws(() => run(caller('dev', 'wheel', 'group-impersonater'), ...headers), {
    code: 403,
    message:
      'userextras.authentication.k8s.io "scope-a" is forbidden: User "dev" cannot impersonate resource "userextras/scopes" in API group "authentication.k8s.io" at the cluster scope',
  });
});
test('one allowed extra value does not allow another', () => {
  const headers = [
    'Impersonate-User',
    'system:admin',
    'Impersonate-Extra-scopes',
    'scope-a',
    'Impersonate-Extra-scopes',
    'scope-b',
  ];
  assert.throws(() => run(caller('dev', 'wheel', 'extra-setter-particular-scopes'), ...headers), status(403));
});
test('all extra values of a key arrive, in order, the key lower case', () => {
  const headers = [
    'Impersonate-User',
    'system:admin',
    'Impersonate-Extra-Scopes',
    'scope-a',
    'impersonate-extra-scopes',
    'scope-b',
  ];
  assert.deepEqual(run(caller('dev', 'wheel', 'extra-setter-scopes'), ...headers)?.extra, {
    scopes: ['scope-a', 'scope-b'],
  });
});
test('a percent-escaped extra key is unescaped', () => {
  const headers = ['Impersonate-User', 'u', 'Impersonate-Extra-example.com%2Fescaped%E1%9B%84scopes', 'scope-a'];
  assert.deepEqual(run(caller('dev', 'everything-impersonater'), ...headers)?.extra, {
    'example.com/escaped\u16c4scopes': ['scope-a'],
  });
});
test('an almost percent-escaped extra key is kept as it is', () => {
  const headers = ['Impersonate-User', 'u', 'Impersonate-Extra-almost%zzpercent%xxencoded', 'scope-a'];
  assert.deepEqual(run(caller('dev', 'everything-impersonater'), ...headers)?.extra, {
    'almost%zzpercent%xxencoded': ['scope-a'],
  });
});
test('allowed users impersonation', () => {
  assert.deepEqual(run(caller('dev', 'regular-impersonater'), 'Impersonate-User', 'tester'), {
    name: 'tester',
    groups: ['system:authenticated'],
  });
});
test('disallowed service account impersonation', () => {
  assert.throws(
    () => run(caller('dev', 'sa-impersonater-not'), 'Impersonate-User', 'system:serviceaccount:foo:default'),
    {
      code: 403,
      message:
        'serviceaccounts "default" is forbidden: User "dev" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "foo"',
    },
  );
});
test('an allowed service account gets its groups', () => {
  assert.deepEqual(
    run(caller('dev', 'sa-impersonater'), 'Impersonate-User', 'system:serviceaccount:foo:default')?.groups,
    ['system:serviceaccounts', 'system:serviceaccounts:foo', 'system:authenticated'],
  );
});
test('groups given for a service account are authoritative', () => {
  const user = run(
    caller('system:admin'),
    'Impersonate-User',
    'system:serviceaccount:foo:default',
    'Impersonate-Group',
    'g',
  );
  assert.deepEqual(user?.groups, ['g', 'system:authenticated']);
});
test('anonymous gets system:unauthenticated and not system:authenticated', () => {
  assert.deepEqual(run(caller('system:admin'), 'Impersonate-User', 'system:anonymous')?.groups, [
    'system:unauthenticated',
  ]);
  const marked = run(
    caller('system:admin'),
    'Impersonate-User',
    'system:anonymous',
    'Impersonate-Group',
    'system:unauthenticated',
  );
  assert.deepEqual(marked?.groups, ['system:unauthenticated']);
});
test('system:authenticated is not added beside itself or system:unauthenticated', () => {
  for (const group of ['system:authenticated', 'system:unauthenticated'])
    assert.deepEqual(run(caller('system:admin'), 'Impersonate-User', 'u', 'Impersonate-Group', group)?.groups, [group]);
});
test('uid allowed and denied', () => {
  const headers = ['Impersonate-User', 'u', 'Impersonate-Uid', 'some-uid'];
  assert.equal(run(caller('dev', 'everything-impersonater'), ...headers)?.uid, 'some-uid');
  assert.throws(() => run(caller('dev', 'regular-impersonater'), ...headers), {
    code: 403,
    message:
      'uids.authentication.k8s.io "some-uid" is forbidden: User "dev" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope',
  });
});
test('only the first user header counts', () => {
  assert.equal(run(caller('system:admin'), 'Impersonate-User', 'a', 'Impersonate-User', 'b')?.name, 'a');
});
