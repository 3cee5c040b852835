import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import { clusterPermissions } from './cluster-permission.ts';
import { GrantFault } from './grant.ts';
import { tenantBindings } from './tenant-binding.ts';

const made = (spec: object, metadata: object = {}): ApiObject => ({
  metadata: { name: 'x', uid: 'u', resourceVersion: '1', ...metadata },
  spec,
});
const bob = { kind: 'User', name: 'bob' };
const binding = (subject: object, grant: object): ApiObject => made({ subjects: [subject], grants: [grant] });
const view = { clusterRole: 'view', scope: 'Cluster' };

test('a grant becomes a binding, and one with rules a role, too', () => {
  const [only] = tenantBindings.rbacObjectsOf(binding(bob, view));
  assert.deepEqual([only?.kind, only?.name, only?.where], ['ClusterRoleBinding', 'portcullis:tenant:x:0', undefined]);
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
  const rbacObjects = tenantBindings.rbacObjectsOf(binding(bob, { rules, scope: 'Namespaces', namespaces: ['a'] }));
  assert.deepEqual(
    rbacObjects.map(({ kind }) => kind),
    ['ClusterRole', 'RoleBinding'],
  );
  assert.deepEqual(rbacObjects[1]?.where, { names: ['a'], create: false });
});

test('reserved subjects, roles and namespaces are refused even where the schema let them pass', () => {
  const refused = [
    binding({ kind: 'Group', name: 'system:masters' }, view),
    binding({ kind: 'Group', name: 'system:authenticated' }, view),
    binding({ kind: 'User', name: 'system:serviceaccount:kube-system:x' }, view),
    binding({ kind: 'User', name: 'portcullis:index' }, view),
    binding({ kind: 'ServiceAccount', name: 'portcullis-gateway', namespace: 'portcullis-system' }, view),
    binding({ kind: 'ServiceAccount', name: 'x' }, view),
    binding({ kind: 'Robot', name: 'x' }, view),
    binding(bob, { clusterRole: 'portcullis:impersonator', scope: 'Cluster' }),
    binding(bob, { clusterRole: 'view', scope: 'Namespaces', namespaces: ['portcullis-system'] }),
    binding(bob, { clusterRole: 'view', scope: 'Namespaces' }),
    // Without values, NotIn would select every namespace.
    ...['a=b', { matchExpressions: [{ key: 'a', operator: 'NotIn', values: [] }] }].map((namespaceSelector) =>
      binding(bob, { clusterRole: 'view', scope: 'Namespaces', namespaceSelector }),
    ),
  ];
  for (const each of refused)
    assert.throws(() => tenantBindings.rbacObjectsOf(each), GrantFault, JSON.stringify(each.spec));
  const permission = made({ clusterRoleBinding: { subject: { kind: 'Group', name: 'system:masters' } } });
  assert.throws(() => clusterPermissions.rbacObjectsOf(permission), GrantFault);
});

test('a ClusterPermission names its objects after itself, and ManagedServiceAccounts are ServiceAccounts of the add-on', () => {
  const subject = { apiGroup: 'authentication.open-cluster-management.io', kind: 'ManagedServiceAccount', name: 'm' };
  const rbacObjects = clusterPermissions.rbacObjectsOf(
    made(
      {
        clusterRole: { rules: [] },
        clusterRoleBindings: [{ subject }, { name: 'other', roleRef: { name: 'view' }, subjects: [bob] }],
        roleBindings: [{ namespaceSelector: { matchLabels: { a: 'b' } }, roleRef: { kind: 'Role' }, subject: bob }],
      },
      { namespace: 'm1' },
    ),
  );
  assert.deepEqual(
    rbacObjects.map(({ kind, name, content }) => [
      kind,
      name,
      (content['roleRef'] as { name?: string } | undefined)?.name,
    ]),
    [
      ['ClusterRole', 'x', undefined],
      ['ClusterRoleBinding', 'x', 'x'],
      ['ClusterRoleBinding', 'other', 'view'],
      ['RoleBinding', 'x', 'x'],
    ],
  );
  assert.deepEqual(rbacObjects[1]?.content['subjects'], [
    { kind: 'ServiceAccount', name: 'm', namespace: 'open-cluster-management-agent-addon' },
  ]);
});

test('what a status or an annotation tells of a cluster is read back as it was told', () => {
  const objects = [{ kind: 'RoleBinding', namespace: 'a', name: 'x', uid: '1' }] as const;
  const result = { phase: 'Applied', reason: 'Applied', message: '', since: '2026-01-01T00:00:00Z' } as const;
  const results = new Map([['m1', { ...result, objects, writer: { name: 'carol', groups: ['g'] } }]]);
  const { status } = tenantBindings.toldBy(results, [], made({}));
  assert.deepEqual(tenantBindings.resultsOf({ ...made({}), status }), results);
  const object = made({}, { namespace: 'm1' });
  const { annotations } = clusterPermissions.toldBy(results, [], object);
  const again = clusterPermissions.resultsOf(made({}, { namespace: 'm1', annotations }));
  assert.deepEqual(again.get('m1')?.objects, objects);
});

test('of a record only roles and bindings are believed, and of an annotation never as whom they were made', () => {
  const kinds = ['Namespace', 'ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding', 'toString'];
  const objects = kinds.map((kind) => ({ kind, name: 'payments', uid: '' }));
  const writer = { user: 'admin', groups: ['system:masters'] };
  const status = { clusters: [{ name: 'm1', objects, writer }] };
  const annotations = { 'gateway.portcullis.io/tenant-objects': JSON.stringify({ objects, writer }) };
  const permission = made({}, { namespace: 'm1', annotations });
  for (const results of [
    tenantBindings.resultsOf({ ...made({}), status } as ApiObject),
    clusterPermissions.resultsOf(permission),
  ])
    assert.deepEqual(
      results.get('m1')?.objects.map(({ kind }) => kind),
      kinds.slice(2, 6),
    );
  assert.equal(clusterPermissions.resultsOf(permission).get('m1')?.writer, undefined);
});
