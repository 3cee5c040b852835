// Numbers of all clusters on real kube-apiservers: kubectl top through the context of the index, and the page for
// Prometheus. Both show a user what the clusters' own RBAC lets that user see, and say which cluster did not answer.
// Resource metrics are objects of a CustomResourceDefinition here, so RBAC and kubectl are real and the figures known.
// Landing tier: kubectl top and metrics of the fleet.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { startControlPlane } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { freePort } from '../../controlplane/processes.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { eventually } from '../../site/polling.ts';
import { reviewRights } from '../index/index-objects.ts';
import { clusterAt, writeContexts } from '../kubectl/contexts.ts';
import type { TestContext } from '../kubectl/contexts.ts';
import { ask, tableCells } from '../kubectl/kubectl-as.ts';
import type { RawAnswer } from '../kubectl/kubectl-as.ts';
import { grantedRole, userSubject } from '../../site/rbac.ts';
import { customResource } from '../../site/custom-resource.ts';

const run = promisify(execFile);
const program = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
const proxy = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';
const metricsApi = '/apis/metrics.k8s.io/v1beta1';
/** May read everything in both clusters. */
const carol = { name: 'carol', groups: ['operators'], token: 'carol-at-the-gateway' };
/** May read the namespace `shop` of m1, and nothing else anywhere. */
const dave = { name: 'dave', groups: [], token: 'dave-at-the-gateway' };
/** Knows the gateway, and no cluster knows them. */
const erin = { name: 'erin', groups: [], token: 'erin-at-the-gateway' };

let plane: ControlPlane;
let gateway: GatewayProcess;
let kubeconfig: string;

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'], bare: ['m1', 'm2'], audit: false });
  const generate = ['generate', 'member-access', '--index', '--index-resources', 'pods,deployments.apps,nodes'];
  const access = await run(process.execPath, [program, ...generate, '--gateway-service-account', 'portcullis/gateway']);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: access.stdout });
    assert.equal(applied.code, 0, applied.stderr);
    await member.apply(...reviewRights(gatewayUser), ...metricsDefinitions);
    await eventually('resource metrics are served', async () => {
      return (await member.request('GET', `${metricsApi}/nodes`)).status === 200;
    });
  }
  await fill();
  await plane.member('m1').apply(...rightsOfDave);
  const contexts = plane.members.map(({ name, url, caPem, gatewayToken }): TestContext => {
    return { name, cluster: clusterAt(url, caPem) as TestContext['cluster'], user: { token: gatewayToken } };
  });
  const nobodyThere = clusterAt(`https://127.0.0.1:${await freePort()}`, plane.member('m1').caPem);
  contexts.push({ name: 'gone', cluster: nobodyThere as TestContext['cluster'], user: { token: 'x' } });
  gateway = await startGatewayProcess({
    kubeconfigs: [writeContexts(join(plane.dir, 'contexts.kubeconfig'), contexts)],
    users: [carol, dave, erin],
    args: ['--index-resources', 'pods,deployments.apps,nodes'],
  });
  kubeconfig = join(plane.dir, 'fleet.kubeconfig');
  const ofGateway = ['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', carol.token];
  await run(process.execPath, [program, 'kubeconfig', ...ofGateway, '--all', '--index', '--output', kubeconfig]);
  await eventually('both clusters are in the index', async () => {
    const { body } = await scrape(carol.token);
    return ['m1', 'm2'].every((name) => body.includes(`portcullis_fleet_cluster_current{cluster="${name}"} 1`));
  });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

/** `metrics.k8s.io` as metrics-server serves it, but kept by the API server itself. */
const metricsDefinitions = (
  [
    { plural: 'pods', kind: 'PodMetrics', scope: 'Namespaced' },
    { plural: 'nodes', kind: 'NodeMetrics', scope: 'Cluster' },
  ] as const
).map(({ plural, kind, scope }) =>
  customResource(`${plural}.metrics.k8s.io`, kind, {
    scope,
    versions: ['v1beta1'],
    annotations: { 'api-approved.kubernetes.io': 'unapproved, a stand-in for metrics-server in a test' },
  }),
);

