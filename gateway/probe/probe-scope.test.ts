import assert from 'node:assert/strict';
import { test } from 'node:test';
import { broaderRules } from './probe-scope.ts';
import type { ReviewedRule } from './probe-scope.ts';

const create = ['create'];
const needed: readonly ReviewedRule[] = [
  { verbs: ['impersonate'], apiGroups: [''], resources: ['users', 'groups', 'serviceaccounts'] },
  { verbs: ['impersonate'], apiGroups: ['authentication.k8s.io'], resources: ['*'] },
  { verbs: ['impersonate:user-info', 'impersonate:serviceaccount'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['impersonate-on:user-info:get'], apiGroups: [''], resources: ['pods'] },
  { verbs: ['impersonate-on:user-info:get'], nonResourceURLs: ['*'] },
  { verbs: create, apiGroups: ['authorization.k8s.io'], resources: ['selfsubjectaccessreviews'] },
  { verbs: ['get'], nonResourceURLs: ['/readyz', '/version'] },
  { verbs: ['get'], nonResourceURLs: ['/.well-known/openid-configuration', '/openid/v1/jwks'] },
];

test('what the gateway needs is not broader than needed', () => {
  assert.deepEqual(broaderRules(needed, []), []);
});

test('every other rule is broader than needed', () => {
  const broader: readonly ReviewedRule[] = [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
    { verbs: ['get', 'list'], apiGroups: [''], resources: ['secrets'] },
    { verbs: ['impersonate', 'get'], apiGroups: [''], resources: ['users'] },
    { verbs: ['impersonates'], apiGroups: [''], resources: ['users'] },
    { verbs: ['get'], nonResourceURLs: ['/metrics'] },
    { verbs: ['get', 'post'], nonResourceURLs: ['/version'] },
    { verbs: create, apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'] },
    { verbs: create, apiGroups: ['apps'], resources: ['selfsubjectreviews'] },
  ];
  assert.deepEqual(broaderRules([...needed, ...broader], []), broader);
});

test('what every authenticated user may do is no fault of the credential, in any order of the rules', () => {
  const own: readonly ReviewedRule[] = [{ verbs: ['list', 'get'], apiGroups: ['b', 'a'], resources: ['projects'] }];
  assert.deepEqual(broaderRules(own, [{ verbs: ['get', 'list'], apiGroups: ['a', 'b'], resources: ['projects'] }]), []);
  assert.deepEqual(broaderRules(own, [{ verbs: ['get'], apiGroups: ['a', 'b'], resources: ['projects'] }]), own);
  assert.deepEqual(broaderRules(own, [{ ...own[0]!, resourceNames: ['mine'] }]), own);
});
