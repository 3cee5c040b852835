// A cluster of Cluster API from its policy to its end, on a real hub with a garbage collector.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { clusterpediaDefinitions } from '../../../import/definitions/clusterpedia.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { http1Client } from '../../clients/stream-client.ts';
import {
  eventually,
  condition,
  definitionFile,
  hasReason,
  paths,
  putStatus,
  read,
  remove,
  samplePolicy,
  startImportSite,
} from './import-site.ts';
import type { ImportSite, Json } from './import-site.ts';

const policy = `${paths.policies}/cluster-api`;
const lifecycle = `${paths.lifecycles}/capi-ns1.c1`;
const cluster = `${paths.clusters}/capi-ns1.c1`;
const source = '/apis/cluster.x-k8s.io/v1beta2/namespaces/ns1/clusters/c1';
/** Whose certificate is in the administrator's kubeconfig of a member. */
const kubeconfigUser = 'admin';
let site: ImportSite;
let hub: Member;
/** Where the audit of the member was when the gateway began to follow it. */
let mark: number;

before(async () => {
  site = await startImportSite({ audit: true });
  hub = site.hub;
  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns1' } });
  mark = await site.plane.member('m1').auditMark();
});

after(() => site?.stop());

function secret(kubeconfig: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'c1-kubeconfig', namespace: 'ns1' },
    data: { value: kubeconfig },
  };
}

function kubeconfig(): string {
  return readFileSync(site.plane.member('m1').adminKubeconfig).toString('base64');
}

/** Asks the index for objects of a cluster, as somebody who may see everything. */
async function found(path: string, name = 'capi-ns1.c1'): Promise<{ readonly status: number; readonly items: Json[] }> {
  const { url, caPem } = site.gateway;
  const client = http1Client({ url, caPem, headers: { authorization: `Bearer ${hub.users.carol.token}` } });
  try {
    const answer = await client.get(`/apis/clusterpedia.io/v1beta1/resources/clusters/${name}${path}`);
    await answer.ended;
    return { status: answer.status, items: JSON.parse(answer.body().toString('utf8')).items ?? [] };
  } finally {
    client.close();
  }
}

const configMaps = '/api/v1/namespaces/default/configmaps';

/** Whether the index has the ConfigMap that the test has put into the cluster. */
async function isHere(cluster?: string): Promise<boolean> {
  return (await found(configMaps, cluster)).items.some(({ metadata }) => metadata.name === 'here');
}

test('a policy whose type is not installed yet says so, and works soon after it is, without an edit', async () => {
  await hub.apply(samplePolicy('cluster-api'));
  const reported = await hasReason(hub, policy, 'Validated', 'FailedNegotiateSourceResource');
  assert.equal(reported.status, 'False');
  assert.match(reported.message, /does not serve clusters\.cluster\.x-k8s\.io/);
  assert.equal(await condition(hub, policy, 'Reconciling'), undefined);
  await hub.apply(definitionFile('cluster-api-clusters.yaml'));
  await hasReason(hub, policy, 'Validated', 'Success');
  const done = await hasReason(hub, policy, 'Reconciling', 'ReconcileSourceResourceAndLifecycle');
  const object = await read(hub, policy);
  assert.deepEqual([done.status, done.observedGeneration], ['True', object.metadata.generation]);
  assert.deepEqual(object.metadata.finalizers, ['clusterpedia.io/cluster-import-policy-controller']);
});

