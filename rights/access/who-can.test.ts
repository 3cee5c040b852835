import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRbacView } from '../rbac/rbac-view.ts';
import type { RbacKind } from '../rbac/rbac-view.ts';
import { binding, role, rule, testUser } from '../rights.fixture.ts';
import type { TestObject } from '../rights.fixture.ts';
import { mayBecome } from './may-become.ts';
import { subjectOf, whatCan, whoCan } from './who-can.ts';
import type { AccessQuestion, KnownRbac, ResourceAccess } from './who-can.ts';

const kinds: Readonly<Record<string, RbacKind>> = {
  Role: 'roles',
  RoleBinding: 'rolebindings',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
};

function known(objects: readonly TestObject[], isReadable: KnownRbac['isReadable'] = () => true): KnownRbac {
  let generation = 0;
  const view = makeRbacView(() => (generation += 1));
  for (const object of objects)
    view.put(kinds[object.kind]!, object.metadata.namespace ?? '', object.metadata.name, object);
  return { view, isReadable, isNamespaced: ({ resource }) => (resource === 'nodes' ? false : undefined) };
}

/** Everybody who may, as `<subject> in <namespace of the binding>`. */
function reported(rbac: KnownRbac, question: AccessQuestion): readonly string[] {
  return [...whoCan(rbac, question)]
    .flatMap(({ subjects, binding: { namespace } }) => subjects.map((key) => `${key} in ${namespace || '*'}`))
    .toSorted();
}

function of(text: string, more: Partial<ResourceAccess> = {}): ResourceAccess {
  const [verb = '', resource = ''] = text.split(' ');
  return { verb, group: '', resource, subresource: '', name: undefined, namespace: undefined, ...more };
}

const reader = role('reader', undefined, rule('get,list', 'secrets'));

test('a RoleBinding to a ClusterRole counts in its namespace only, and not for cluster-scoped types', () => {
  const all = role('all', undefined, rule('*', '*'));
  const rbac = known([
    reader,
    all,
    binding('a', 'team', 'ClusterRole/reader', 'User/jane'),
    binding('b', undefined, 'ClusterRole/reader', 'Group/ops'),
    binding('c', 'team', 'ClusterRole/all', 'User/lead'),
  ]);
  assert.deepEqual(reported(rbac, of('get secrets')), ['g:ops in *', 'u:jane in team', 'u:lead in team']);
  assert.deepEqual(reported(rbac, of('get secrets', { namespace: 'other' })), ['g:ops in *']);
  assert.deepEqual(reported(rbac, of('get secrets', { namespace: '' })), ['g:ops in *']);
  assert.deepEqual(reported(rbac, of('get nodes')), []);
  assert.deepEqual(reported(rbac, of('get namespaces')), ['u:lead in team']);
  assert.deepEqual(reported(rbac, of('get namespaces', { name: 'other' })), []);
  assert.deepEqual(reported(rbac, of('list namespaces')), []);
});

test('rules for some names are told for verbs that have a name, and for no others', () => {
  const rbac = known([
    role('one', 'team', rule('*', 'secrets', 'db')),
    binding('a', 'team', 'Role/one', 'User/jane'),
    role('tokens', undefined, { ...rule('create', 'serviceaccounts/token', 'bot') }),
    binding('b', undefined, 'ClusterRole/tokens', 'User/joe'),
  ]);
  for (const verb of ['get', 'delete', 'list'])
    assert.deepEqual(reported(rbac, of(`${verb} secrets`)), ['u:jane in team']);
  for (const verb of ['create', 'deletecollection']) assert.deepEqual(reported(rbac, of(`${verb} secrets`)), []);
  assert.deepEqual(reported(rbac, of('get secrets', { name: 'db' })), ['u:jane in team']);
  assert.deepEqual(reported(rbac, of('get secrets', { name: 'web' })), []);
  assert.deepEqual(reported(rbac, of('get secrets', { name: '' })), []);
  assert.deepEqual(reported(rbac, of('create serviceaccounts', { subresource: 'token' })), ['u:joe in *']);
});

test('paths that are no resources come from ClusterRoleBindings only, and stars stand for any rest', () => {
  const debug = role('debug', undefined, { verbs: ['get'], nonResourceURLs: ['/debug/*', '/healthz'] });
  const rbac = known([
    debug,
    binding('a', undefined, 'ClusterRole/debug', 'Group/ops'),
    binding('b', 'team', 'ClusterRole/debug', 'User/jane'),
    role('resources', undefined, rule('*', '*')),
    binding('c', undefined, 'ClusterRole/resources', 'User/joe'),
  ]);
  assert.deepEqual(reported(rbac, { verb: 'get', path: '/debug/pprof' }), ['g:ops in *']);
  assert.deepEqual(reported(rbac, { verb: 'get', path: '/healthz' }), ['g:ops in *']);
  for (const path of ['/healthz/x', '/debug', '/']) assert.deepEqual(reported(rbac, { verb: 'get', path }), [], path);
  assert.deepEqual(reported(rbac, { verb: 'post', path: '/healthz' }), []);
});

