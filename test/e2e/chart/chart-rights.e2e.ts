// The ServiceAccount that the chart makes has the rights it needs on the hub and no other, by a table and by comparison
// with an account that has none. A check that everything needed is allowed says nothing about what is allowed besides.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clusterpediaDefinitions } from '../../../import/definitions/clusterpedia.ts';
import { resourceRegistryDefinition } from '../../../import/definitions/karmada.ts';
import { clusterJoinDefinition } from '../../../join/object/definition.ts';
import { tenantBindingDefinition } from '../../../tenants/object/definition.ts';
import { objectsOf, release, valueSets } from '../../chart/helm.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { until } from '../../controlplane/member.ts';
import { applyCustomResources } from '../../hub/site.ts';
import { clusterRoleBinding, userSubject } from '../../site/rbac.ts';
import { customResource } from '../../site/custom-resource.ts';

const account = `system:serviceaccount:${release}:portcullis`;
const nobody = `system:serviceaccount:${release}:nobody`;
const kinds = ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];
const namespaces = [
  'argocd',
  'clusterpedia-system',
  'clusters',
  'joining',
  'karmada-cluster',
  'karmada-clusters',
  'open-cluster-management-credentials',
  release,
  'vela-system',
  'm1',
  'other',
];
const secretsOf = (namespace: string): readonly string[] =>
  ['list', 'watch'].map((verb) => `${verb} secrets -n ${namespace}`);

let plane: ControlPlane;
let hub: Member;
let applied: string[] = [];

before(async () => {
  plane = await startControlPlane({ members: ['hub'], bare: ['hub'] });
  hub = plane.member('hub');
  // kubectl asks about kinds it finds only.
  await applyCustomResources(hub);
  await hub.apply(
    clustersStandIn,
    resourceRegistryDefinition,
    clusterJoinDefinition,
    tenantBindingDefinition,
    ...clusterpediaDefinitions.filter(({ metadata }) => metadata.name.endsWith('.policy.clusterpedia.io')),
  );
  const registries = '/apis/search.karmada.io/stored/resourceregistries';
  await until('registries', async () => (await hub.request('GET', registries)).status === 200);
  for (const type of ['join.portcullis.io/v1alpha1/clusterjoins', 'tenancy.portcullis.io/v1alpha1/tenantbindings'])
    await until(type, async () => (await hub.request('GET', `/apis/${type}`)).status === 200);
  for (const type of ['clusterimportpolicies', 'pediaclusterlifecycles']) {
    const path = `/apis/policy.clusterpedia.io/v1alpha1/${type}`;
    await until(type, async () => (await hub.request('GET', path)).status === 200);
  }
  await until(
    'clusters',
    async () => (await hub.request('GET', '/apis/gateway.portcullis.io/v1alpha1/clusters')).status === 200,
  );
  await hub.apply(...namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })));
});
after(() => plane?.stop());

/** In place of the aggregated API, which nobody serves here. */
const clustersStandIn = customResource('clusters.gateway.portcullis.io', 'Cluster', {
  scope: 'Cluster',
  versions: ['v1alpha1'],
  schema: { type: 'object' },
});

/** Makes the accounts and rights of one value set, and takes those of the one before away. */
async function grant(valueSet: number): Promise<void> {
  const objects = objectsOf(readFileSync(valueSets()[valueSet - 1]!.golden, 'utf8')).filter(({ kind }) =>
    kinds.includes(kind),
  );
  for (const path of applied) await hub.kubectl(['delete', ...path.split(' ')]);
  applied = objects.map(({ kind, metadata }) => `${kind} ${metadata.name} -n ${metadata.namespace ?? 'default'}`);
  await hub.apply(...objects);
}

/** `get pods/log -n x`, `get /metrics`, `list secrets/name -A`: the answer of `kubectl auth can-i`. */
async function can(question: string, user = account): Promise<boolean> {
  const { stdout, stderr } = await hub.kubectl(['auth', 'can-i', ...question.split(' '), `--as=${user}`]);
  const answer = stdout.trim();
  assert.match(answer, /^(?:yes|no)/, stderr);
  return answer.startsWith('yes');
}

/** What an account may do in a namespace, as lines of `kubectl auth can-i --list`, without what everybody may. */
async function rightsIn(namespace: string): Promise<readonly string[]> {
  const lines = async (user: string): Promise<string[]> => {
    const { stdout } = await hub.kubectl(['auth', 'can-i', '--list', '--no-headers', '-n', namespace, `--as=${user}`]);
    return stdout
      .trim()
      .split('\n')
      .map((line) => line.trim().replaceAll(/\s+/g, ' '));
  };
  const common = new Set(await lines(nobody));
  return (await lines(account)).filter((line) => !common.has(line)).toSorted();
}

