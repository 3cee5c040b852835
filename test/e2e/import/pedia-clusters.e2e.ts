// PediaClusters that somebody writes by hand: what their status says, how they are reached, who takes them, and how
// they end. The sentences are those that Clusterpedia's tools and tests wait for.
// Landing tier: PediaClusters and their status.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import {
  eventually,
  condition,
  hasReason,
  isGone,
  paths,
  read,
  remove,
  startImportSite,
  type ImportSite,
  type Json,
} from './import-site.ts';

const merge = { 'content-type': 'application/merge-patch+json' };
const pods = [{ group: '', resources: ['pods'] }];
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const cluster = (name: string): string => `${paths.clusters}/${name}`;
let site: ImportSite;
let hub: Member;
let member: Member;
let token: string;
let kubeconfig: string;

before(async () => {
  site = await startImportSite({ members: ['m1', 'm2'], gateway: { config: { probeIntervalSeconds: 1 } } });
  hub = site.hub;
  member = site.plane.member('m1');
  token = member.users.carol.token;
  kubeconfig = readFileSync(member.adminKubeconfig, 'utf8');
});

after(() => site?.stop());

async function put(name: string, spec: Json): Promise<void> {
  const full = { syncResources: pods, ...spec };
  const object = {
    apiVersion: 'cluster.clusterpedia.io/v1alpha2',
    kind: 'PediaCluster',
    metadata: { name },
    spec: full,
  };
  const isThere = (await read(hub, cluster(name))) !== undefined;
  const answer = isThere
    ? await hub.request('PATCH', cluster(name), { spec: full }, merge)
    : await hub.request('POST', paths.clusters, object);
  assert.ok(answer.status < 300, answer.body);
}

const address = (): Json => ({ apiserver: member.url, caData: base64(member.caPem) });
const isReady = (name: string): Promise<Json> => hasReason(hub, cluster(name), 'Ready', 'Ready');

async function syncedNames(name: string): Promise<readonly string[]> {
  const groups = (await read(hub, cluster(name)))?.status?.syncResources ?? [];
  return groups.flatMap(({ group, resources }: Json) => resources.map((each: Json) => `${each.name}.${group}`));
}

test('a token, a certificate, a kubeconfig, and a kubeconfig beside others make a cluster ready', async () => {
  const certificate = { certData: base64(member.adminCertPem), keyData: base64(member.adminKeyPem) };
  await put('token', { ...address(), tokenData: base64(token) });
  await put('certificate', { ...address(), ...certificate });
  await put('kubeconfig', { kubeconfig: base64(kubeconfig) });
  await put('all', {
    apiserver: 'https://elsewhere',
    tokenData: base64('x'),
    ...certificate,
    kubeconfig: base64(kubeconfig),
  });
  for (const name of ['token', 'certificate', 'kubeconfig', 'all']) {
    await isReady(name);
    assert.equal((await read(hub, cluster(name))).status.apiserver, member.url);
  }
  const { finalizers } = (await read(hub, cluster('token'))).metadata;
  assert.deepEqual(finalizers, ['clusterpedia.io/cluster-synchro-controller']);
});

test('a cluster that cannot be used says why in all of its conditions', async () => {
  const wrong: readonly [string, Json, RegExp][] = [
    ['no-address', { tokenData: base64(token) }, /^invalid cluster config: Cluster APIServer Endpoint is required$/],
    ['no-credential', address(), /^invalid cluster config: Cluster APIServer's Token or Cert is required$/],
    ['no-kubeconfig', { kubeconfig: base64('{') }, /^invalid cluster config: /],
  ];
  for (const [name, spec, words] of wrong) {
    await put(name, spec);
    const validated = await hasReason(hub, cluster(name), 'Validated', 'InvalidConfig');
    assert.match(validated.message, words);
    assert.equal(validated.status, 'False');
    assert.equal((await condition(hub, cluster(name), 'SynchroRunning')).reason, 'InvalidConfig');
    const healthy = await condition(hub, cluster(name), 'ClusterHealthy');
    assert.deepEqual(
      [healthy.status, healthy.reason, healthy.message],
      ['Unknown', 'MonitorStop', 'wait cluster synchro'],
    );
    const ready = await condition(hub, cluster(name), 'Ready');
    assert.deepEqual(
      [ready.reason, ready.message],
      ['NotReady', 'Validated condition is False, reason is InvalidConfig'],
    );
  }
});

test('a credential may stand in a Secret, and follows it', async () => {
  const secret = (data: Json): object => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'credential', namespace: 'clusterpedia-system' },
    data,
  });
  const from = { ca: { name: 'credential', key: 'ca' }, token: { name: 'credential', key: 'token' } };
  await put('from', { apiserver: member.url, authenticationFrom: from });
  const missing = await hasReason(hub, cluster('from'), 'Validated', 'InvalidConfig');
  assert.match(
    missing.message,
    /^invalid cluster config: Cluster Authentication Error: there is no Secret "credential"/,
  );
  await hub.apply(secret({ ca: base64(member.caPem) }));
  await eventually('the key is missing', async () =>
    /key "token"/.test((await condition(hub, cluster('from'), 'Validated')).message),
  );
  await hub.apply(secret({ ca: base64(member.caPem), token: base64(token) }));
  await isReady('from');
  await put('inline', {
    ...address(),
    tokenData: base64(token),
    authenticationFrom: { token: { name: 'no', key: 'no' } },
  });
  await isReady('inline');
});

