import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulate, type Bench } from '../simulator.fixture.ts';

const rbac = 'rbac.authorization.k8s.io';
const roles = `/apis/${rbac}/v1/namespaces/default/roles`;
const held = [
  { apiGroups: [rbac], resources: ['roles', 'rolebindings', 'clusterroles'], verbs: ['*'] },
  { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['secrets'], resourceNames: ['one'], verbs: ['get'] },
  { nonResourceURLs: ['/metrics/*'], verbs: ['get'] },
];
/** Without the verbs that lift the check. */
const writer = [{ ...held[0], verbs: ['create', 'update', 'get'] }, ...held.slice(1)];

async function asAlice(bench: Bench, path: string, body: object) {
  return bench.ask(path, { method: 'POST', body, token: 'alice' });
}

async function withRules(t: Parameters<typeof simulate>[0], rules: readonly object[]): Promise<Bench> {
  const bench = await simulate(t);
  const { store } = bench.sim;
  bench.sim.addToken('alice', { name: 'alice', groups: ['dev'] });
  store.apply({ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: 'held' }, rules });
  store.apply({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'held' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'held' },
    subjects: [{ kind: 'User', name: 'alice' }],
  });
  return bench;
}

const role = (name: string, ...rules: object[]) => ({
  apiVersion: `${rbac}/v1`,
  kind: 'Role',
  metadata: { name },
  rules,
});

test('a role within what its author holds may be made', async (t) => {
  const bench = await withRules(t, writer);
  for (const [name, rule] of [
    ['pods', { apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    ['log', { apiGroups: [''], resources: ['pods/log'], verbs: ['list'] }],
    ['named', { apiGroups: [''], resources: ['secrets'], resourceNames: ['one'], verbs: ['get'] }],
  ] as const)
    assert.equal((await asAlice(bench, roles, role(name, rule))).status, 201, name);
});

test('a role beyond it may not, and the answer lists what is missing', async (t) => {
  const bench = await withRules(t, writer);
  for (const [name, rule, missing] of [
    [
      'verb',
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'delete'] },
      '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
    ],
    [
      'group',
      { apiGroups: ['apps'], resources: ['pods'], verbs: ['get'] },
      '{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}',
    ],
    [
      'unnamed',
      { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
    ],
    [
      'name',
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['two'], verbs: ['get'] },
      '{APIGroups:[""], Resources:["secrets"], ResourceNames:["two"], Verbs:["get"]}',
    ],
  ] as const) {
    const { status, json } = await asAlice(bench, roles, role(name, rule));
    assert.equal(status, 403, name);
    assert.equal(
      json.message,
      `roles.${rbac} "${name}" is forbidden: user "alice" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n${missing}`,
    );
  }
});

test('paths are compared too', async (t) => {
  const bench = await withRules(t, writer);
  const path = `/apis/${rbac}/v1/clusterroles`;
  const of = (url: string) => ({
    ...role(url.slice(1).replaceAll('/', '-'), { nonResourceURLs: [url], verbs: ['get'] }),
    kind: 'ClusterRole',
  });
  assert.equal((await asAlice(bench, path, of('/metrics/x'))).status, 201);
  const refused = await asAlice(bench, path, of('/logs'));
  assert.match(refused.json.message, /\{NonResourceURLs:\["\/logs"\], Verbs:\["get"\]\}/);
});

test('the verbs escalate and bind lift the check', async (t) => {
  const bench = await withRules(t, held);
  const everything = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
  assert.equal((await asAlice(bench, roles, role('all', everything))).status, 201);
  const binding = {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'all' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'User', name: 'bob' }],
  };
  assert.equal((await asAlice(bench, `/apis/${rbac}/v1/namespaces/default/rolebindings`, binding)).status, 201);
});

test('a role that is already wider may be changed only within what is held', async (t) => {
  const bench = await withRules(t, writer);
  bench.sim.store.apply({
    ...role('wide', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }),
    metadata: { name: 'wide', namespace: 'default' },
  });
  const put = (rules: object[]) =>
    bench.ask(`${roles}/wide`, { method: 'PUT', body: role('wide', ...rules), token: 'alice' });
  assert.equal((await put([{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }])).status, 200);
  assert.equal((await put([{ apiGroups: ['*'], resources: ['*'], verbs: ['get'] }])).status, 403);
});
