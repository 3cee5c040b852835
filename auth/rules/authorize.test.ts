import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeUser } from '../../model/user.ts';
import { allowAuthenticated, forbidden, makeRulesAuthorizer } from './authorize.ts';
import type { Attributes } from './attributes.ts';
import { parseRules } from './rules.ts';

const bob = makeUser({ name: 'bob', groups: ['devs', 'system:authenticated'] });
const root = makeUser({ name: 'root', groups: ['system:masters', 'system:authenticated'] });
const m1 = { name: 'm1', uid: 'u1', labels: {} };

function ask(parts: Partial<Attributes>): Attributes {
  const empty = { apiGroup: '', apiVersion: 'v1', subresource: '', namespace: '', name: '', path: '' };
  return { user: bob, verb: 'list', cluster: m1, resourceRequest: true, resource: 'pods', ...empty, ...parts };
}

function readRules(...rules: object[]) {
  const file = { apiVersion: 'gateway.portcullis.io/v1alpha1', kind: 'AuthorizationRules', rules };
  return parseRules(JSON.stringify(file), 'rules.yaml');
}

const bobReads = {
  subjects: [{ kind: 'User', name: 'bob' }],
  clusters: ['m1'],
  verbs: ['list'],
  apiGroups: [''],
  resources: ['pods'],
};

describe('with a rules file', () => {
  test('the rule that allows is named, and what no rule allows is refused', () => {
    const { authorize } = makeRulesAuthorizer(readRules({ ...bobReads, verbs: ['get'] }, bobReads));
    assert.deepEqual(authorize(ask({})), { allowed: true, reason: 'allowed by rules[1] of rules.yaml' });
    for (const other of [
      { verb: 'watch' },
      { resource: 'secrets' },
      { apiGroup: 'apps' },
      { cluster: { ...m1, name: 'm2' } },
      { cluster: undefined },
      { user: makeUser({ name: 'eve', groups: ['bob'] }) },
      { subresource: 'log' },
    ]) {
      assert.equal(authorize(ask(other)).allowed, false, JSON.stringify(other));
    }
  });

  test('decisions know identities apart that share a name (CVE-2023-46254)', () => {
    const { authorize } = makeRulesAuthorizer(
      readRules({ ...bobReads, subjects: [{ kind: 'ServiceAccount', name: 'sa', namespace: 'a' }] }),
    );
    const allowed = (name: string) => authorize(ask({ user: makeUser({ name }) })).allowed;
    assert.deepEqual(
      ['a', 'b', 'a'].map((namespace) => allowed(`system:serviceaccount:${namespace}:sa`)),
      [true, false, true],
    );
  });

  test('new rules hold from the next request on', () => {
    const authorizer = makeRulesAuthorizer(readRules(bobReads));
    assert.equal(authorizer.authorize(ask({})).allowed, true);
    authorizer.replace(readRules());
    assert.equal(authorizer.authorize(ask({})).allowed, false);
  });

  test("the gateway's cluster list is a resource like any other", () => {
    const rule = { ...bobReads, clusters: undefined, apiGroups: ['gateway.portcullis.io'], resources: ['clusters'] };
    const { authorize } = makeRulesAuthorizer(readRules(rule));
    const question = ask({ cluster: undefined, apiGroup: 'gateway.portcullis.io', resource: 'clusters' });
    assert.equal(authorize(question).allowed, true);
    assert.equal(authorize({ ...question, verb: 'watch' }).allowed, false);
  });

  test('impersonation is granted value by value', () => {
    const grant = { ...bobReads, verbs: ['impersonate'], resources: ['users'], resourceNames: ['carol'] };
    const { authorize } = makeRulesAuthorizer(readRules(grant));
    const question = ask({ verb: 'impersonate', resource: 'users', name: 'carol' });
    assert.equal(authorize(question).allowed, true);
    assert.equal(authorize({ ...question, name: 'dave' }).allowed, false);
    assert.equal(authorize({ ...question, resource: 'groups' }).allowed, false);
    assert.equal(authorize({ ...question, cluster: { ...m1, name: 'm2' } }).allowed, false);
  });
});

describe('without a rules file', () => {
  const { authorize } = allowAuthenticated();
  const allowed = async (parts: Partial<Attributes>) => (await authorize(ask(parts))).allowed;

  test('every authenticated user may do everything at every cluster', async () => {
    for (const verb of ['get', 'list', 'watch', 'create', 'delete', 'deletecollection'])
      assert.ok(await allowed({ verb }));
    assert.ok(await allowed({ resourceRequest: false, resource: '', path: '/metrics', verb: 'get' }));
    assert.ok(await allowed({ cluster: undefined, apiGroup: 'gateway.portcullis.io', resource: 'clusters' }));
  });
  test('nobody may impersonate, in any of its forms', async () => {
    for (const verb of ['impersonate', 'impersonate:user-info', 'impersonate-on:user-info:list']) {
      assert.equal(await allowed({ verb, resource: 'users' }), false, verb);
    }
  });
  test('verbs that nobody knows are refused', async () => {
    for (const verb of ['', 'educate', 'GET', '*']) assert.equal(await allowed({ verb }), false, verb);
  });
  test('a user that is not authenticated is refused', async () => {
    for (const groups of [[], ['system:unauthenticated'], ['devs']]) {
      assert.equal(await allowed({ user: makeUser({ name: 'system:anonymous', groups }) }), false);
    }
  });
});

test('system:masters may do everything but what has no verb, with and without rules', async () => {
  for (const { authorize } of [allowAuthenticated(), makeRulesAuthorizer(readRules())]) {
    for (const verb of ['list', 'impersonate', 'impersonate:user-info', 'educate']) {
      assert.equal((await authorize(ask({ user: root, verb }))).allowed, true, verb);
    }
    assert.equal((await authorize(ask({ user: root, verb: '' }))).allowed, false);
    const namesake = makeUser({ name: 'system:masters', groups: ['masters'] });
    assert.equal((await authorize(ask({ user: namesake }))).allowed, false);
  }
});

describe("a refusal reads like kube-apiserver's", () => {
  test('for a named object in a namespace', () => {
    const error = forbidden(ask({ verb: 'get', namespace: 'ns', name: 'web', subresource: 'log' }), 'no rule');
    assert.equal(error.status, 403);
    assert.equal(
      error.message,
      'pods "web" is forbidden: User "bob" cannot get resource "pods/log" in API group "" in the namespace "ns" of cluster "m1": no rule',
    );
    assert.deepEqual(error.details, { kind: 'pods', group: '', name: 'web', cluster: 'm1' });
  });
  test('for all objects of a group', () => {
    assert.equal(
      forbidden(ask({ apiGroup: 'apps', resource: 'deployments', cluster: undefined }), 'no rule').message,
      'deployments.apps is forbidden: User "bob" cannot list resource "deployments" in API group "apps" at the cluster scope: no rule',
    );
  });
  test('for a path', () => {
    const error = forbidden(ask({ resourceRequest: false, resource: '', verb: 'get', path: '/a"b' }), 'no rule');
    assert.equal(error.message, 'forbidden: User "bob" cannot get path "/a\\"b" of cluster "m1": no rule');
    assert.deepEqual(error.details, { cluster: 'm1' });
  });
});
