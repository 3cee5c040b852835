import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import type { Attributes } from './attributes.ts';
import { impersonatedUser, impersonationChecks, readImpersonation } from './impersonation.ts';

const cluster = { name: 'm1', uid: '0d1c', labels: {} };

/** The authorizer of apiserver:pkg/endpoints/filters/impersonation/impersonation_test.go. */
function upstreamAllows({ user, verb, resource, subresource, name, apiGroup }: Attributes): boolean {
  const [first = '', second = ''] = user.groups;
  if (user.name === 'system:admin') return true;
  if (user.name === 'tester' || user.name === 'deny-me' || verb !== 'impersonate') return false;
  const authentication = apiGroup === 'authentication.k8s.io';
  if (['wheel', 'regular-impersonater'].includes(first) && resource === 'users') return true;
  if (first === 'sa-impersonater' && resource === 'serviceaccounts') return true;
  if (second === 'group-impersonater' && resource === 'groups') return true;
  if (second === 'extra-setter-scopes' && resource === 'userextras' && subresource === 'scopes') return true;
  if (second === 'escaped-scopes' || second === 'almost-escaped-scopes') return true;
  if (resource === 'userextras' && authentication) {
    if (second === 'extra-setter-particular-scopes' && subresource === 'scopes' && name === 'scope-a') return true;
    if (second === 'extra-setter-project' && subresource === 'project') return true;
    if (first === 'everything-impersonater' && subresource === 'scopes') return true;
  }
  if (first !== 'everything-impersonater') return false;
  if (resource === 'users' || resource === 'groups') return apiGroup === '';
  return resource === 'uids' && name === 'some-uid' && authentication;
}

/** What a request with these headers runs as, or the status it is refused with. */
function outcome(caller: User, headers: readonly string[]): User | number {
  try {
    const requested = readImpersonation(headers);
    if (requested === undefined) return caller;
    if (!impersonationChecks(requested, caller, cluster).every(upstreamAllows)) return 403;
    return impersonatedUser(requested, 'operator');
  } catch (error) {
    if (error instanceof GatewayError) return error.status;
    throw error;
  }
}

interface UpstreamCase {
  readonly name: string;
  readonly caller: readonly [name: string, ...groups: string[]];
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly extra?: readonly (readonly [string, readonly string[]])[];
  readonly uid?: string;
  readonly becomes: Parameters<typeof makeUser>[0] | number;
}