test('a cluster without its Secret has a lifecycle that names what is missing', async () => {
  await hub.apply({
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { name: 'c1', namespace: 'ns1' },
  });
  const created = await hasReason(hub, lifecycle, 'Created', 'ReferenceResourceNotFound');
  assert.deepEqual(
    [created.status, created.message],
    ['False', 'reference "kubeconfig": secrets ns1/c1-kubeconfig is not there'],
  );
  const object = await read(hub, lifecycle);
  const [owner] = object.metadata.ownerReferences;
  assert.deepEqual(
    [owner.kind, owner.name, owner.controller, owner.blockOwnerDeletion],
    ['ClusterImportPolicy', 'cluster-api', true, true],
  );
  assert.deepEqual(object.spec.source, {
    group: 'cluster.x-k8s.io',
    version: 'v1beta2',
    resource: 'clusters',
    namespace: 'ns1',
    name: 'c1',
  });
  assert.equal(object.spec.references[0].version, 'v1');
  assert.deepEqual(object.status.references, [
    { group: '', version: 'v1', resource: 'secrets', namespace: 'ns1', name: 'c1-kubeconfig' },
  ]);
  assert.equal(await condition(hub, lifecycle, 'Updating'), undefined);
});

test('with its Secret it waits until the control plane is initialized', async () => {
  await hub.apply(secret(kubeconfig()));
  const waiting = await hasReason(hub, lifecycle, 'Created', 'WaitCreationCondition');
  assert.deepEqual([waiting.status, waiting.message], ['False', '']);
});

test('an initialized cluster becomes a PediaCluster with the kubeconfig byte for byte', async () => {
  await putStatus(hub, source, { conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }] });
  const updating = await hasReason(hub, lifecycle, 'Updating', 'PediaClusterUpdated');
  assert.equal(updating.status, 'False');
  assert.equal((await condition(hub, lifecycle, 'Created')).reason, 'PediaClusterCreated');
  const object = await read(hub, cluster);
  assert.equal(object.spec.kubeconfig, kubeconfig());
  assert.deepEqual(
    object.spec.syncResources.map(({ group }: { group: string }) => group),
    ['', 'apps'],
  );
  const owners = object.metadata.ownerReferences;
  assert.equal(owners.length, 1);
  assert.deepEqual([owners[0].uid, owners[0].controller], [(await read(hub, lifecycle)).metadata.uid, undefined]);
});

test('kubectl get pediaclusters shows the cluster ready, with its version and address', async () => {
  await hasReason(hub, cluster, 'Ready', 'Ready');
  const { url } = site.plane.member('m1');
  const wide = await hub.kubectl(['get', 'pediaclusters', '-o', 'wide']);
  const [titles = '', row = ''] = wide.stdout.trim().split('\n');
  const columns = [
    'NAME',
    'READY',
    'VERSION',
    'APISERVER',
    'VALIDATED',
    'SYNCHRORUNNING',
    'CLUSTERHEALTHY',
    'SHARDINGNAME',
  ];
  assert.deepEqual(titles.split(/\s+/), columns);
  const { version, syncResources, shardingName } = (await read(hub, cluster)).status;
  assert.match(version, /^v1\./);
  assert.deepEqual(row.split(/\s+/), ['capi-ns1.c1', 'True', version, url, 'Validated', 'Running', 'Healthy']);
  assert.equal(shardingName, '');
  const [core, apps] = syncResources;
  assert.deepEqual(
    core.resources.map(({ name }: { name: string }) => name),
    ['pods', 'services', 'configmaps', 'secrets', 'namespaces', 'nodes'],
  );
  assert.ok(apps.resources.some(({ name }: { name: string }) => name === 'deployments'));
  await eventually('all types are followed', async () => {
    const groups: { resources: { syncConditions: { status: string }[] }[] }[] = (await read(hub, cluster)).status
      .syncResources;
    return groups.every(({ resources }) => resources.every(({ syncConditions: [one] }) => one?.status === 'Syncing'));
  });
});