/** Asserts that the account has exactly the rights `everywhere` in each namespace, plus its part of `inNamespaces`. */
async function assertRights(
  everywhere: readonly string[],
  inNamespaces: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  for (const namespace of [...namespaces, 'kube-system', 'default']) {
    const expected = [...everywhere, ...(inNamespaces[namespace] ?? [])].toSorted();
    assert.deepEqual(await rightsIn(namespace), expected, `in namespace ${namespace}`);
  }
}

const reviews = [
  'subjectaccessreviews.authorization.k8s.io [] [] [create]',
  'tokenreviews.authentication.k8s.io [] [] [create]',
];
const reader = { 'kube-system': ['configmaps [] [extension-apiserver-authentication] [get list watch]'] };
const serving = { [release]: ['secrets [] [portcullis-serving] [get list watch update]'] };
const ownApi = 'v1alpha1.gateway.portcullis.io';
const bundle = `apiservices.apiregistration.k8s.io [] [${ownApi}] [get list watch patch]`;
/** Whoever has a source that lives in CRDs. */
const definitions = 'customresourcedefinitions.apiextensions.k8s.io [] [] [list watch]';
const ocm = (name: string, verbs = 'get list watch'): string[] => [
  definitions,
  `managedclusters.cluster.open-cluster-management.io [] [] [${verbs}]`,
  `secrets [] [${name}] [list watch]`,
];

test('by default it reads ManagedClusters and the tokens of one name, its own certificate, and nothing else', async () => {
  await grant(1);
  await assertRights([...reviews, bundle, ...ocm('cluster-gateway')], { ...reader, ...serving });
  const allowed = [
    'list secrets/cluster-gateway -A',
    'watch secrets/cluster-gateway -A',
    'update secrets/portcullis-serving -n portcullis',
    `patch apiservices/${ownApi}`,
    'create tokenreviews.authentication.k8s.io',
    'create subjectaccessreviews.authorization.k8s.io',
    'watch configmaps/extension-apiserver-authentication -n kube-system',
    'list managedclusters.cluster.open-cluster-management.io',
  ];
  const refused = [
    'list secrets -A',
    'list secrets -n portcullis',
    'get secrets/other -n portcullis',
    'get secrets/cluster-gateway -n m1',
    'update secrets/cluster-gateway -n m1',
    'create secrets -n portcullis',
    'delete secrets/portcullis-serving -n portcullis',
    'patch apiservices/v1alpha1.cluster.core.oam.dev',
    'list configmaps -n kube-system',
    'patch managedclusters.cluster.open-cluster-management.io/m1',
    'impersonate users',
    'impersonate groups',
    'get /metrics',
    'create serviceaccounts/token -n portcullis',
    'list pods -A',
    'get clusters.gateway.portcullis.io/m1 --subresource=proxy',
  ];
  for (const question of allowed) assert.equal(await can(question), true, question);
  for (const question of refused) assert.equal(await can(question), false, question);
});

test("beside cluster-gateway it reads the Secrets of that namespace and cannot write them, nor cluster-gateway's APIService", async () => {
  await grant(3);
  await assertRights([...reviews, bundle, ...ocm('cluster-gateway')], {
    ...reader,
    ...serving,
    'vela-system': ['secrets [] [] [list watch]'],
  });
  for (const question of secretsOf('vela-system')) assert.equal(await can(question), true, question);
  for (const question of [
    ...secretsOf('other'),
    'patch secrets/m1 -n vela-system',
    'patch apiservices/v1alpha1.cluster.core.oam.dev',
  ])
    assert.equal(await can(question), false, question);
});

test('updateHealth gives patch on those Secrets, and the take-over the one APIService more', async () => {
  await grant(4);
  await assertRights([...reviews, bundle, bundle.replace(ownApi, 'v1alpha1.cluster.core.oam.dev')], {
    ...reader,
    ...serving,
    'open-cluster-management-credentials': ['secrets [] [] [list watch patch]'],
  });
  for (const question of [
    'patch secrets/m1 -n open-cluster-management-credentials',
    'patch apiservices/v1alpha1.cluster.core.oam.dev',
  ])
    assert.equal(await can(question), true, question);
  for (const question of ['delete secrets/m1 -n open-cluster-management-credentials', 'patch secrets/m1 -n other'])
    assert.equal(await can(question), false, question);
});

test('with every source it reads Secrets in the namespaces named, and patches those and ManagedClusters for updateHealth', async () => {
  await grant(5);
  const clusters = 'clusters.cluster.x-k8s.io [] [] [get list watch]';
  const secrets = 'secrets [] [] [list watch]';
  await assertRights(
    [
      ...reviews,
      bundle,
      ...ocm('cluster-gateway', 'get list watch patch'),
      'clusters.cluster.karmada.io [] [] [get list watch]',
      'clustersyncresources.cluster.clusterpedia.io [] [] [get list watch]',
      'pediaclusters.cluster.clusterpedia.io [] [] [get list watch]',
    ],
    {
      ...reader,
      ...serving,
      argocd: [clusters, secrets],
      clusters: [clusters, secrets],
      'open-cluster-management-credentials': [clusters, 'secrets [] [] [list watch patch]'],
      'karmada-clusters': [secrets],
    },
  );
});

