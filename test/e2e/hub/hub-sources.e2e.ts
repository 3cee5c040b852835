// Clusters come, change and go with the objects of a real hub, whichever source they are of. An answer proves nothing
// about which member gave it, so every member tells its name.
// Landing tier: every kind of object that makes a cluster.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { http1Client } from '../../clients/stream-client.ts';
import type { StreamClient } from '../../clients/stream-client.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { freePort } from '../../controlplane/processes.ts';
import { secretNamespace } from '../../hub/objects.ts';
import { startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { createAccount, createClientCertificate } from '../identity/accounts.ts';
import { registrationNamespaces, registrations, secretNamespaces } from './hub-registrations.ts';
import type { Registration, Way } from './hub-registrations.ts';
import { eventually } from '../../site/polling.ts';

/** What the row states, from the answer of the hub to the last object. */
const rowMs = 1_000;
const clusters = '/apis/gateway.portcullis.io/v1alpha1/clusters';
let site: HubSite;
let client: StreamClient;
let ways: Readonly<Record<'m1' | 'm2', Way>>;

before(async () => {
  site = await startHubSite({
    members: ['m1', 'm2'],
    groups: [],
    objects: () => registrationNamespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    gateway: {
      args: ['--secret-namespace', secretNamespace, '--secret-namespaces', secretNamespaces],
      config: { probeIntervalSeconds: 1 },
    },
  });
  const [m1, m2] = await Promise.all([wayTo('m1'), wayTo('m2')]);
  ways = { m1, m2 };
  const { url, caPem } = site.gateway;
  // Everywhere cluster-admin; on the hub it is what lets her through the gateway.
  client = http1Client({ url, caPem, headers: { authorization: `Bearer ${site.hub.users.carol.token}` } });
});

after(async () => {
  client?.close();
  await site?.stop();
});

async function wayTo(name: string): Promise<Way> {
  const member: Member = site.plane.member(name);
  const token = await createAccount(member, 'portcullis-token');
  const pair = await createClientCertificate(member, 'portcullis-certificate');
  await member.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'here', namespace: 'default' },
    data: { member: name },
  });
  return { url: member.url, caPem: member.caPem, token, certPem: pair.certPem, keyPem: pair.keyPem };
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function get(path: string): Promise<Answer> {
  const answer = await client.get(path);
  await answer.ended;
  return { status: answer.status, body: answer.body().toString('utf8') };
}

/** Which member answers for the cluster, or the status when none does. */
async function answering(cluster: string): Promise<string> {
  const { status, body } = await get(`${clusters}/${cluster}/proxy/api/v1/namespaces/default/configmaps/here`);
  return status === 200 ? (JSON.parse(body) as { data: { member: string } }).data.member : String(status);
}

/**
 * Applies, and resolves with the milliseconds from the last answer of the hub until the cluster answers as `expected`.
 */
async function applied(objects: readonly object[], cluster: string, expected: string): Promise<number> {
  for (const object of objects) await site.hub.apply(object);
  const start = performance.now();
  const what = `${cluster} answers ${expected}`;
  await eventually(what, async () => (await answering(cluster)) === expected, { timeoutMs: rowMs, everyMs: 5 });
  return Math.round(performance.now() - start);
}

interface ClusterObject {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly source: { readonly type: string }; readonly server: string; readonly credential: string };
  readonly status: {
    readonly conditions: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

async function clusterObject(name: string): Promise<ClusterObject> {
  const { status, body } = await get(`${clusters}/${name}`);
  assert.equal(status, 200, body);
  return JSON.parse(body) as ClusterObject;
}

/** Reason and message of the cluster's own complaint. */
function complaintOf({ status: { conditions } }: ClusterObject): string {
  const found = conditions.find((each) => each.type === 'Available' && each.status === 'False');
  return `${found?.reason} ${found?.message}`;
}

async function remove(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const { status, body } = await site.hub.request('DELETE', path);
    assert.equal(status, 200, `${path}: ${body}`);
  }
}

async function live({
  cluster,
  source,
  objects,
  contradiction,
  complaint,
  paths,
  rest,
}: Registration): Promise<string> {
  const { m1, m2 } = ways;
  const reachableMs = await applied(objects(m1), cluster, 'm1');
  const first = await clusterObject(cluster);
  assert.equal(first.spec.source.type, source);
  assert.equal(first.spec.server, m1.url);

  const updatedMs = await applied(objects(m2), cluster, 'm2');
  const second = await clusterObject(cluster);
  assert.equal(second.spec.server, m2.url);
  assert.equal(second.metadata.uid, first.metadata.uid);

  const refusedMs = await applied(contradiction(m2), cluster, '503');
  assert.match(complaintOf(await clusterObject(cluster)), complaint);
  const refused = await get(`${clusters}/${cluster}/proxy/api/v1/namespaces`);
  assert.equal((JSON.parse(refused.body) as { kind: string }).kind, 'Status');
  for (const shown of [JSON.stringify(await clusterObject(cluster)), refused.body]) {
    assert.ok(!shown.includes(m2.token), 'a token is shown');
  }

  await applied(objects(m2), cluster, 'm2');
  const watch = await client.get(`${clusters}/${cluster}/proxy/api/v1/configmaps?watch=true`);
  await watch.until((body) => body.includes('"here"'));
  await remove(paths);
  const start = performance.now();
  await eventually(`${cluster} is gone`, async () => (await answering(cluster)) === '404', {
    timeoutMs: rowMs,
    everyMs: 5,
  });
  const goneMs = Math.round(performance.now() - start);
  // Ends by itself or fails the test at its own limit.
  await watch.ended;
  await remove(rest);
  return `reachable ${reachableMs} ms, updated ${updatedMs} ms, refused ${refusedMs} ms, gone ${goneMs} ms`;
}