const scopes = [['scopes', ['scope-a', 'scope-b']]] as const;
const upstreamCases: readonly UpstreamCase[] = [
  { name: 'not-impersonating', caller: ['tester'], becomes: { name: 'tester' } },
  { name: 'impersonating-error', caller: ['tester'], user: 'anyone', becomes: 403 },
  { name: 'impersonating-group-without-user', caller: ['tester'], groups: ['some-group'], becomes: 400 },
  { name: 'impersonating-extra-without-user', caller: ['tester'], extra: [['scopes', ['scope-a']]], becomes: 400 },
  { name: 'impersonating-uid-without-user', caller: ['tester'], uid: 'some-uid', becomes: 400 },
  { name: 'disallowed-group', caller: ['dev', 'wheel'], user: 'system:admin', groups: ['some-group'], becomes: 403 },
  {
    name: 'allowed-group',
    caller: ['dev', 'wheel', 'group-impersonater'],
    user: 'system:admin',
    groups: ['some-group'],
    becomes: { name: 'system:admin', groups: ['some-group', 'system:authenticated'] },
  },
  {
    name: 'disallowed-userextra-1',
    caller: ['dev', 'wheel'],
    user: 'system:admin',
    groups: ['some-group'],
    extra: [['scopes', ['scope-a']]],
    becomes: 403,
  },
  {
    name: 'disallowed-userextra-2',
    caller: ['dev', 'wheel', 'extra-setter-project'],
    user: 'system:admin',
    groups: ['some-group'],
    extra: [['scopes', ['scope-a']]],
    becomes: 403,
  },
  {
    name: 'disallowed-userextra-3',
    caller: ['dev', 'wheel', 'extra-setter-particular-scopes'],
    user: 'system:admin',
    groups: ['some-group'],
    extra: scopes,
    becomes: 403,
  },
  {
    name: 'disallowed-userextra-3 without the group that upstream is stopped by already',
    caller: ['dev', 'wheel', 'extra-setter-particular-scopes'],
    user: 'system:admin',
    extra: scopes,
    becomes: 403,
  },
  {
    name: 'allowed-userextras',
    caller: ['dev', 'wheel', 'extra-setter-scopes'],
    user: 'system:admin',
    extra: scopes,
    becomes: { name: 'system:admin', groups: ['system:authenticated'], extra: scopes },
  },
  {
    name: 'percent-escaped-userextras',
    caller: ['dev', 'wheel', 'escaped-scopes'],
    user: 'system:admin',
    extra: [['example.com%2fescaped%e1%9b%84scopes', ['scope-a', 'scope-b']]],
    becomes: {
      name: 'system:admin',
      groups: ['system:authenticated'],
      extra: [['example.com/escapedᛄscopes', ['scope-a', 'scope-b']]],
    },
  },
  {
    name: 'almost-percent-escaped-userextras',
    caller: ['dev', 'wheel', 'almost-escaped-scopes'],
    user: 'system:admin',
    extra: [['almost%zzpercent%xxencoded', ['scope-a', 'scope-b']]],
    becomes: {
      name: 'system:admin',
      groups: ['system:authenticated'],
      extra: [['almost%zzpercent%xxencoded', ['scope-a', 'scope-b']]],
    },
  },
  {
    name: 'allowed-users-impersonation',
    caller: ['dev', 'regular-impersonater'],
    user: 'tester',
    becomes: { name: 'tester', groups: ['system:authenticated'] },
  },
  { name: 'disallowed-impersonating', caller: ['dev', 'sa-impersonater'], user: 'tester', becomes: 403 },
  {
    name: 'allowed-sa-impersonating',
    caller: ['dev', 'sa-impersonater'],
    user: 'system:serviceaccount:foo:default',
    becomes: {
      name: 'system:serviceaccount:foo:default',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:foo', 'system:authenticated'],
    },
  },
  {
    name: 'anonymous-username-prevents-adding-authenticated-group',
    caller: ['system:admin'],
    user: 'system:anonymous',
    becomes: { name: 'system:anonymous', groups: ['system:unauthenticated'] },
  },
  {
    name: 'unauthenticated-group-prevents-adding-authenticated-group',
    caller: ['system:admin'],
    user: 'unknown',
    groups: ['system:unauthenticated'],
    becomes: { name: 'unknown', groups: ['system:unauthenticated'] },
  },
  {
    name: 'unauthenticated-group-prevents-double-adding-authenticated-group',
    caller: ['system:admin'],
    user: 'unknown',
    groups: ['system:authenticated'],
    becomes: { name: 'unknown', groups: ['system:authenticated'] },
  },
  {
    name: 'specified-authenticated-group-prevents-double-adding-authenticated-group',
    caller: ['dev', 'wheel', 'group-impersonater'],
    user: 'system:admin',
    groups: ['some-group', 'system:authenticated'],
    becomes: { name: 'system:admin', groups: ['some-group', 'system:authenticated'] },
  },
  {
    name: 'anonymous-user-prevents-double-adding-unauthenticated-group',
    caller: ['system:admin'],
    user: 'system:anonymous',
    groups: ['system:unauthenticated'],
    becomes: { name: 'system:anonymous', groups: ['system:unauthenticated'] },
  },
  {
    name: 'allowed-user-impersonation-with-uid',
    caller: ['dev', 'everything-impersonater'],
    user: 'tester',
    uid: 'some-uid',
    becomes: { name: 'tester', uid: 'some-uid', groups: ['system:authenticated'] },
  },
  {
    name: 'disallowed-user-impersonation-with-uid',
    caller: ['dev', 'everything-impersonater'],
    user: 'tester',
    uid: 'disallowed-uid',
    becomes: 403,
  },
  {
    name: 'allowed-impersonation-with-all-headers',
    caller: ['dev', 'everything-impersonater'],
    user: 'tester',
    uid: 'some-uid',
    groups: ['system:authenticated'],
    extra: scopes,
    becomes: { name: 'tester', uid: 'some-uid', groups: ['system:authenticated'], extra: scopes },
  },
];

describe("kube-apiserver's own impersonation cases", () => {
  for (const upstream of upstreamCases) {
    test(upstream.name, () => {
      const [name, ...groups] = upstream.caller;
      const headers = ['Accept', 'application/json'];
      if (upstream.user !== undefined) headers.push('Impersonate-User', upstream.user);
      for (const group of upstream.groups ?? []) headers.push('Impersonate-Group', group);
      for (const [key, values] of upstream.extra ?? []) {
        for (const value of values) headers.push(`Impersonate-Extra-${key}`, value);
      }
      if (upstream.uid !== undefined) headers.push('Impersonate-Uid', upstream.uid);
      const expected = typeof upstream.becomes === 'number' ? upstream.becomes : makeUser(upstream.becomes);
      assert.deepEqual(outcome(makeUser({ name, groups }), headers), expected);
    });
  }
});
