import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthorizer, forbiddenBy, ruleAllows, type Attributes } from './authorize.ts';
import { Store, type NewObject } from '../store/store.ts';
import type { JsonObject } from '../model/types.ts';

const rbac = 'rbac.authorization.k8s.io';

const ask = (more: Partial<Attributes>): Attributes => ({
  user: { name: 'alice', groups: ['dev'] },
  verb: 'get',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'n',
  name: 'p',
  ...more,
});

const rule = (more: JsonObject): JsonObject => ({ verbs: ['get'], apiGroups: [''], resources: ['pods'], ...more });

/** rule, question, answer. */
const cases: readonly (readonly [string, JsonObject, Partial<Attributes>, boolean])[] = [
  ['an exact rule allows', rule({}), {}, true],
  ['another verb is not allowed', rule({}), { verb: 'list' }, false],
  ['another group is not allowed', rule({}), { group: 'apps' }, false],
  ['another resource is not allowed', rule({}), { resource: 'secrets' }, false],
  ['a resource does not include its subresources', rule({}), { subresource: 'log' }, false],
  ['a named subresource is allowed', rule({ resources: ['pods/log'] }), { subresource: 'log' }, true],
  ['a subresource does not include its resource', rule({ resources: ['pods/log'] }), {}, false],
  ['*/log allows the log of anything', rule({ resources: ['*/log'] }), { subresource: 'log' }, true],
  ['*/log does not allow other subresources', rule({ resources: ['*/log'] }), { subresource: 'exec' }, false],
  ['* allows every resource and subresource', rule({ resources: ['*'] }), { subresource: 'exec' }, true],
  ['* allows every verb', rule({ verbs: ['*'] }), { verb: 'impersonate' }, true],
  ['* allows every group', rule({ apiGroups: ['*'] }), { group: 'apps' }, true],
  ['a resource name allows that object', rule({ resourceNames: ['p'] }), {}, true],
  ['a resource name does not allow another object', rule({ resourceNames: ['q'] }), {}, false],
  ['a resource name never allows a request without a name', rule({ resourceNames: ['p'] }), { name: '' }, false],
  ['a resource rule says nothing about paths', rule({}), { path: '/healthz' }, false],
  ['a path is allowed', { verbs: ['get'], nonResourceURLs: ['/healthz'] }, { path: '/healthz' }, true],
  ['a path prefix is allowed', { verbs: ['get'], nonResourceURLs: ['/debug/*'] }, { path: '/debug/pprof' }, true],
  ['another path is not allowed', { verbs: ['get'], nonResourceURLs: ['/healthz'] }, { path: '/healthz/ping' }, false],
  ['a path rule says nothing about resources', { verbs: ['*'], nonResourceURLs: ['*'] }, {}, false],
];

for (const [name, policy, question, expected] of cases)
  test(name, () => assert.equal(ruleAllows(policy, ask(question)), expected));

function storeWith(...objects: readonly (readonly [string, JsonObject])[]) {
  const store = new Store(() => new Date(0));
  for (const [plural, object] of objects) store.insert(`${rbac}/${plural}`, object as NewObject);
  return store;
}

const reader = ['clusterroles', { metadata: { name: 'reader' }, rules: [rule({ verbs: ['get', 'list'] })] }] as const;
const binding = (subject: JsonObject, namespace?: string): JsonObject => ({
  metadata: { name: 'b', ...(namespace && { namespace }) },
  roleRef: { kind: 'ClusterRole', name: 'reader' },
  subjects: [subject],
});

test('a cluster role binding holds in every namespace', () => {
  const authorize = createAuthorizer(
    storeWith(reader, ['clusterrolebindings', binding({ kind: 'User', name: 'alice' })]),
  );
  assert.equal(authorize(ask({})).isAllowed, true);
  assert.equal(authorize(ask({ namespace: '' })).isAllowed, true);
  assert.equal(authorize(ask({ user: { name: 'bob', groups: ['dev'] } })).isAllowed, false);
});

test('a role binding holds in its namespace only', () => {
  const authorize = createAuthorizer(storeWith(reader, ['rolebindings', binding({ kind: 'Group', name: 'dev' }, 'n')]));
  assert.equal(authorize(ask({})).isAllowed, true);
  assert.equal(authorize(ask({ namespace: 'other' })).isAllowed, false);
  assert.equal(authorize(ask({ namespace: '', verb: 'list', name: '' })).isAllowed, false);
});

test('a service account is named by namespace and name', () => {
  const authorize = createAuthorizer(
    storeWith(reader, ['clusterrolebindings', binding({ kind: 'ServiceAccount', namespace: 'kube', name: 'bot' })]),
  );
  const user = { name: 'system:serviceaccount:kube:bot', groups: [] };
  assert.equal(authorize(ask({ user })).isAllowed, true);
  assert.equal(authorize(ask({ user: { ...user, name: 'system:serviceaccount:other:bot' } })).isAllowed, false);
});

test('a binding to a missing role gives a reason', () => {
  const authorize = createAuthorizer(storeWith(['clusterrolebindings', binding({ kind: 'User', name: 'alice' })]));
  assert.deepEqual(authorize(ask({})), {
    isAllowed: false,
    reason: `RBAC: clusterrole.${rbac} "reader" not found`,
  });
});

test('system:masters may do everything', () => {
  const authorize = createAuthorizer(storeWith());
  assert.equal(authorize(ask({ user: { name: 'root', groups: ['system:masters'] } })).isAllowed, true);
});

/** The words of kube-apiserver's 403. */
const messages: readonly (readonly [Partial<Attributes>, string, string])[] = [
  [{}, '', 'pods "p" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "n"'],
  [
    { name: '', namespace: '', verb: 'list' },
    '',
    'pods is forbidden: User "alice" cannot list resource "pods" in API group "" at the cluster scope',
  ],
  [
    { group: 'apps', resource: 'deployments', subresource: 'scale' },
    '',
    'deployments.apps "p" is forbidden: User "alice" cannot get resource "deployments/scale" in API group "apps" in the namespace "n"',
  ],
  [{ path: '/metrics', resource: '', name: '' }, '', 'forbidden: User "alice" cannot get path "/metrics"'],
  [
    {},
    'RBAC: x',
    'pods "p" is forbidden: User "alice" cannot get resource "pods" in API group "" in the namespace "n": RBAC: x',
  ],
  [
    { user: { name: '<a>&', groups: [] } },
    '',
    'pods "p" is forbidden: User "&lt;a&gt;&amp;" cannot get resource "pods" in API group "" in the namespace "n"',
  ],
];

for (const [question, reason, message] of messages)
  test(`a refusal reads: ${message}`, () => assert.equal(forbiddenBy(ask(question), reason).message, message));
