// ClusterProfiles on a real hub: published for each cluster, written seldom, followed through by a consumer, handed
// over between replicas, and removed with their cluster. Profiles of others stay as they are.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { clusterProfileDefinition } from '../../../import/definitions/cluster-profiles.ts';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { clusterSecret, gatewaySubject, secretNamespace } from '../../hub/objects.ts';
import { startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { eventually } from '../../site/polling.ts';
import { grantedClusterRole } from '../../site/rbac.ts';
import { ask } from '../kubectl/kubectl-as.ts';

const namespace = 'inventory';
const api = '/apis/multicluster.x-k8s.io/v1alpha1';
const profiles = `${api}/namespaces/${namespace}/clusterprofiles`;
const address = 'https://gateway.example.com';
const flags = [
  `--publish-cluster-profiles=${namespace}`,
  '--profiles-address',
  address,
  '--profiles-lease',
  'portcullis/profiles',
];
const foreign = {
  apiVersion: 'multicluster.x-k8s.io/v1alpha1',
  kind: 'ClusterProfile',
  metadata: { name: 'theirs', namespace },
  spec: { displayName: 'Theirs', clusterManager: { name: 'somebody-else' } },
};
let site: HubSite;
let hub: Member;

before(async () => {
  site = await startHubSite({
    members: ['m1', 'm2'],
    groups: [],
    objects: (plane) => [
      clusterProfileDefinition,
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      ...grantedClusterRole(
        'portcullis-profiles',
        [
          {
            apiGroups: ['multicluster.x-k8s.io'],
            resources: ['clusterprofiles'],
            verbs: ['list', 'watch', 'create', 'patch', 'delete'],
          },
          { apiGroups: ['multicluster.x-k8s.io'], resources: ['clusterprofiles/status'], verbs: ['patch'] },
          { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'get', 'update'] },
        ],
        gatewaySubject,
      ),
      ...['m1', 'm2'].map((name) => clusterSecret(plane.member(name))),
    ],
    gateway: { args: flags, config: { probeIntervalSeconds: 0.5 } },
  });
  hub = site.hub;
});
after(async () => await site?.stop());

async function read(path: string): Promise<any> {
  const { status, body } = await hub.request('GET', path);
  return status === 200 ? JSON.parse(body) : undefined;
}

/** The profile of a cluster once the gateway has said that its control plane is well, or is not. */
function profileOf(name: string, healthy: 'True' | 'False' = 'True'): Promise<any> {
  return eventually(`ControlPlaneHealthy of ${name} is ${healthy}`, async () => {
    const profile = await read(`${profiles}/${name}`);
    const conditions: readonly any[] = profile?.status?.conditions ?? [];
    const found = conditions.find(({ type }) => type === 'ControlPlaneHealthy');
    return found?.status === healthy ? profile : undefined;
  });
}

test('each cluster has a profile with its version, and the address in it leads to the cluster as the caller', async () => {
  for (const name of ['m1', 'm2']) {
    const { metadata, spec, status } = await profileOf(name);
    assert.equal(metadata.labels['x-k8s.io/cluster-manager'], 'portcullis');
    assert.equal(spec.clusterManager.name, 'portcullis');
    assert.match(status.version.kubernetes, /^v1\.\d+\./);
    const [{ name: provider, cluster }] = status.accessProviders;
    assert.equal(provider, 'portcullis');
    assert.deepEqual(status.credentialProviders, status.accessProviders);
    // The name in the address is a stranger to this machine; its path is what the gateway gives.
    assert.ok(cluster.server.startsWith(`${address}/`), cluster.server);
    const path = `${new URL(cluster.server).pathname}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
    const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
    const answer = await ask(site.gateway, hub.users.carol.token, 'POST', path, review);
    assert.equal(answer.status, 201, answer.body.toString('utf8'));
    assert.equal(JSON.parse(answer.body.toString('utf8')).status.userInfo.username, 'carol');
  }
});

test('a profile stays as it is while its cluster does, however often the cluster is asked', async () => {
  const before = (await profileOf('m1')).metadata.resourceVersion;
  const version = async (): Promise<string> =>
    (await read('/apis/coordination.k8s.io/v1/namespaces/portcullis/leases/profiles')).metadata.resourceVersion;
  // Two renewals of the Lease are five seconds, in which the probe has asked the cluster ten times.
  for (let round = 0; round < 2; round++) {
    const renewed = await version();
    await eventually('the Lease is renewed', async () => (await version()) !== renewed);
  }
  assert.equal((await read(`${profiles}/m1`)).metadata.resourceVersion, before);
});

test('somebody’s change of a profile is put right, and profiles of others are left alone', async () => {
  await hub.apply(foreign);
  const mine = await profileOf('m1');
  const patch = { spec: { displayName: 'Another' } };
  const patched = await hub.request('PATCH', `${profiles}/m1`, patch, {
    'content-type': 'application/merge-patch+json',
  });
  assert.equal(patched.status, 200, patched.body);
  await eventually('put right', async () => (await read(`${profiles}/m1`)).spec.displayName === mine.spec.displayName);
  const manager = { spec: { clusterManager: { name: 'another' } } };
  const refused = await hub.request('PATCH', `${profiles}/m1`, manager, {
    'content-type': 'application/merge-patch+json',
  });
  assert.equal(refused.status, 422, 'the manager of a profile cannot be changed');
});

test('another replica goes on where the first has ended, and says when a cluster is down', async () => {
  const second: GatewayProcess = await site.startGateway({ args: flags, config: { probeIntervalSeconds: 0.5 } });
  try {
    await site.gateway.stop('SIGTERM');
    const { metadata } = await profileOf('m2');
    await site.plane.member('m2').kill();
    const down = await profileOf('m2', 'False');
    assert.equal(down.metadata.uid, metadata.uid, 'the same object');

    const secret = `/api/v1/namespaces/${secretNamespace}/secrets/m2`;
    assert.equal((await hub.request('DELETE', secret)).status, 200);
    await eventually('the profile goes with its cluster', async () => (await read(`${profiles}/m2`)) === undefined);
    assert.ok((await read(`${profiles}/m1`)) !== undefined);
    assert.equal((await read(`${profiles}/theirs`)).spec.displayName, 'Theirs');
    assert.equal((await read(`${profiles}/theirs`)).status, undefined);
  } finally {
    await second.stop('SIGTERM');
  }
  assert.ok((await read(`${profiles}/m1`)) !== undefined, 'profiles stay when the gateway ends');
});
