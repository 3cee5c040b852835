// What is found in the index of clusters that PediaClusters name: which types, events, whose shard, while a cluster is
// away, and after the PediaCluster is gone, in every one of several gateways.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { http1Client } from '../../clients/stream-client.ts';
import { openDefinition } from './definitions.ts';
import {
  condition,
  eventually,
  hasReason,
  isGone,
  paths,
  read,
  remove,
  startImportSite,
  type ImportSite,
  type Json,
} from './import-site.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const cluster = (name: string): string => `${paths.clusters}/${name}`;
const pods = [{ group: '', resources: ['pods'] }];
let site: ImportSite;
let hub: Member;
let second: GatewayProcess;

before(async () => {
  site = await startImportSite({ members: ['m1', 'm2'], gateway: { config: { probeIntervalSeconds: 1 } } });
  hub = site.hub;
  second = await site.startGateway();
});

after(() => site?.stop());

function kubeconfigOf(name: string): string {
  return base64(readFileSync(site.plane.member(name).adminKubeconfig, 'utf8'));
}

async function put(name: string, spec: Json, member = 'm1'): Promise<void> {
  await hub.apply({
    apiVersion: 'cluster.clusterpedia.io/v1alpha2',
    kind: 'PediaCluster',
    metadata: { name },
    spec: { kubeconfig: kubeconfigOf(member), syncResources: pods, ...spec },
  });
}

interface Answer {
  readonly status: number;
  readonly warning: string;
  readonly items: readonly Json[];
}

/** Asks the index of a gateway below a cluster's path. */
async function ask(name: string, path: string, gateway: GatewayProcess = site.gateway): Promise<Answer> {
  const { code, warning, object } = await get(
    gateway,
    `/apis/clusterpedia.io/v1beta1/resources/clusters/${name}${path}`,
  );
  return { status: code, warning, items: object.items ?? [] };
}

/** Asks a gateway as somebody who may see everything. */
async function get(gateway: GatewayProcess, path: string): Promise<Json> {
  const { url, caPem } = gateway;
  const client = http1Client({ url, caPem, headers: { authorization: `Bearer ${hub.users.carol.token}` } });
  try {
    const answer = await client.get(path);
    await answer.ended;
    const object = JSON.parse(answer.body().toString('utf8'));
    return { code: answer.status, warning: String(answer.headers['warning'] ?? ''), object };
  } finally {
    client.close();
  }
}

/** Whether the cluster itself answered, because the index holds nothing of the type. */
const isLive = ({ status, warning }: Answer): boolean =>
  status === 200 && warning.includes('are not in the index, so the clusters');
const namesOf = ({ items }: Answer): readonly string[] => items.map(({ metadata }) => metadata.name);
const isReady = (name: string): Promise<Json> => hasReason(hub, cluster(name), 'Ready', 'Ready');

async function syncedNames(name: string): Promise<readonly string[]> {
  const groups = (await read(hub, cluster(name)))?.status?.syncResources ?? [];
  return groups.flatMap(({ group, resources }: Json) => resources.map((each: Json) => `${each.name}.${group}`));
}

test('every type of a cluster can be asked for, and all custom types as they come and go', async () => {
  const { apply, request } = site.plane.member('m1');
  await apply(openDefinition('widgets.example.io', 'Widget', 'Namespaced', 'v1'));
  await put('everything', { syncResources: [{ group: '*', resources: ['*'] }] });
  await put('custom', { syncResources: [], syncAllCustomResources: true });
  await eventually('many types', async () => {
    const names = await syncedNames('everything');
    return ['pods.', 'secrets.', 'deployments.apps', 'widgets.example.io'].every((each) => names.includes(each));
  });
  await eventually('custom types', async () => (await syncedNames('custom')).join() === 'widgets.example.io');
  await apply(openDefinition('gadgets.example.io', 'Gadget', 'Namespaced', 'v1'));
  await eventually('a new type', async () => (await syncedNames('custom')).includes('gadgets.example.io'));
  await request('DELETE', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.io');
  await eventually('a type that went', async () => (await syncedNames('custom')).join() === 'gadgets.example.io');
});

test('the rows of a type come and go with the ClusterSyncResources that names it', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  await site.plane
    .member('m1')
    .apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shared', namespace: 'default' } });
  await hub.apply({
    apiVersion: 'cluster.clusterpedia.io/v1alpha2',
    kind: 'ClusterSyncResources',
    metadata: { name: 'shared' },
    spec: { syncResources: [{ group: '', resources: ['configmaps'] }] },
  });
  await put('refers', { syncResourcesRefName: 'shared' });
  await eventually('its row', async () => namesOf(await ask('refers', path)).includes('shared'));
  await remove(hub, '/apis/cluster.clusterpedia.io/v1alpha2/clustersyncresources/shared');
  await eventually('no type', async () => (await syncedNames('refers')).join() === 'pods.');
  await eventually('no row', async () => isLive(await ask('refers', path)));
});