const rightsOfDave = grantedRole(
  'shop',
  'dave',
  [{ apiGroups: ['', 'apps', 'metrics.k8s.io'], resources: ['pods', 'deployments'], verbs: ['get', 'list'] }],
  userSubject('dave'),
);

async function fill(): Promise<void> {
  const [m1, m2] = plane.members as readonly [Member, Member];
  for (const member of [m1, m2]) {
    for (const name of ['shop', 'back'])
      await member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    for (const namespace of ['shop', 'back'])
      await member.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } });
  }
  await pod(m1, 'shop', 'web', 'Running', '100m');
  await pod(m1, 'shop', 'job', 'Succeeded');
  await pod(m1, 'back', 'db', 'Pending', '7m');
  await pod(m2, 'shop', 'web', 'Running', '250m');
  await pod(m2, 'shop', 'web-2', 'Running', '1m');
  await deployment(m1, 'web', 3, 2);
  await deployment(m2, 'web', 1, 0);
  await node(m1, 'one', 'True', '500m');
  await node(m1, 'two', 'False', '1');
  await node(m2, 'three', 'Unknown', '250m');
}

async function pod(member: Member, namespace: string, name: string, phase: string, cpu?: string): Promise<void> {
  const spec = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'example.test/c' }] };
  await member.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec });
  await setStatus(member, ['pod', name, '-n', namespace], { phase });
  if (cpu === undefined) return;
  await member.apply({
    apiVersion: 'metrics.k8s.io/v1beta1',
    kind: 'PodMetrics',
    metadata: { name, namespace },
    timestamp: '2026-01-01T00:00:00Z',
    window: '15s',
    containers: [{ name: 'c', usage: { cpu, memory: '64Mi' } }],
  });
}

async function deployment(member: Member, name: string, replicas: number, readyReplicas: number): Promise<void> {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'example.test/c' }] } };
  const spec = { replicas, selector: { matchLabels: labels }, template };
  await member.apply({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'shop' }, spec });
  await setStatus(member, ['deployment', name, '-n', 'shop'], { replicas, readyReplicas });
}

async function node(member: Member, name: string, ready: string, cpu: string): Promise<void> {
  await member.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
  const conditions = [
    { type: 'MemoryPressure', status: 'False' },
    { type: 'Ready', status: ready },
  ];
  await setStatus(member, ['node', name], { conditions, allocatable: { cpu: '1', memory: '1Gi' } });
  await member.apply({
    apiVersion: 'metrics.k8s.io/v1beta1',
    kind: 'NodeMetrics',
    metadata: { name },
    timestamp: '2026-01-01T00:00:00Z',
    window: '15s',
    usage: { cpu, memory: '512Mi' },
  });
}

async function setStatus(member: Member, object: readonly string[], status: object): Promise<void> {
  const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
  const { code, stderr } = await member.kubectl(['patch', ...object, ...patch]);
  assert.equal(code, 0, stderr);
}

