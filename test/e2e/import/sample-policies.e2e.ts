// The sample policies for Open Cluster Management, Argo CD, Rancher and Clusternet, as somebody applies them who has
// one of these on the hub, with a real cluster behind; a policy of one's own; versions of a type; and a cluster that a
// native source finds, too.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import { http1Client } from '../../clients/stream-client.ts';
import { openDefinition } from './definitions.ts';
import {
  definitionFile,
  eventually,
  hasReason,
  paths,
  read,
  remove,
  samplePolicy,
  startImportSite,
  type ImportSite,
  type Json,
} from './import-site.ts';

const lifecycle = (name: string): string => `${paths.lifecycles}/${name}`;
const cluster = (name: string): string => `${paths.clusters}/${name}`;
const samples = ['ocm', 'argocd', 'rancher', 'clusternet'];
const sourceGroups = [
  'cluster.open-cluster-management.io',
  'provisioning.cattle.io',
  'clusters.clusternet.io',
  'mcp.example.io',
];
let site: ImportSite;
let hub: Member;
let member: Member;

before(async () => {
  site = await startImportSite({
    members: ['m1', 'm2'],
    sourceRules: [{ apiGroups: sourceGroups, resources: ['*'], verbs: ['list', 'watch'] }],
    gateway: { args: ['--sources', 'cluster-api,pediacluster'] },
  });
  hub = site.hub;
  member = site.plane.member('m1');
  await hub.apply(
    openDefinition('managedclusters.cluster.open-cluster-management.io', 'ManagedCluster', 'Cluster', 'v1'),
    openDefinition('clusters.provisioning.cattle.io', 'Cluster', 'Namespaced', 'v1'),
    openDefinition('managedclusters.clusters.clusternet.io', 'ManagedCluster', 'Namespaced', 'v1beta1'),
    openDefinition('platforms.mcp.example.io', 'Platform', 'Namespaced', 'v1'),
  );
  for (const path of [ocm, rancher, clusternet, platforms])
    await eventually(`the hub serves ${path}`, async () => (await hub.request('GET', path)).status === 200);
  for (const name of ['m1', 'argocd', 'fleet-default', 'clusternet-x7', 'ns1'])
    await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await hub.apply(...samples.map(samplePolicy));
});

after(() => site?.stop());

const ocm = '/apis/cluster.open-cluster-management.io/v1/managedclusters';
const rancher = '/apis/provisioning.cattle.io/v1/namespaces/fleet-default/clusters';
const clusternet = '/apis/clusters.clusternet.io/v1beta1/namespaces/clusternet-x7/managedclusters';
const platforms = '/apis/mcp.example.io/v1/namespaces/ns1/platforms';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const isReady = (name: string): Promise<Json> => hasReason(hub, cluster(name), 'Ready', 'Ready');

function secret(namespace: string, name: string, data: Readonly<Record<string, string>>, labels: Json = {}): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels }, stringData: data };
}

test('all of them are in effect at once', async () => {
  for (const name of samples) {
    await hasReason(hub, `${paths.policies}/${name}`, 'Validated', 'Success');
    await hasReason(hub, `${paths.policies}/${name}`, 'Reconciling', 'ReconcileSourceResourceAndLifecycle');
  }
});

test('a cluster of Open Cluster Management is imported with the token of its ManagedServiceAccount', async () => {
  const spec = {
    hubAcceptsClient: true,
    managedClusterClientConfigs: [{ url: member.url, caBundle: base64(member.caPem) }],
  };
  const managed = {
    apiVersion: 'cluster.open-cluster-management.io/v1',
    kind: 'ManagedCluster',
    metadata: { name: 'm1' },
    spec,
  };
  const refused = { ...managed, metadata: { name: 'refused' }, spec: { ...spec, hubAcceptsClient: false } };
  await hub.apply(managed, refused);
  await hasReason(hub, lifecycle('ocm-m1'), 'Created', 'ReferenceResourceNotFound');
  await hub.apply(secret('m1', 'cluster-gateway', { token: member.users.carol.token }));
  await hasReason(hub, lifecycle('ocm-m1'), 'Created', 'WaitCreationCondition');
  const conditions = [{ type: 'ManagedClusterConditionAvailable', status: 'True' }];
  await hub.apply({ ...managed, status: { conditions } });
  await isReady('ocm-m1');
  assert.equal(await read(hub, lifecycle('ocm-refused')), undefined);
});