test('eventsInvolvedResources brings the events of the cluster to its objects, and of no other', async () => {
  const m1 = site.plane.member('m1');
  const path = '/api/v1/namespaces/default/configmaps';
  const made = await m1.request('POST', path, { metadata: { name: 'eventful' } });
  const { uid } = JSON.parse(made.body).metadata;
  await m1.apply({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'eventful.1', namespace: 'default' },
    involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'eventful', uid },
    reason: 'Happened',
    type: 'Normal',
  });
  const configMaps = [{ group: '', resources: ['configmaps'] }];
  await put('quiet', { syncResources: configMaps });
  await put('told', { syncResources: [{ ...configMaps[0], eventsInvolvedResources: ['configmaps'] }] });
  const eventsIn = async (name: string): Promise<string | undefined> => {
    const { items } = await ask(name, `${path}?injectEvents=true`);
    const found = items.find(({ metadata }) => metadata.name === 'eventful');
    return found === undefined ? undefined : (found.metadata.annotations?.['shadow.clusterpedia.io/events'] ?? 'none');
  };
  await eventually('its events', async () => /"Happened"/.test((await eventsIn('told')) ?? ''));
  assert.equal(await eventually('the other', () => eventsIn('quiet')), 'none');
  await eventually('its types', async () => isDeepStrictEqual(await syncedNames('told'), ['configmaps.']));
});

test('a gateway of a shard takes the clusters of the shard, and no other', async () => {
  await put('sharded', { shardingName: 'a' });
  await put('unsharded', {});
  const gateway = await site.startGateway({ args: ['--sharding-name', 'a'] });
  await isReady('sharded');
  await isReady('unsharded');
  const shards = await Promise.all(
    ['sharded', 'unsharded'].map(async (name) => (await read(hub, cluster(name))).status.shardingName),
  );
  assert.deepEqual(shards, ['a', '']);
  await eventually('its rows', async () => (await ask('sharded', '/api/v1/pods', gateway)).status === 200);
  assert.equal((await ask('sharded', '/api/v1/pods')).status, 404);
  assert.equal((await ask('unsharded', '/api/v1/pods', gateway)).status, 404);
  await remove(hub, cluster('sharded'));
  await isGone(hub, cluster('sharded'));
  await gateway.stop('SIGTERM');
});

test('the rows of a cluster that stopped answering stay, with a warning, until it is back', async () => {
  const m2 = site.plane.member('m2');
  const path = '/api/v1/namespaces/default/configmaps';
  await m2.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'stays', namespace: 'default' } });
  await put('away', { syncResources: [{ group: '', resources: ['configmaps'] }] }, 'm2');
  await isReady('away');
  await eventually('its row', async () => namesOf(await ask('away', path)).includes('stays'));
  await m2.kill();
  await hasReason(hub, cluster('away'), 'ClusterHealthy', 'NotReachable');
  await put('late', {}, 'm2');
  await hasReason(hub, cluster('late'), 'SynchroRunning', 'InitialFailed');
  assert.equal((await condition(hub, cluster('late'), 'ClusterHealthy')).reason, 'MonitorStop');
  const old = await eventually('a warning', async () => {
    const answer = await ask('away', path);
    return answer.warning.includes('away') && answer;
  });
  assert.ok(namesOf(old).includes('stays'));
  await m2.restart();
  await isReady('away');
  await isReady('late');
  const fresh = await eventually('no warning', async () => {
    const answer = await ask('away', path);
    return answer.warning === '' && answer;
  });
  assert.ok(namesOf(fresh).includes('stays'));
});

test('a PediaCluster that is deleted leaves no rows in any gateway, one that was stopped meanwhile included', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const gateways = [site.gateway, second];
  await put('ends', { syncResources: [{ group: '', resources: ['configmaps'] }] });
  for (const gateway of gateways)
    await eventually('its rows', async () => (await ask('ends', path, gateway)).items.length > 0);
  const { dataDir } = second;
  await second.stop('SIGKILL');
  await remove(hub, cluster('ends'));
  await isGone(hub, cluster('ends'));
  assert.equal((await ask('ends', path)).status, 404);
  second = await site.startGateway({ dataDir });
  await eventually('it forgets', () => /rows of a cluster are deleted/.test(second.log()));
  await put('ends', { syncResources: pods });
  await isReady('ends');
  for (const gateway of [site.gateway, second])
    await eventually('nothing of before', async () => isLive(await ask('ends', path, gateway)));
});

test('the credential of an administrator is told, because a copy of it stands on the hub', async () => {
  const reported = await eventually('the condition', async () => {
    const { object } = await get(site.gateway, '/apis/gateway.portcullis.io/v1alpha1/clusters/unsharded');
    return object.status?.conditions?.find(({ type }: Json) => type === 'Overprivileged');
  });
  assert.equal(reported.status, 'True');
});