async function kubectl(
  args: readonly string[],
  token = carol.token,
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const options = { env: { PATH: process.env['PATH'], HOME: plane.dir } };
  const all = ['--kubeconfig', kubeconfig, '--context', 'portcullis-all', '--token', token, ...args];
  return await run(plane.binaries['kubectl']!, all, options).then(
    (done) => ({ code: 0, ...done }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

async function scrape(
  token: string,
  accept = '*/*',
): Promise<{ readonly status: number; readonly body: string; readonly headers: RawAnswer['headers'] }> {
  const { status, headers, body } = await ask(gateway, token, 'GET', '/metrics/fleet', undefined, { accept });
  return { status, headers, body: body.toString('utf8') };
}

/** Lines that kubectl top printed, each with one blank between its cells. */
function rows(stdout: string): readonly string[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().replace(/ +/g, ' '));
}

/** The samples of a page, sorted. */
function samples(body: string): readonly string[] {
  return body
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .toSorted();
}

test('kubectl top pods shows the pods of every cluster, and warns of the one that does not answer', async () => {
  const { code, stdout, stderr } = await kubectl(['top', 'pods', '-A', '--no-headers']);
  assert.equal(code, 0, stderr);
  assert.deepEqual(rows(stdout).toSorted(), [
    'back db 7m 64Mi',
    'shop web 100m 64Mi',
    'shop web 250m 64Mi',
    'shop web-2 1m 64Mi',
  ]);
  assert.match(stderr, /^Warning: cluster gone: /m);
  const shop = await kubectl(['top', 'pods', '-n', 'shop', '--sort-by=cpu', '--no-headers']);
  assert.deepEqual(rows(shop.stdout), ['web 250m 64Mi', 'web 100m 64Mi', 'web-2 1m 64Mi']);
});

test('kubectl top nodes shows the nodes of every cluster with what each has', async () => {
  const { code, stdout, stderr } = await kubectl(['top', 'nodes', '--no-headers']);
  assert.equal(code, 0, stderr);
  assert.deepEqual(rows(stdout).toSorted(), [
    'one 500m 50% 512Mi 50%',
    'three 250m 25% 512Mi 50%',
    'two 1000m 100% 512Mi 50%',
  ]);
});

test('kubectl get of metrics says which cluster each pod is of', async () => {
  const { code, stdout, stderr } = await kubectl(['get', 'pods.metrics.k8s.io', '-A', '--no-headers']);
  assert.equal(code, 0, stderr);
  const found = tableCells(stdout).map(([namespace, cluster, name]) => `${cluster} ${namespace}/${name}`);
  assert.deepEqual(found, ['m1 back/db', 'm1 shop/web', 'm2 shop/web', 'm2 shop/web-2']);
});

test('metrics of one cluster come from that cluster alone', async () => {
  const { status, body } = await ask(gateway, carol.token, 'GET', `${proxy}/clusters/m2${metricsApi}/pods`);
  assert.equal(status, 200);
  const { items } = JSON.parse(body.toString('utf8')) as { items: { metadata: { name: string } }[] };
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['web', 'web-2'],
  );
});

test('each cluster decides by its own RBAC what a user of kubectl top sees', async () => {
  const mine = await kubectl(['top', 'pods', '-n', 'shop', '--no-headers'], dave.token);
  assert.deepEqual(rows(mine.stdout), ['web 100m 64Mi']);
  assert.match(mine.stderr, /cluster m2: .*"dave" cannot list resource "pods" in API group "metrics.k8s.io"/);
  const all = await kubectl(['top', 'pods', '-A'], dave.token);
  assert.notEqual(all.code, 0);
  assert.equal(all.stdout, '');
});

test('metrics cannot be watched or written, and are chosen by the names of clusters', async () => {
  const answerOf = (method: string, query: string): ReturnType<typeof ask> =>
    ask(gateway, carol.token, method, `${proxy}${metricsApi}/pods${query}`);
  const of = async (method: string, query: string): Promise<number> => (await answerOf(method, query)).status;
  assert.equal(await of('GET', '?watch=true'), 405);
  assert.equal(await of('POST', ''), 405);
  assert.equal(await of('DELETE', ''), 405);
  const clustersIn = (body: Buffer): readonly string[] => [
    ...new Set(
      Array.from(body.toString().matchAll(/"shadow\.clusterpedia\.io\/cluster-name":"([^"]+)"/g), ([, name]) => name!),
    ),
  ];
  assert.deepEqual(clustersIn((await answerOf('GET', '')).body), ['m1', 'm2']);
  assert.deepEqual(clustersIn((await answerOf('GET', '?clusters=m1')).body), ['m1']);
  assert.deepEqual(clustersIn((await answerOf('GET', '?clusters=m2,none')).body), ['m2']);
  assert.equal(await of('GET', '?partial=false'), 503);
});

test('the page for Prometheus has the numbers of all clusters', async () => {
  const { status, headers, body } = await scrape(carol.token);
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  assert.match(String(headers['warning']), /cluster gone: /);
  const fleet = (name: string): readonly string[] => samples(body).filter((line) => line.startsWith(`${name}{`));
  assert.deepEqual(fleet('kube_pod_status_phase'), [
    'kube_pod_status_phase{cluster="m1",namespace="back",phase="Pending"} 1',
    'kube_pod_status_phase{cluster="m1",namespace="shop",phase="Running"} 1',
    'kube_pod_status_phase{cluster="m1",namespace="shop",phase="Succeeded"} 1',
    'kube_pod_status_phase{cluster="m2",namespace="shop",phase="Running"} 2',
  ]);
  assert.deepEqual(fleet('kube_deployment_spec_replicas'), [
    'kube_deployment_spec_replicas{cluster="m1",namespace="shop",deployment="web"} 3',
    'kube_deployment_spec_replicas{cluster="m2",namespace="shop",deployment="web"} 1',
  ]);
  assert.deepEqual(fleet('kube_deployment_status_replicas_ready'), [
    'kube_deployment_status_replicas_ready{cluster="m1",namespace="shop",deployment="web"} 2',
    'kube_deployment_status_replicas_ready{cluster="m2",namespace="shop",deployment="web"} 0',
  ]);
  assert.deepEqual(fleet('kube_node_status_condition'), [
    'kube_node_status_condition{cluster="m1",condition="Ready",status="false"} 1',
    'kube_node_status_condition{cluster="m1",condition="Ready",status="true"} 1',
    'kube_node_status_condition{cluster="m1",condition="Ready",status="unknown"} 0',
    'kube_node_status_condition{cluster="m2",condition="Ready",status="false"} 0',
    'kube_node_status_condition{cluster="m2",condition="Ready",status="true"} 0',
    'kube_node_status_condition{cluster="m2",condition="Ready",status="unknown"} 1',
  ]);
  assert.deepEqual(fleet('portcullis_fleet_cluster_current'), [
    'portcullis_fleet_cluster_current{cluster="gone"} 0',
    'portcullis_fleet_cluster_current{cluster="m1"} 1',
    'portcullis_fleet_cluster_current{cluster="m2"} 1',
  ]);
});

test('a scraper that asks for OpenMetrics gets it', async () => {
  const accept = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1';
  const { headers, body } = await scrape(carol.token, accept);
  assert.equal(headers['content-type'], 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  assert.ok(body.endsWith('\n# EOF\n'));
  assert.deepEqual(samples(body), samples((await scrape(carol.token)).body));
});

test('numbers of the fleet are those of the rows that the scraper may list', async () => {
  const { body } = await scrape(dave.token);
  assert.deepEqual(
    samples(body).filter((line) => !line.includes('"gone"')),
    [
      'kube_deployment_spec_replicas{cluster="m1",namespace="shop",deployment="web"} 3',
      'kube_deployment_status_replicas_ready{cluster="m1",namespace="shop",deployment="web"} 2',
      'kube_pod_status_phase{cluster="m1",namespace="shop",phase="Running"} 1',
      'kube_pod_status_phase{cluster="m1",namespace="shop",phase="Succeeded"} 1',
      'portcullis_fleet_cluster_current{cluster="m1"} 1',
    ],
  );
  const nothing = await scrape(erin.token);
  assert.equal(nothing.status, 200);
  assert.doesNotMatch(JSON.stringify(nothing), /m1|m2|shop/);
  assert.equal((await scrape('nobody')).status, 401);
});

test('numbers follow what changes in a cluster', async () => {
  await setStatus(plane.member('m2'), ['pod', 'web-2', '-n', 'shop'], { phase: 'Failed' });
  await eventually('the pod has failed', async () => {
    const { body } = await scrape(carol.token);
    return body.includes('kube_pod_status_phase{cluster="m2",namespace="shop",phase="Failed"} 1\n');
  });
});