test('kubectl get shows of each type the columns that Clusterpedia shows, and applying the types again changes none', async () => {
  const columns = {
    clusterimportpolicies: ['NAME', 'VALIDATED', 'RECONCILING'],
    pediaclusterlifecycles: ['NAME', 'CREATED', 'UPDATING'],
    pediaclusters: ['NAME', 'READY', 'VERSION', 'APISERVER'],
    clustersyncresources: ['NAME', 'AGE'],
  };
  const metadata = { name: 'shown' };
  await hub.apply({
    apiVersion: 'cluster.clusterpedia.io/v1alpha2',
    kind: 'ClusterSyncResources',
    metadata,
    spec: { syncResources: [] },
  });
  for (const [resource, titles] of Object.entries(columns)) {
    const { stdout } = await hub.kubectl(['get', resource]);
    assert.deepEqual(stdout.split('\n')[0]?.trim().split(/\s+/), titles, resource);
  }
  const { stdout } = await hub.kubectl(['get', 'clusterimportpolicies,pediaclusterlifecycles', '--no-headers']);
  assert.match(stdout, /cluster-api +Success +ReconcileSourceResourceAndLifecycle/);
  assert.match(stdout, /capi-ns1.c1 +PediaClusterCreated +PediaClusterUpdated/);
  const versions = async (): Promise<unknown> => {
    const { items } = await read(hub, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
    return items.map((item: Json) => [item.metadata.name, item.metadata.generation]);
  };
  const before = await versions();
  await hub.apply(...clusterpediaDefinitions);
  assert.deepEqual(await versions(), before);
});

test('objects of every type that the policy names are found in the index, and nothing was applied to the cluster', async () => {
  // Until now the test has written nothing to the cluster, and the gateway has followed it with the kubeconfig's user.
  const events = (await site.plane.member('m1').audit(mark)).filter(({ user }) => user.username === kubeconfigUser);
  assert.ok(events.some(({ verb }) => verb === 'list'));
  const writes = events.filter(
    ({ verb, objectRef }) => !['get', 'list', 'watch'].includes(verb) && !objectRef?.resource?.endsWith('reviews'),
  );
  assert.deepEqual(writes, []);
  const metadata = { name: 'here', namespace: 'default' };
  const labels = { app: 'here' };
  const pod = { containers: [{ name: 'a', image: 'none' }] };
  const template = { metadata: { labels }, spec: pod };
  const workload = { selector: { matchLabels: labels }, template };
  const made: readonly (readonly [string, string, Json])[] = [
    ['/api/v1', 'ConfigMap', {}],
    ['/api/v1', 'Secret', { stringData: { password: 'hidden' } }],
    ['/api/v1', 'Service', { spec: { ports: [{ port: 80 }] } }],
    ['/api/v1', 'ServiceAccount', {}],
    ['/api/v1', 'Pod', { spec: { ...pod, serviceAccountName: 'here' } }],
    ['/apis/apps/v1', 'Deployment', { spec: workload }],
    ['/apis/apps/v1', 'ReplicaSet', { spec: workload }],
    ['/apis/apps/v1', 'DaemonSet', { spec: workload }],
    ['/apis/apps/v1', 'StatefulSet', { spec: { ...workload, serviceName: 'here' } }],
    ['/apis/apps/v1', 'ControllerRevision', { revision: 1, data: {} }],
  ];
  const apiVersion = (path: string): string => path.replace(/^\/apis?\//, '');
  await site.plane
    .member('m1')
    .apply(...made.map(([path, kind, rest]) => ({ apiVersion: apiVersion(path), kind, metadata, ...rest })), {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'here' },
    });
  const imported = made.filter(([, kind]) => kind !== 'ServiceAccount');
  const collections = imported.map(([path, kind]) => `${path}/namespaces/default/${kind.toLowerCase()}s`);
  for (const path of [...collections, '/api/v1/nodes'])
    await eventually(`${path} has it`, async () =>
      (await found(path)).items.some((item) => item.metadata.name === 'here'),
    );
  const namespaces = await found('/api/v1/namespaces');
  assert.ok(namespaces.items.some((item) => item.metadata.name === 'default'));
  const { items } = await found('/api/v1/namespaces/default/secrets');
  assert.ok(!JSON.stringify(items).includes(Buffer.from('hidden').toString('base64')), 'Secrets have no data');
});

test('a rotated kubeconfig reaches the PediaCluster and its rows stay, also when it is no longer initialized', async () => {
  const member = site.plane.member('m1');
  await putStatus(hub, source, { conditions: [{ type: 'ControlPlaneInitialized', status: 'False' }] });
  const rotated = Buffer.from(readFileSync(member.users.carol.kubeconfig)).toString('base64');
  const mark = await member.auditMark();
  await hub.apply(secret(rotated));
  await eventually('the kubeconfig follows', async () => (await read(hub, cluster)).spec.kubeconfig === rotated);
  await eventually('Updating is True', async () => (await condition(hub, lifecycle, 'Updating')).status === 'True');
  await eventually('requests come with the new credential', async () => {
    assert.ok(await isHere(), 'the rows stay');
    const events = await member.audit(mark);
    return events.some(({ user, verb }) => user.username === 'carol' && ['list', 'watch'].includes(verb));
  });
});

test('credentials edited by hand are put back, and syncResources edited by hand are kept', async () => {
  const edited = [{ group: '', resources: ['pods'] }];
  const spec = { kubeconfig: 'YQ==', tokenData: 'Yg==', syncResources: edited };
  await hub.request('PATCH', cluster, { spec }, { 'content-type': 'application/merge-patch+json' });
  await eventually('it is put back', async () => {
    const { kubeconfig, tokenData } = (await read(hub, cluster)).spec;
    return kubeconfig !== 'YQ==' && tokenData === undefined;
  });
  assert.deepEqual((await read(hub, cluster)).spec.syncResources, edited);
});

test('a lifecycle edited by hand is put back, and a PediaCluster or lifecycle deleted by hand is made again', async () => {
  await hub.request(
    'PATCH',
    lifecycle,
    { spec: { template: 'x' } },
    { 'content-type': 'application/merge-patch+json' },
  );
  await eventually('it is put back', async () => (await read(hub, lifecycle)).spec.template !== 'x');
  await putStatus(hub, source, { conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }] });
  for (const path of [cluster, lifecycle]) {
    const { uid } = (await read(hub, path)).metadata;
    await remove(hub, path);
    await eventually(`${path} is made again`, async () => {
      const object = await read(hub, path);
      return object !== undefined && object.metadata.uid !== uid;
    });
  }
  await eventually('the PediaCluster is owned by the new lifecycle', async () => {
    const [owner] = (await read(hub, cluster))?.metadata.ownerReferences ?? [];
    return owner?.uid === (await read(hub, lifecycle))?.metadata.uid;
  });
  await eventually('its rows are there again', () => isHere());
});