test('what is synced follows a ClusterSyncResources, and its lack is a warning', async () => {
  await put('refers', { ...address(), tokenData: base64(token), syncResourcesRefName: 'shared' });
  const validated = await eventually('the warning', async () => {
    const reported = await condition(hub, cluster('refers'), 'Validated');
    return reported?.message === 'Warning: sync resource ref is not found' && reported;
  });
  assert.equal(validated.status, 'True');
  const shared = (resource: string): object => ({
    apiVersion: 'cluster.clusterpedia.io/v1alpha2',
    kind: 'ClusterSyncResources',
    metadata: { name: 'shared' },
    spec: { syncResources: [{ group: '', resources: [resource] }] },
  });
  await hub.apply(shared('configmaps'));
  await eventually('configmaps come', async () => (await syncedNames('refers')).join() === 'pods.,configmaps.');
  assert.equal((await condition(hub, cluster('refers'), 'Validated')).message, '');
  await hub.apply(shared('services'));
  await eventually('services come', async () => (await syncedNames('refers')).join() === 'pods.,services.');
  await remove(hub, '/apis/cluster.clusterpedia.io/v1alpha2/clustersyncresources/shared');
  await eventually('pods stay', async () => (await syncedNames('refers')).join() === 'pods.');
});

test('types are taken in any spelling, a group as a whole, and unknown ones are named', async () => {
  const syncResources = [
    { group: '', resources: ['Pod', 'nothings', 'SERVICE'] },
    { group: 'batch', resources: ['jobs', '*'] },
  ];
  await put('spelt', { ...address(), tokenData: base64(token), syncResources });
  await isReady('spelt');
  await eventually('the types', async () => {
    const names = await syncedNames('spelt');
    return names.toSorted().join() === 'cronjobs.batch,jobs.batch,pods.,services.';
  });
  assert.match((await condition(hub, cluster('spelt'), 'Validated')).message, /nothings/);
});

test('a cluster of another shard is left alone until it is ours, and is given back', async () => {
  await put('shard', { ...address(), tokenData: base64(token), shardingName: 'a' });
  await put('after-shard', { ...address(), tokenData: base64(token) });
  await isReady('after-shard');
  const { metadata, status } = await read(hub, cluster('shard'));
  assert.deepEqual([metadata.finalizers, status], [undefined, undefined]);
  await put('shard', { shardingName: '' });
  await isReady('shard');
  assert.equal((await read(hub, cluster('shard'))).status.shardingName, '');
  await put('shard', { shardingName: 'a' });
  await eventually(
    'it is given back',
    async () => (await read(hub, cluster('shard'))).status.shardingName === undefined,
  );
});

test('a cluster that stops answering is not ready, and is ready again when it comes back', async () => {
  const other = site.plane.member('m2');
  await put('stops', { kubeconfig: base64(readFileSync(other.adminKubeconfig, 'utf8')) });
  await isReady('stops');
  await other.kill();
  const healthy = await hasReason(hub, cluster('stops'), 'ClusterHealthy', 'NotReachable');
  assert.equal(healthy.status, 'False');
  const { message } = await hasReason(hub, cluster('stops'), 'Ready', 'NotReady');
  assert.equal(message, 'ClusterHealthy condition is False, reason is NotReachable');
  await put('never', { apiserver: other.url, caData: base64(other.caPem), tokenData: base64('x') });
  const running = await hasReason(hub, cluster('never'), 'SynchroRunning', 'InitialFailed');
  assert.equal(running.status, 'False');
  assert.equal((await condition(hub, cluster('never'), 'ClusterHealthy')).reason, 'MonitorStop');
  await other.restart();
  await isReady('stops');
});

test('a deleted cluster ends once its rows are gone', async () => {
  for (const name of ['token', 'no-address', 'from']) {
    await remove(hub, cluster(name));
    await isGone(hub, cluster(name));
  }
});