test('with a certificate of its own it has no right on any Secret but the tokens, and on no APIService', async () => {
  await grant(6);
  await assertRights([...reviews, ...ocm('cluster-gateway')], reader);
  assert.equal(await can('get /metrics', 'system:serviceaccount:monitoring:prometheus-k8s'), true);
  assert.equal(await can('get /metrics', nobody), false);
});

test('clusterWideSecrets is the one way to every Secret, to read', async () => {
  await grant(8);
  const wide = 'system:serviceaccount:portcullis:gateway';
  for (const question of [...secretsOf('other'), 'list secrets -A', 'list clusters.cluster.x-k8s.io -A'])
    assert.equal(await can(question, wide), true, question);
  for (const question of [
    'patch secrets/x -n other',
    'update secrets/x -n other',
    'get secrets/x -n other',
    'list configmaps -A',
  ])
    assert.equal(await can(question, wide), false, question);
});

test('with import policies it writes the objects of policies and reads the listed types, and nothing else', async () => {
  await grant(9);
  const table: readonly (readonly [question: string, allowed: boolean])[] = [
    ['create pediaclusterlifecycles.policy.clusterpedia.io', true],
    ['delete pediaclusterlifecycles.policy.clusterpedia.io', true],
    ['patch clusterimportpolicies.policy.clusterpedia.io', true],
    ['patch clusterimportpolicies.policy.clusterpedia.io --subresource=status', true],
    ['create pediaclusters.cluster.clusterpedia.io', true],
    ['list clusters.cluster.x-k8s.io -A', true],
    ['list secrets -A', true],
    ['update leases.coordination.k8s.io/clusterpedia-clustersynchro-manager-a -n clusterpedia-system', true],
    ['update leases.coordination.k8s.io/another -n clusterpedia-system', false],
    ['update leases.coordination.k8s.io/clusterpedia-controller-manager -n other', false],
    ['create clusterimportpolicies.policy.clusterpedia.io', false],
    ['delete clusterimportpolicies.policy.clusterpedia.io', false],
    ['delete pediaclusters.cluster.clusterpedia.io', false],
    ['patch secrets/x -n other', false],
    ['list configmaps -A', false],
  ];
  for (const [question, allowed] of table) assert.equal(await can(question), allowed, question);
});

test('with joins it reads and deletes bootstrap Secrets where they are, writes those of clusters, and no others', async () => {
  await grant(11);
  const clusters = 'open-cluster-management-credentials';
  const table: readonly (readonly [question: string, allowed: boolean])[] = [
    ...['list', 'watch', 'create', 'patch', 'delete'].map(
      (verb) => [`${verb} clusterjoins.join.portcullis.io`, true] as const,
    ),
    ['patch clusterjoins.join.portcullis.io --subresource=status', true],
    ['create managedclusters.cluster.open-cluster-management.io', true],
    ['list clusters.cluster.x-k8s.io -A', true],
    ['get secrets/x -n joining', true],
    ['delete secrets/x -n joining', true],
    ['get configmaps/x -n joining', true],
    ['list secrets -n joining', false],
    ['patch secrets/x -n joining', false],
    [`create secrets -n ${clusters}`, true],
    [`patch secrets/x -n ${clusters}`, true],
    ['get secrets/x -n other', false],
    ['create secrets -n other', false],
    ['list configmaps -A', false],
    ['create events -n default', true],
    ['create events -n other', false],
    [`update leases.coordination.k8s.io/portcullis-joins -n ${release}`, true],
    [`update leases.coordination.k8s.io/another -n ${release}`, false],
  ];
  for (const [question, allowed] of table) assert.equal(await can(question), allowed, question);
});

test('with works it renews Leases of clusters, and no others', async () => {
  await grant(14);
  const lease = 'leases.coordination.k8s.io/managed-cluster-lease';
  const status = 'managedclusters.cluster.open-cluster-management.io --subresource=status';
  for (const question of [`watch ${lease} -A`, `patch ${lease} -n m1`, `patch ${status}`])
    assert.equal(await can(question), true, question);
  for (const question of [`delete ${lease} -n m1`, `patch ${lease}s -n m1`, `update ${status}`])
    assert.equal(await can(question), false, question);
});