test('a cluster that is deleted takes its lifecycle with it, then its PediaCluster, and its rows', async () => {
  await remove(hub, source);
  await eventually('the PediaCluster is gone', async () => {
    const object = await read(hub, cluster);
    // The lifecycle is read after the PediaCluster, which its end begins.
    if (object === undefined || object.metadata.deletionTimestamp !== undefined)
      assert.equal(await read(hub, lifecycle), undefined);
    return object === undefined;
  });
  assert.equal((await found(configMaps)).status, 404);
});

test('a PediaCluster whose policy was deleted as an orphan stays and is found in the index', async () => {
  const [name, path] = ['capi-ns1.c2', source.replace(/c1$/, 'c2')];
  const [value, metadata] = [kubeconfig(), { name: 'c2', namespace: 'ns1' }];
  await hub.apply(
    { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata },
    { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, name: 'c2-kubeconfig' }, data: { value } },
  );
  await putStatus(hub, path, { conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }] });
  await hasReason(hub, `${paths.clusters}/${name}`, 'Ready', 'Ready');
  await hub.kubectl(['delete', 'clusterimportpolicy', 'cluster-api', '--cascade=orphan']);
  await hasReason(hub, `${paths.lifecycles}/${name}`, 'Updating', 'OrphanLifecycle');
  await site.plane
    .member('m1')
    .apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'after', namespace: 'default' } });
  await eventually('what came later is found', async () =>
    (await found(configMaps, name)).items.some((item) => item.metadata.name === 'after'),
  );
  assert.equal((await condition(hub, `${paths.clusters}/${name}`, 'Ready')).status, 'True');
});
