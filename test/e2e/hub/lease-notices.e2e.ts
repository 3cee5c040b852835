// A gateway whose Leases for joins, grants and import policies cannot be used, because their namespace is missing: the
// objects that wait say so, each in a condition of its own kind, and they are looked after once the namespace is there.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gatewaySubject } from '../../hub/objects.ts';
import { applyCustomResources } from '../../hub/site.ts';
import { clusterJoinDefinition } from '../../../join/object/definition.ts';
import { conditionIn, eventually, read, type Json } from '../distribute/works-site.ts';
import { paths, startImportHub, type ImportHub } from '../import/import-site.ts';
import { joinAccess, joinPath } from '../join/join-site.ts';
import { bindingPath, everywhere, prepareHub, tenantBinding } from '../tenants/tenants-site.ts';
import { grantedClusterRole } from '../../site/rbac.ts';

let site: ImportHub;

before(async () => {
  site = await startImportHub({ members: [] });
  const { hub } = site;
  await applyCustomResources(hub);
  await hub.apply(clusterJoinDefinition, ...joinAccess());
  await eventually('the hub serves ClusterJoins', async () => (await hub.request('GET', joinPath(''))).status === 200);
  await prepareHub(hub);
  const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }];
  await hub.apply(...grantedClusterRole('leases', rules, gatewaySubject));
});
after(() => site?.stop());

/** One object of each kind that waits for a leader: its path, and the condition that tells of it. */
const waiting: readonly { readonly path: string; readonly condition: string; readonly object: Json }[] = [
  {
    path: joinPath('waits'),
    condition: 'Ready',
    object: {
      apiVersion: 'join.portcullis.io/v1alpha1',
      kind: 'ClusterJoin',
      metadata: { name: 'waits' },
      spec: { bootstrapKubeconfigSecret: { namespace: 'joining', name: 'none' } },
    },
  },
  {
    path: bindingPath('waits'),
    condition: 'Applied',
    object: tenantBinding('waits', { grants: [everywhere('view')], clusters: { names: ['none'] } }),
  },
  {
    path: '/apis/rbac.open-cluster-management.io/v1alpha1/namespaces/default/clusterpermissions/waits',
    condition: 'AppliedRBACManifestWork',
    object: {
      apiVersion: 'rbac.open-cluster-management.io/v1alpha1',
      kind: 'ClusterPermission',
      metadata: { name: 'waits', namespace: 'default' },
      spec: { clusterRole: { rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }] } },
    },
  },
  {
    path: `${paths.policies}/waits`,
    condition: 'Reconciling',
    object: {
      apiVersion: 'policy.clusterpedia.io/v1alpha1',
      kind: 'ClusterImportPolicy',
      metadata: { name: 'waits' },
      spec: {
        source: { group: '', resource: 'configmaps', versions: [], selectorTemplate: 'false' },
        nameTemplate: 'x',
        template: 'spec: {}',
        creationCondition: 'false',
      },
    },
  },
];

test('objects of every kind say that the Lease cannot be used, and are looked after once it can', async () => {
  const { hub } = site;
  const gateway = await site.startGateway({
    args: [
      ...['--sources', 'ocm,cluster-gateway,pediacluster', '--clusterpedia-namespace', 'absent'],
      ...['--cluster-joins', '--joins-lease', 'absent/joins'],
      ...['--tenant-bindings', '--cluster-permissions', '--tenants-lease', 'absent/tenants'],
    ],
    env: { PORTCULLIS_TEST_TIME_SCALE: '0.1' },
  });
  for (const { object } of waiting) await hub.apply(object);
  const found = async (path: string, condition: string): Promise<Json> =>
    conditionIn((await read(hub, path)).status, condition);
  for (const { path, condition } of waiting) {
    const reported = await eventually(`${path} says it`, () => found(path, condition));
    assert.deepEqual([reported.status, reported.reason], ['False', 'LeaseUnavailable'], path);
    assert.match(reported.message, /because the Lease absent\/\S+ cannot be used: .*"absent"/, path);
  }
  const ready = await (await fetch(`${gateway.opsUrl}/readyz?verbose`)).text();
  for (const what of ['join', 'tenants', 'import']) assert.match(ready, new RegExp(`${what}: the Lease absent/`));

  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'absent' } });
  for (const { path, condition } of waiting)
    await eventually(`${path} is looked after`, async () => {
      const { status } = await read(hub, path);
      return conditionIn(status, condition)?.reason !== 'LeaseUnavailable';
    });
});
