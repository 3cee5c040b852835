// The same import policies under Clusterpedia's own controllers and under ours, in turn on one hub: the objects must be
// equal, and neither may touch what the other made.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import type { Member } from '../controlplane/fixture.ts';
import {
  definitionFile,
  eventually,
  paths,
  putStatus,
  read,
  samplePolicy,
  startImportHub,
  type ImportHub,
  type Json,
} from '../e2e/import/import-site.ts';
import { installClusterpedia, missingPrograms, shippedPolicies, type Clusterpedia } from './clusterpedia.fixture.ts';

const missing = missingPrograms();
const needsClusterpedia = { skip: missing ?? false };

const base64 = (text: string): string => Buffer.from(text).toString('base64');
let site: ImportHub;
let hub: Member;
let member: Member;
let clusterpedia: Clusterpedia;

before(async () => {
  if (missing !== undefined) return;
  site = await startImportHub({ members: ['m1'] });
  hub = site.hub;
  member = site.plane.member('m1');
  clusterpedia = await installClusterpedia(hub);
  // Of several versions Clusterpedia takes any, another one after each start.
  const clusterApi = definitionFile('cluster-api-clusters.yaml') as Json;
  for (const version of clusterApi.spec.versions) version.served = version.storage;
  await hub.apply(clusterApi, definitionFile('karmada-clusters.yaml'));
  for (const name of ['ns1', 'team', 'vela-system', 'karmada-cluster'])
    await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  for (const path of [capi, '/apis/cluster.karmada.io/v1alpha1/clusters'])
    await eventually(`the hub serves ${path}`, async () => (await hub.request('GET', path)).status === 200);
});

after(async () => {
  await clusterpedia?.stop();
  await site?.stop();
});

const capi = '/apis/cluster.x-k8s.io/v1beta2/clusters';

function secret(namespace: string, name: string, data: Json, labels: Json = {}): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels }, data };
}

/** Sources of every kind: ready ones, and ones that lack something. */
async function putSources(): Promise<void> {
  const config = readFileSync(member.adminKubeconfig, 'utf8');
  const { clusters, users } = parse(config) as Json;
  const certificates = {
    'certificate-authority': String(clusters[0].cluster['certificate-authority-data']),
    'client-certificate': String(users[0].user['client-certificate-data']),
    'client-key': String(users[0].user['client-key-data']),
  };
  const x509 = { 'cluster.core.oam.dev/cluster-credential-type': 'X509Certificate' };
  const pair = { 'tls.crt': base64(member.adminCertPem), 'tls.key': base64(member.adminKeyPem) };
  const cluster = (name: string): object => ({
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { name, namespace: 'ns1' },
  });
  const karmada = (name: string, spec: Json): object => ({
    apiVersion: 'cluster.karmada.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name },
    spec,
  });
  const secretRef = { namespace: 'karmada-cluster', name: 'm1' };
  await hub.apply(
    ...['ready', 'waiting', 'lonely'].map(cluster),
    ...['ready', 'waiting'].map((name) => secret('ns1', `${name}-kubeconfig`, { value: base64(config) })),
    secret('karmada-cluster', 'm1', { token: base64(member.users.carol.token), caBundle: base64(member.caPem) }),
    karmada('push', { syncMode: 'Push', apiEndpoint: member.url, secretRef }),
    karmada('blind', { syncMode: 'Push', secretRef }),
    karmada('pull', { syncMode: 'Pull' }),
    secret('vela-system', 'x', { endpoint: base64(member.url), 'ca.crt': base64(member.caPem), ...pair }, x509),
    secret('team', 'vc-x', { config: base64(config), ...certificates }),
    secret('team', 'vc-y', { config: base64(config) }),
  );
  await putStatus(hub, '/apis/cluster.x-k8s.io/v1beta2/namespaces/ns1/clusters/ready', {
    conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }],
  });
  for (const name of ['push', 'blind', 'pull'])
    await putStatus(hub, `/apis/cluster.karmada.io/v1alpha1/clusters/${name}`, {
      conditions: [{ type: 'Ready', status: 'True' }],
    });
}