test('with tenants it writes the status of TenantBindings, and reads the policy about their author and no other', async () => {
  await grant(13);
  const policies = 'validatingadmissionpolicies.admissionregistration.k8s.io';
  const types = 'tenantbindings.tenancy.portcullis.io';
  const yes = [`patch ${types}`, `patch ${types} --subresource=status`, `watch ${policies}/portcullis-tenant-author`];
  const no = [`delete ${types}`, `watch ${policies}/another`, 'create clusterrolebindings.rbac.authorization.k8s.io'];
  for (const question of yes) assert.equal(await can(question), true, question);
  for (const question of no) assert.equal(await can(question), false, question);
});

test("in the place of Karmada's search it stores ResourceRegistries and their status, and nothing else of Karmada's", async () => {
  await grant(12);
  const registries = 'resourceregistries.search.karmada.io';
  const table: readonly (readonly [question: string, allowed: boolean])[] = [
    ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'].map(
      (verb) => [`${verb} ${registries}`, true] as const,
    ),
    [`patch ${registries} --subresource=status`, true],
    ['create leases.coordination.k8s.io -n karmada-cluster', true],
    ['update leases.coordination.k8s.io/portcullis-karmada-search -n karmada-cluster', true],
    ['update leases.coordination.k8s.io/another -n karmada-cluster', false],
    ['create leases.coordination.k8s.io -n other', false],
    ['list secrets -n karmada-cluster', true],
    ['patch secrets/m1 -n karmada-cluster', false],
    ['patch clusters.cluster.karmada.io', false],
  ];
  for (const [question, allowed] of table) assert.equal(await can(question), allowed, question);
});

test('nobody reaches a cluster by the installation itself; the roles for people give what their names say', async () => {
  await grant(1);
  const bind = (name: string, role: string): Promise<void> =>
    hub.apply(clusterRoleBinding(name, role, userSubject(name)));
  await Promise.all([
    bind('viewer', 'portcullis-clusters-view'),
    bind('reader', 'portcullis-clusters-read'),
    bind('user', 'portcullis-clusters-use'),
  ]);
  const clusters = 'clusters.gateway.portcullis.io';
  const proxy = `${clusters}/m1 --subresource=proxy`;
  const table: readonly (readonly [who: string, question: string, allowed: boolean])[] = [
    ['viewer', `list ${clusters}`, true],
    ['viewer', `get ${proxy}`, false],
    ['reader', `get ${proxy}`, true],
    ['reader', `watch ${proxy}`, true],
    ['reader', `create ${proxy}`, false],
    ['reader', `delete ${proxy}`, false],
    ['user', `create ${proxy}`, true],
    ['user', `deletecollection ${proxy}`, true],
    ['user', `list secrets -A`, false],
    ['somebody', `list ${clusters}`, false],
    ['somebody', `get ${proxy}`, false],
  ];
  for (const [who, question, allowed] of table) assert.equal(await can(question, who), allowed, `${who}: ${question}`);
  const { stdout } = await hub.kubectl([
    'get',
    'clusterrole',
    'portcullis-clusters-view',
    '-o',
    'jsonpath={.metadata.labels}',
  ]);
  assert.match(stdout, /aggregate-to-view":"true"/);
  const bindings = objectsOf(readFileSync(valueSets()[0]!.golden, 'utf8')).filter(({ kind }) =>
    kind.endsWith('Binding'),
  );
  assert.deepEqual(
    bindings.filter(({ roleRef }) => /clusters-(?:use|read|view)$/.test((roleRef as { name: string }).name)),
    [],
  );
});

test("the examples of the page about users' RBAC are taken by the API server and give what the page says", async () => {
  await grant(1);
  const page = readFileSync(join(import.meta.dirname, '../../../docs/how-to/user-rbac.md'), 'utf8');
  const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!);
  assert.equal(examples.length, 6);
  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a' } });
  for (const text of examples) {
    const { code, stderr } = await hub.kubectl(['apply', '--validate=strict', '-f', '-'], { stdin: text });
    assert.equal(code, 0, stderr);
  }
  const table: readonly (readonly [group: string, question: string, allowed: boolean])[] = [
    ['team-a', 'create clusters.gateway.portcullis.io/m1 --subresource=proxy', true],
    ['team-a', 'get clusters.gateway.portcullis.io/m2 --subresource=proxy', false],
    ['auditors', 'watch clusters.gateway.portcullis.io/m2 --subresource=proxy', true],
    ['auditors', 'create clusters.gateway.portcullis.io/m2 --subresource=proxy', false],
    ['system:authenticated', 'list clusters.gateway.portcullis.io', true],
    ['system:authenticated', 'get clusters.gateway.portcullis.io/m1 --subresource=proxy', false],
  ];
  for (const [group, question, allowed] of table) {
    const { stdout } = await hub.kubectl(['auth', 'can-i', ...question.split(' '), '--as=ann', `--as-group=${group}`]);
    assert.equal(stdout.trim().startsWith('yes'), allowed, `${group}: ${question}`);
  }
});