test('clusters of Argo CD are imported with a token or a certificate, and others left out', async () => {
  const type = { 'argocd.argoproj.io/secret-type': 'cluster' };
  const caData = base64(member.caPem);
  const certificate = { certData: base64(member.adminCertPem), keyData: base64(member.adminKeyPem) };
  const put = (name: string, config: object, labels: Json = type): object =>
    secret('argocd', name, { name, server: member.url, config: JSON.stringify(config) }, labels);
  await hub.apply(
    put('token', { bearerToken: member.users.carol.token, tlsClientConfig: { caData } }),
    put('certificate', { tlsClientConfig: { caData, ...certificate } }),
    put('cloud', { awsAuthConfig: { clusterName: 'a' }, tlsClientConfig: { caData } }),
    put('unverified', { bearerToken: 'a', tlsClientConfig: { insecure: true } }),
    put(
      'repository',
      { bearerToken: 'a', tlsClientConfig: { caData } },
      { 'argocd.argoproj.io/secret-type': 'repository' },
    ),
  );
  for (const name of ['token', 'certificate']) await isReady(`argocd-argocd.${name}`);
  await hasReason(hub, `${paths.policies}/argocd`, 'Reconciling', 'ReconcileSourceResourceAndLifecycle');
  for (const name of ['cloud', 'unverified', 'repository'])
    assert.equal(await read(hub, lifecycle(`argocd-argocd.${name}`)), undefined);
});

test('a cluster of Rancher is imported with its kubeconfig once it is ready', async () => {
  const object = {
    apiVersion: 'provisioning.cattle.io/v1',
    kind: 'Cluster',
    metadata: { name: 'one', namespace: 'fleet-default' },
  };
  await hub.apply(object);
  await hasReason(hub, lifecycle('rancher-fleet-default.one'), 'Created', 'FailedReferenceResourceParse');
  const value = readFileSync(member.adminKubeconfig, 'utf8');
  await hub.apply(secret('fleet-default', 'one-kubeconfig', { value }), {
    ...object,
    status: { clientSecretName: 'one-kubeconfig', ready: false },
  });
  await hasReason(hub, lifecycle('rancher-fleet-default.one'), 'Created', 'WaitCreationCondition');
  await hub.apply({ ...object, status: { clientSecretName: 'one-kubeconfig', ready: true } });
  await isReady('rancher-fleet-default.one');
});

test('a cluster of Clusternet is imported once its agent has given address and credential', async () => {
  await hub.apply({
    apiVersion: 'clusters.clusternet.io/v1beta1',
    kind: 'ManagedCluster',
    metadata: { name: 'child', namespace: 'clusternet-x7' },
  });
  const data = { 'ca.crt': member.caPem, token: member.users.carol.token };
  await hub.apply(secret('clusternet-x7', 'child-cluster-deployer', data));
  await hasReason(hub, lifecycle('clusternet-clusternet-x7.child'), 'Created', 'WaitCreationCondition');
  await hub.apply(
    secret('clusternet-x7', 'child-cluster-deployer', { ...data, 'apiserver-advertise-url': member.url }),
  );
  await isReady('clusternet-clusternet-x7.child');
});

test('a policy for a type of one’s own imports its clusters when they are ready', async () => {
  await hub.apply({
    apiVersion: 'policy.clusterpedia.io/v1alpha1',
    kind: 'ClusterImportPolicy',
    metadata: { name: 'mcp' },
    spec: {
      source: { group: 'mcp.example.io', resource: 'platforms' },
      references: [
        {
          key: 'auth',
          group: '',
          resource: 'secrets',
          namespaceTemplate: '{{ .source.metadata.namespace }}',
          nameTemplate: '{{ .source.spec.authSecretRef.name }}',
        },
      ],
      nameTemplate: 'mcp-{{ .source.metadata.name }}',
      template: `spec:
  apiserver: "{{ .source.spec.apiEndpoint }}"
  caData: "{{ .references.auth.data.ca }}"
  tokenData: "{{ .references.auth.data.token }}"
  syncResources: [{ group: "", resources: [pods] }]`,
      creationCondition: `
{{- range .source.status.conditions -}}
  {{- if eq .type "Ready" -}}{{- if eq .status "True" -}}true{{- end -}}{{- end -}}
{{- end -}}`,
    },
  });
  const platform = {
    apiVersion: 'mcp.example.io/v1',
    kind: 'Platform',
    metadata: { name: 'cluster-1', namespace: 'ns1' },
    spec: { apiEndpoint: member.url, authSecretRef: { name: 'auth' } },
  };
  await hub.apply(secret('ns1', 'auth', { ca: member.caPem, token: member.users.carol.token }), platform);
  await hasReason(hub, lifecycle('mcp-cluster-1'), 'Created', 'WaitCreationCondition');
  await hub.apply({ ...platform, status: { conditions: [{ type: 'Ready', status: 'True' }] } });
  await isReady('mcp-cluster-1');
});

