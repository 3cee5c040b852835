import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeUser } from '../../model/user.ts';
import { allowAuthenticated, makeRulesAuthorizer, unionAuthorizer } from './authorize.ts';
import type { Attributes } from './attributes.ts';
import { parseRules } from './rules.ts';
import { makeHubAuthorizer } from '../reviews/subject-access-review.ts';

const jane = makeUser({ name: 'jane', groups: ['system:authenticated'] });
const question: Attributes = {
  user: jane,
  verb: 'list',
  cluster: { name: 'one', uid: 'u', labels: {} },
  resourceRequest: true,
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: '',
  name: '',
  path: '',
};
const rules = makeRulesAuthorizer(
  parseRules(
    `apiVersion: gateway.portcullis.io/v1alpha1
kind: AuthorizationRules
rules:
- {subjects: [{kind: User, name: jane}], clusters: [one], verbs: [list], apiGroups: [""], resources: [pods], namespaces: [a, b]}
- {subjects: [{kind: User, name: jane}], clusters: ["*"], verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [x]}
- {subjects: [{kind: User, name: jane}], clusters: [two], verbs: [list], apiGroups: [""], resources: [pods], namespaces: [c]}
- {subjects: [{kind: User, name: joe}], clusters: [one], verbs: [list], apiGroups: [""], resources: [pods], namespaces: [d]}
- {subjects: [{kind: User, name: jane}], clusters: [one], verbs: [get], apiGroups: [""], resources: [pods], namespaces: [e]}
- {subjects: [{kind: User, name: jane}], clusters: [one], verbs: [list], apiGroups: [apps], resources: [pods], namespaces: [f]}
`,
    'rules.yaml',
  ),
);
function hub(subpathAuthorization: boolean) {
  const review = () => Promise.reject(new Error('nobody is asked'));
  const ttl = { authorizedTtlMs: 1, unauthorizedTtlMs: 1 };
  return makeHubAuthorizer({ review, authorizeVerb: 'real', subpathAuthorization, ...ttl });
}

test('rules of a file say in which namespaces and for which names they might allow a type, for this user, cluster and verb only', () => {
  assert.deepEqual(rules.hints?.(question), { namespaces: ['a', 'b'], names: ['x'] });
  assert.deepEqual(rules.hints?.({ ...question, user: makeUser({ name: 'eve' }) }), { namespaces: [], names: [] });
});

test('an authorizer that decides about whole clusters has no hints; a hub asked about what happens inside might allow anywhere', () => {
  assert.deepEqual(allowAuthenticated().hints?.(question), { namespaces: [], names: [] });
  assert.deepEqual(hub(false).hints?.(question), { namespaces: [], names: [] });
  assert.equal(hub(true).hints?.(question), 'anywhere');
});

test('several authorizers might allow wherever one of them might; one that does not say might anywhere', () => {
  assert.deepEqual(unionAuthorizer([rules, hub(false)]).hints?.(question), { namespaces: ['a', 'b'], names: ['x'] });
  assert.equal(unionAuthorizer([rules, hub(true)]).hints?.(question), 'anywhere');
  const silent = { authorize: () => ({ allowed: false, reason: '' }) };
  assert.equal(unionAuthorizer([rules, silent]).hints?.(question), 'anywhere');
});