for (const registration of registrations) {
  test(
    `${registration.title} is reachable, follows its objects, complains and goes away`,
    { timeout: 60_000 },
    async (t) => {
      t.diagnostic(await live(registration));
    },
  );
}

test('a cluster whose objects are created anew under its name is another cluster', { timeout: 60_000 }, async () => {
  const pedia = registrations.find(({ source }) => source === 'pediacluster')!;
  await applied(pedia.objects(ways.m1), pedia.cluster, 'm1');
  const { uid } = (await clusterObject(pedia.cluster)).metadata;
  const watch = await client.get(`${clusters}/${pedia.cluster}/proxy/api/v1/configmaps?watch=true`);
  await watch.until((body) => body.includes('"here"'));
  await remove(pedia.paths);
  await applied(pedia.objects(ways.m1), pedia.cluster, 'm1');
  await watch.ended;
  assert.notEqual((await clusterObject(pedia.cluster)).metadata.uid, uid);
  await remove(pedia.paths);
});

test(
  'a name stays with the cluster that has it; a newcomer of an earlier source is listed as a conflict',
  { timeout: 60_000 },
  async () => {
    const claimed = (kind: 'ocm' | 'karmada', way: Way): readonly object[] => {
      const found = registrations.find(({ source }) => source === kind)!;
      return JSON.parse(JSON.stringify(found.objects(way)).replaceAll(found.cluster, 'contested')) as object[];
    };
    await site.hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'contested' } });
    await applied(claimed('karmada', ways.m2), 'contested', 'm2');
    // Open Cluster Management comes before Karmada.
    for (const object of claimed('ocm', ways.m1)) await site.hub.apply(object);
    const isListed = async (): Promise<boolean> => (await get(`${clusters}/contested-conflict-2`)).status === 200;
    await eventually('the newcomer is listed', isListed, { timeoutMs: rowMs, everyMs: 5 });
    assert.equal(await answering('contested'), 'm2');
    assert.equal((await clusterObject('contested')).spec.source.type, 'karmada');
    const loser = await clusterObject('contested-conflict-2');
    assert.equal(loser.spec.source.type, 'ocm');
    assert.match(complaintOf(loser), /^NameConflict the name "contested" already belongs to Karmada Cluster contested/);
    assert.equal((await get(`${clusters}/contested-conflict-2/proxy/api`)).status, 503);
  },
);

test(
  'the addresses of a ManagedCluster are tried in order; its taints and its availability are shown',
  { timeout: 60_000 },
  async () => {
    const { cluster, objects, paths, rest } = registrations[0]!;
    const [token, managed] = objects(ways.m1) as readonly [object, { readonly spec: object }];
    const { caPem } = ways.m1;
    const caBundle = Buffer.from(caPem, 'utf8').toString('base64');
    const configs = [`https://127.0.0.1:${await freePort()}`, ways.m1.url].map((url) => ({ url, caBundle }));
    const taints = [{ key: 'cluster.open-cluster-management.io/unreachable', effect: 'NoSelect' }];
    const spec = { ...managed.spec, managedClusterClientConfigs: configs, taints };
    await applied([token, { ...managed, spec }], cluster, 'm1');
    const status = { conditions: [availability('Unknown', 'ManagedClusterLeaseUpdateStopped')] };
    const type = { 'content-type': 'application/merge-patch+json' };
    const answer = await site.hub.request('PATCH', `${paths[0]}/status`, JSON.stringify({ status }), type);
    assert.equal(answer.status, 200, answer.body);
    await eventually('the condition is shown', async () => {
      const { conditions } = (await clusterObject(cluster)).status;
      return conditions.some((each) => each.reason === 'ManagedClusterLeaseUpdateStopped');
    });
    const { conditions } = (await clusterObject(cluster)).status;
    const taint = conditions.find((each) => each.type === 'Tainted');
    assert.equal(taint?.message, 'cluster.open-cluster-management.io/unreachable:NoSelect');
    // The hub doubts it, the member answers: nobody is locked out.
    assert.equal(await answering(cluster), 'm1');
    await remove([...paths, ...rest]);
  },
);

function availability(status: string, reason: string): object {
  const lastTransitionTime = '2026-01-12T08:00:00Z';
  return { type: 'ManagedClusterConditionAvailable', status, reason, message: 'no lease', lastTransitionTime };
}