/** What must be equal of an object: everything but what the hub counts, times, messages and how far following is. */
function shown({ kind, metadata, spec, status = {} }: Json): Json {
  const owners = (metadata.ownerReferences ?? []).map(({ uid: _uid, ...owner }: Json) => owner);
  const { name, labels, annotations, finalizers } = metadata;
  const conditions = Object.fromEntries(
    (status.conditions ?? []).map(({ type, status: value, reason }: Json) => [
      type,
      // Clusterpedia says now and then that a cluster existed which it has just made itself.
      `${value} ${reason.replace('PediaClusterExisted', 'PediaClusterCreated')}`,
    ]),
  );
  const { apiserver, version, shardingName, references } = status;
  const synced = (status.syncResources ?? []).map(({ group, resources }: Json) => [
    group,
    resources.map((each: Json) => each.name).toSorted(),
  ]);
  return {
    kind,
    name,
    labels,
    annotations,
    finalizers,
    owners,
    spec,
    conditions,
    apiserver,
    version,
    shardingName,
    references,
    synced,
  };
}

async function everything(): Promise<readonly Json[]> {
  const lists = await Promise.all(Object.values(paths).map((path) => read(hub, path)));
  return lists.flatMap(({ kind, items }) => items.map((item: Json) => shown({ kind, ...item })));
}

/** Everything, once nothing has changed for some seconds and so many clusters are ready. */
async function settled(wanted: number): Promise<readonly Json[]> {
  let last = '';
  return await eventually('it settles', async () => {
    const now = await everything();
    const text = JSON.stringify(now);
    const same = text === last;
    last = text;
    const ready = now.filter(({ conditions, synced }) => conditions.Ready === 'True Ready' && synced.length > 0).length;
    await delay(3_000);
    return same && ready === wanted ? now : undefined;
  }).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\n${last}\n${await clusterpedia.logs()}`, { cause: error });
  });
}

async function removeAll(): Promise<void> {
  const { items } = await read(hub, paths.policies);
  for (const { metadata } of items) await hub.request('DELETE', `${paths.policies}/${metadata.name}`);
  await eventually('all are gone', async () => (await everything()).length === 0);
}

/** What tells that an object was made anew or changed: its UID and how often its spec has changed. */
async function lives(): Promise<unknown> {
  const lists = await Promise.all(Object.values(paths).map((path) => read(hub, path)));
  return lists.flatMap(({ items }) =>
    items.map(({ metadata }: Json) => [metadata.name, metadata.uid, metadata.generation, metadata.finalizers]),
  );
}

/**
 * The policies in groups with as many clusters as become ready: Clusterpedia can follow a type for one policy at a
 * time, and two of them read Secrets.
 */
const groups = [
  { policies: ['cluster-api', 'karmada', 'kubevela'], ready: 3 },
  { policies: ['vcluster'], ready: 1 },
];

/** Applies the policies under Clusterpedia's controllers and then under ours. */
async function giveTheSame(policyOf: (name: string) => object): Promise<void> {
  for (const { policies, ready } of groups) {
    await clusterpedia.start();
    await hub.apply(...policies.map(policyOf));
    const theirs = await settled(ready);
    await removeAll();
    await clusterpedia.stopControllers();
    const gateway = await site.startGateway();
    await hub.apply(...policies.map(policyOf));
    const ours = await settled(ready);
    await removeAll();
    await gateway.stop('SIGTERM');
    assert.deepEqual(ours, theirs);
  }
}

test('the same policies give the same objects as under Clusterpedia’s controllers', needsClusterpedia, async () => {
  await putSources();
  await giveTheSame(samplePolicy);
});

const shipped = missing === undefined ? shippedPolicies() : undefined;
const none = missing ?? (shipped === undefined && 'the folder holds no policies');

test('the policies that Clusterpedia ships give the same objects, too', { skip: none }, async () => {
  await giveTheSame(shipped!);
});

test('whoever takes over, us or them, makes nothing anew and changes no spec', needsClusterpedia, async () => {
  const { policies, ready } = groups[0]!;
  await clusterpedia.start();
  await hub.apply(...policies.map(samplePolicy));
  await settled(ready);
  const made = await lives();
  const gateway = await site.startGateway();
  await eventually('it sees who leads', () => /"holder":"(?!")[^"]+"/.test(gateway.log()));
  await clusterpedia.stopControllers();
  await eventually('it leads', () => gateway.log().match(/"leads":true/g)?.length === 2);
  await settled(ready);
  assert.deepEqual(await lives(), made);
  await clusterpedia.start();
  await gateway.stop('SIGTERM');
  await settled(ready);
  assert.deepEqual(await lives(), made);
  await removeAll();
});
