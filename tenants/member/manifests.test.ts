import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import { GrantFault, type RbacObject, type Where } from '../object/grant.ts';
import { isAsWanted, render } from './manifests.ts';

const mark = { uid: 'u', title: 'TenantBinding x' };
const namespace = (name: string, labels: object = {}, more: object = {}): [string, ApiObject] => [
  name,
  { metadata: { name, uid: name, resourceVersion: '1', labels: labels as Record<string, string>, ...more } },
];
const namespaces = new Map([
  namespace('a', { tenant: 'x' }),
  namespace('b'),
  namespace('ending', { tenant: 'x' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  namespace('own', { tenant: 'x', 'gateway.portcullis.io/cluster': 'm1' }),
]);
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }];
const rbacObject = (where: Where | undefined): RbacObject => ({
  kind: where === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
  name: 'p',
  where,
  content: { roleRef, subjects },
  grant: 0,
});
const titles = (where: Where, known: typeof namespaces | undefined): readonly string[] =>
  render([rbacObject(where)], mark, known).wanted.map(
    ({ object }) => `${object.kind.kind} ${object.namespace}/${object.name}`,
  );
const names = (where: Where): readonly string[] => titles(where, namespaces);
const anything = { matchLabels: [], matchExpressions: [] } as const;
const selector = { matchLabels: [['tenant', 'x']], matchExpressions: [] } as const;

test('a selector takes the namespaces that stay, and never that of the gateway', () => {
  assert.deepEqual(names({ selector }), ['RoleBinding a/p']);
});

test('a named namespace that is not there is waited for or made first, and one of the gateway is refused', () => {
  assert.deepEqual(names({ names: ['a', 'new'], create: false }), ['RoleBinding a/p']);
  assert.deepEqual(render([rbacObject({ names: ['new', 'ending'], create: false })], mark, namespaces).missing, [
    'new',
    'ending',
  ]);
  assert.deepEqual(names({ names: ['new'], create: true }), ['Namespace /new', 'RoleBinding new/p']);
  assert.throws(() => names({ names: ['own'], create: false }), GrantFault);
});

test('where namespaces cannot be listed, named ones count as there', () => {
  assert.deepEqual(titles({ names: ['new'], create: true }, undefined), ['RoleBinding new/p']);
});

test('a binding is as wanted until its role, subjects or mark differ', () => {
  const [wanted] = render([rbacObject(undefined)], mark, undefined).wanted;
  const live = wanted!.body;
  assert.equal(isAsWanted(live, wanted!), true);
  assert.equal(isAsWanted({ ...live, subjects: [] }, wanted!), false);
  assert.equal(isAsWanted({ ...live, roleRef: { ...roleRef, name: 'edit' } }, wanted!), false);
  assert.equal(isAsWanted({ ...live, metadata: { labels: {} } }, wanted!), false);
});

test('a grant of more objects than a cluster gets is refused as soon as the first is too many', () => {
  const many = new Map(Array.from({ length: 1_000 }, (_, index) => namespace(`n${index}`)));
  const entries = Array.from({ length: 2_000 }, (_, index) => ({
    ...rbacObject({ selector: anything }),
    name: `b${index}`,
  }));
  let read = 0;
  const counted = new Map(many);
  counted.values = () => {
    read += 1;
    return many.values();
  };
  assert.throws(() => render(entries, mark, counted), { name: 'GrantFault', reason: 'TooManyObjects' });
  assert.equal(read, 6);
  assert.equal(render(entries.slice(0, 5), mark, many).wanted.length, 5_000);
  const repeated = entries.map((each) => ({ ...each, name: 'b' }));
  assert.equal(render(repeated.slice(0, 50), mark, many).wanted.length, 1_000);
  assert.throws(() => render(repeated, mark, many), { reason: 'TooManyObjects' });
});

test('two entries that ask for the same object alike make it once, and are refused when they differ', () => {
  const entry = rbacObject({ names: ['a'], create: false });
  const same = { ...rbacObject({ selector: anything }), grant: 1 };
  assert.deepEqual(
    render([entry, same], mark, namespaces).wanted.map(({ object }) => object.namespace),
    ['a', 'b'],
  );
  const other = { ...same, content: { ...same.content, roleRef: { ...roleRef, name: 'edit' } } };
  assert.throws(() => render([entry, other], mark, namespaces), {
    name: 'GrantFault',
    message: 'two entries are the same RoleBinding a/p: give each a name',
  });
});