test('whichever version of a type the hub prefers, the cluster is imported, and a new version changes nothing of it', async () => {
  const definition = definitionFile('cluster-api-clusters.yaml') as Json;
  const older = structuredClone(definition);
  for (const version of older.spec.versions) version.served = version.storage = version.name === 'v1beta1';
  await hub.apply(older, samplePolicy('cluster-api'));
  const source = '/apis/cluster.x-k8s.io/v1beta1/namespaces/ns1/clusters';
  await eventually('the hub serves v1beta1', async () => (await hub.request('GET', source)).status === 200);
  const answer = await hub.request('POST', source, {
    apiVersion: 'cluster.x-k8s.io/v1beta1',
    kind: 'Cluster',
    metadata: { name: 'c1' },
  });
  assert.equal(answer.status, 201, answer.body);
  const made = JSON.parse(answer.body);
  const status = { conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }] };
  await hub.request('PUT', `${source}/c1/status`, { ...made, status });
  await hub.apply({
    ...secret('ns1', 'c1-kubeconfig', { value: readFileSync(site.plane.member('m2').adminKubeconfig, 'utf8') }),
    type: 'cluster.x-k8s.io/secret',
  });
  const before = await eventually('it is imported', () => read(hub, cluster('capi-ns1.c1')));
  assert.equal((await read(hub, lifecycle('capi-ns1.c1'))).spec.source.version, 'v1beta1');
  const both = structuredClone(definition);
  for (const version of both.spec.versions) version.storage = version.name === 'v1beta1';
  await hub.apply(both);
  const version = async (): Promise<string> => (await read(hub, lifecycle('capi-ns1.c1'))).spec.source.version;
  await eventually('v1beta2 is read', async () => (await version()) === 'v1beta2');
  const after = await read(hub, cluster('capi-ns1.c1'));
  assert.deepEqual([after.metadata.uid, after.spec], [before.metadata.uid, before.spec]);
});

test('a cluster that the gateway finds by itself, too, is in the index once, and its PediaCluster says as what', async () => {
  const { message } = await hasReason(hub, cluster('capi-ns1.c1'), 'SynchroRunning', 'SameCluster');
  assert.equal(message, 'its objects are in the index as cluster "c1"');
  await site.plane
    .member('m2')
    .apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'once', namespace: 'default' } });
  const { url, caPem } = site.gateway;
  const client = http1Client({ url, caPem, headers: { authorization: `Bearer ${hub.users.carol.token}` } });
  const indexed = async (path: string): Promise<Json> => {
    const answer = await client.get(path);
    await answer.ended;
    return answer.status === 200 ? JSON.parse(answer.body().toString('utf8')) : undefined;
  };
  const found = '/apis/clusterpedia.io/v1beta1/resources/clusters';
  try {
    await eventually('the native one has it', async () =>
      (await indexed(`${found}/c1/api/v1/namespaces/default/configmaps`))?.items.some(
        ({ metadata }: Json) => metadata.name === 'once',
      ),
    );
    assert.equal(await indexed(`${found}/capi-ns1.c1/api/v1/namespaces/default/configmaps`), undefined);
    const shown = await indexed('/apis/gateway.portcullis.io/v1alpha1/clusters/capi-ns1.c1');
    const { reason } = shown.status.conditions.find(({ type }: Json) => type === 'Indexed');
    assert.equal(reason, 'SameCluster');
  } finally {
    client.close();
  }
  await remove(hub, '/apis/cluster.x-k8s.io/v1beta2/namespaces/ns1/clusters/c1');
  await eventually('the imported one goes, too', async () => (await read(hub, cluster('capi-ns1.c1'))) === undefined);
});
