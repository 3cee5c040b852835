// The policies for Karmada, KubeVela and vcluster that are shipped, all of them at once, with real clusters behind.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import type { Member } from '../../controlplane/fixture.ts';
import {
  eventually,
  definitionFile,
  hasReason,
  paths,
  putStatus,
  read,
  samplePolicy,
  startImportSite,
  type ImportSite,
  type Json,
} from './import-site.ts';

let site: ImportSite;
let hub: Member;
let member: Member;

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const lifecycle = (name: string): string => `${paths.lifecycles}/${name}`;
const cluster = (name: string): string => `${paths.clusters}/${name}`;

before(async () => {
  site = await startImportSite();
  hub = site.hub;
  member = site.plane.member('m1');
  await hub.apply(definitionFile('karmada-clusters.yaml'));
  for (const name of ['vela-system', 'team', 'karmada-cluster'])
    await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await hub.apply(...['karmada', 'kubevela', 'vcluster'].map(samplePolicy));
});

after(() => site?.stop());

function secret(namespace: string, name: string, data: Json, labels: Json = {}): object {
  const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(String(value))]));
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels }, data: encoded };
}

test('several policies that read Secrets all work', async () => {
  for (const name of ['karmada', 'kubevela', 'vcluster']) {
    await hasReason(hub, `${paths.policies}/${name}`, 'Validated', 'Success');
    await hasReason(hub, `${paths.policies}/${name}`, 'Reconciling', 'ReconcileSourceResourceAndLifecycle');
  }
});

test('a cluster of Karmada is imported with the token of its Secret once it is ready', async () => {
  const karmada = '/apis/cluster.karmada.io/v1alpha1/clusters/m1';
  await hub.apply(secret('karmada-cluster', 'm1', { token: member.users.carol.token, caBundle: member.caPem }), {
    apiVersion: 'cluster.karmada.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'm1' },
    spec: { syncMode: 'Push', apiEndpoint: member.url, secretRef: { namespace: 'karmada-cluster', name: 'm1' } },
  });
  const { message } = await hasReason(hub, lifecycle('karmada-m1'), 'Created', 'WaitCreationCondition');
  assert.equal(message, '');
  await putStatus(hub, karmada, { conditions: [{ type: 'Ready', status: 'True' }] });
  await hasReason(hub, lifecycle('karmada-m1'), 'Created', 'PediaClusterCreated');
  const { spec } = await read(hub, cluster('karmada-m1'));
  assert.deepEqual(
    [spec.apiserver, spec.tokenData, spec.caData],
    [member.url, base64(member.users.carol.token), base64(member.caPem)],
  );
  await hasReason(hub, cluster('karmada-m1'), 'Ready', 'Ready');
});

test('a cluster of Karmada in pull mode, which has no Secret, is told to have no reference name', async () => {
  await hub.apply({
    apiVersion: 'cluster.karmada.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'pulls' },
    spec: { syncMode: 'Pull' },
  });
  const { message } = await hasReason(hub, lifecycle('karmada-pulls'), 'Created', 'FailedReferenceResourceParse');
  assert.match(message, /reference "secret": the name is empty/);
});

test('a cluster of Karmada without an address is imported and told to be invalid', async () => {
  await hub.apply(secret('karmada-cluster', 'blind', { token: 'a', caBundle: member.caPem }), {
    apiVersion: 'cluster.karmada.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'blind' },
    spec: { syncMode: 'Push', secretRef: { namespace: 'karmada-cluster', name: 'blind' } },
  });
  await eventually('it has a lifecycle', () => read(hub, lifecycle('karmada-blind')));
  await putStatus(hub, '/apis/cluster.karmada.io/v1alpha1/clusters/blind', {
    conditions: [{ type: 'Ready', status: 'True' }],
  });
  const { message } = await hasReason(hub, cluster('karmada-blind'), 'Validated', 'InvalidConfig');
  assert.equal(message, 'invalid cluster config: Cluster APIServer Endpoint is required');
});

test('of KubeVela the clusters with a certificate are imported, from its own namespace alone', async () => {
  const type = 'cluster.core.oam.dev/cluster-credential-type';
  const data = {
    endpoint: member.url,
    'ca.crt': member.caPem,
    'tls.crt': member.adminCertPem,
    'tls.key': member.adminKeyPem,
  };
  await hub.apply(
    secret('vela-system', 'x', data, { [type]: 'X509Certificate' }),
    secret('vela-system', 'tokens', data, { [type]: 'ServiceAccountToken' }),
    secret('team', 'elsewhere', data, { [type]: 'X509Certificate' }),
  );
  await hasReason(hub, cluster('vela-x'), 'Ready', 'Ready');
  assert.equal((await read(hub, cluster('vela-x'))).spec.apiserver, member.url);
  assert.equal(await read(hub, lifecycle('vela-tokens')), undefined);
  assert.equal(await read(hub, lifecycle('vela-elsewhere')), undefined);
});

test('a Secret of vcluster is imported by its kubeconfig, and Secrets that only look alike are not', async () => {
  const config = readFileSync(member.adminKubeconfig, 'utf8');
  const { clusters, users } = parse(config) as Json;
  const texts = {
    'certificate-authority': clusters[0].cluster['certificate-authority-data'],
    'client-certificate': users[0].user['client-certificate-data'],
    'client-key': users[0].user['client-key-data'],
  };
  const encoded = Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, String(value)]));
  const vc = (name: string, data: Json): object => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'team' },
    data,
  });
  await hub.apply(
    vc('vc-x', { config: base64(config), ...encoded }),
    vc('vc-y', { config: base64(config) }),
    vc('vc-z', { config: base64(config), ...encoded, 'certificate-authority': base64('another') }),
  );
  await hasReason(hub, cluster('vc-team.x'), 'Ready', 'Ready');
  const { spec, status } = await read(hub, cluster('vc-team.x'));
  assert.deepEqual([spec.apiserver, status.apiserver], ['https://x.team.svc', member.url]);
  for (const name of ['y', 'z']) assert.equal(await read(hub, lifecycle(`vc-team.${name}`)), undefined);
});