test('stars in verbs, groups, resources and before subresources mean what they mean in kube-apiserver', () => {
  const logs = role('logs', undefined, { verbs: ['get'], apiGroups: ['*'], resources: ['*/log'] });
  const scale = role('scale', undefined, { verbs: ['*'], apiGroups: ['apps'], resources: ['deployments/*'] });
  const rbac = known([
    logs,
    scale,
    binding('a', undefined, 'ClusterRole/logs', 'User/logs'),
    binding('b', undefined, 'ClusterRole/scale', 'User/scale'),
  ]);
  assert.deepEqual(reported(rbac, of('get pods', { subresource: 'log' })), ['u:logs in *']);
  assert.deepEqual(reported(rbac, of('get pods')), []);
  // A star after the slash is no wildcard for kube-apiserver.
  assert.deepEqual(reported(rbac, of('get deployments', { group: 'apps', subresource: 'scale' })), []);
  assert.deepEqual(reported(rbac, of('get *')), []);
});

test('a binding is told only to those who may read it and its role', () => {
  const objects = [
    reader,
    role('local', 'team', rule('get', 'secrets')),
    binding('a', 'team', 'Role/local', 'User/jane'),
    binding('b', 'team', 'ClusterRole/reader', 'User/joe'),
    binding('c', undefined, 'ClusterRole/reader', 'User/root'),
  ];
  const readable = (...allowed: readonly string[]): KnownRbac =>
    known(objects, (kind, namespace, name) => allowed.includes(`${kind} ${namespace} ${name}`));
  const question = of('get secrets');
  assert.deepEqual(reported(readable(), question), []);
  assert.deepEqual(reported(readable('rolebindings team a'), question), []);
  assert.deepEqual(reported(readable('roles team local'), question), []);
  assert.deepEqual(reported(readable('rolebindings team a', 'roles team local'), question), ['u:jane in team']);
  assert.deepEqual(reported(readable('rolebindings team b', 'clusterroles  reader'), question), ['u:joe in team']);
  const rules = [...whatCan(readable('rolebindings team b', 'clusterroles  reader'), testUser('root'))];
  assert.deepEqual(rules, []);
});

test('what somebody may do comes from their own name and from their groups', () => {
  const rbac = known([
    reader,
    binding('a', 'team', 'ClusterRole/reader', 'ServiceAccount/team/bot'),
    binding('b', undefined, 'ClusterRole/reader', 'Group/dev', 'User/other'),
  ]);
  const reported = (name: string, ...groups: readonly string[]): readonly string[] =>
    [...whatCan(rbac, testUser(name, ...groups))].map(({ subjects, binding }) => `${subjects.join()} ${binding.name}`);
  assert.deepEqual(reported('system:serviceaccount:team:bot'), ['u:system:serviceaccount:team:bot a']);
  assert.deepEqual(reported('jane', 'dev'), ['g:dev b']);
  assert.deepEqual(reported('jane'), []);
  assert.deepEqual(subjectOf('u:system:serviceaccount:team:bot'), {
    kind: 'ServiceAccount',
    namespace: 'team',
    name: 'bot',
  });
});

test('those who could come to a right are told with the way: acting as somebody, tokens, pods, bind and escalate', () => {
  const rbacRule = (verb: string, resource: string, ...names: readonly string[]): object => ({
    ...rule(verb, resource, ...names),
    apiGroups: ['rbac.authorization.k8s.io'],
  });
  const rbac = known([
    reader,
    binding('a', 'team', 'ClusterRole/reader', 'ServiceAccount/team/bot', 'User/jane', 'Group/dev'),
    ...(
      [
        ['as-jane', rule('impersonate', 'users', 'jane')],
        ['as-nobody', rule('impersonate', 'users', 'nobody')],
        ['as-dev', rule('impersonate', 'groups', 'dev')],
        ['as-bot', rule('impersonate', 'serviceaccounts')],
        ['token', { ...rule('create', 'serviceaccounts/token', 'bot') }],
        ['pods', rule('create', 'pods')],
        ['jobs', rule('create', 'jobs.batch')],
        ['binder', rbacRule('bind', 'clusterroles')],
        ['escalator', rbacRule('escalate', 'roles')],
        ['reads', rule('get', 'pods')],
      ] as const
    ).flatMap(([name, each]) => [
      role(name, undefined, each),
      binding(name, name === 'pods' ? 'team' : undefined, `ClusterRole/${name}`, `User/${name}`),
    ]),
    // Users and ClusterRoles are outside of namespaces, where a RoleBinding gives nothing.
    binding('idle-jane', 'team', 'ClusterRole/as-jane', 'User/idle'),
    role('escalates', undefined, rbacRule('escalate', 'clusterroles')),
    binding('idle-escalator', 'team', 'ClusterRole/escalates', 'User/idle'),
    role('elsewhere', undefined, rule('create', 'pods')),
    binding('elsewhere', 'other', 'ClusterRole/elsewhere', 'User/elsewhere'),
  ]);
  const question = of('get secrets', { namespace: 'team' });
  const found = [...mayBecome(rbac, question, [...whoCan(rbac, question)])];
  assert.deepEqual(
    found.map(({ way, subjects, becomes }) => `${subjects.join()} ${way} ${becomes.map(({ name }) => name).join()}`),
    [
      'u:as-jane Impersonate jane',
      'u:as-dev Impersonate dev',
      'u:as-bot Impersonate bot',
      'u:token CreateToken bot',
      'u:pods CreatePod bot',
      'u:jobs CreatePod bot',
      'u:binder Bind ',
      'u:escalator Escalate ',
    ],
  );
});
