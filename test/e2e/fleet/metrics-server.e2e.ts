// kubectl top where one cluster has a metrics-server, an aggregated API of a real kube-apiserver, and another has none:
// who may read metrics is told of them, also while the server is down, and nobody once it is uninstalled.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { startControlPlane } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { eventually } from '../../site/polling.ts';
import { reviewRights } from '../index/index-objects.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { startMetricsServer } from './metrics-server.ts';
import type { MetricsServer } from './metrics-server.ts';
import { grantedClusterRole, userSubject } from '../../site/rbac.ts';

const run = promisify(execFile);
const program = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
const apis = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy/apis';
/** May read everything in both clusters. */
const carol = { name: 'carol', groups: ['operators'], token: 'carol-at-the-gateway' };
/** May read pods in both clusters, and metrics in neither. */
const dave = { name: 'dave', groups: [], token: 'dave-at-the-gateway' };
const within = { timeoutMs: 90_000, everyMs: 250 };

let plane: ControlPlane;
let gateway: GatewayProcess;
let server: MetricsServer;
let kubeconfig: string;

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'], bare: ['m1', 'm2'], audit: false });
  const generate = ['generate', 'member-access', '--index', '--index-resources', 'pods'];
  const access = await run(process.execPath, [program, ...generate, '--gateway-service-account', 'portcullis/gateway']);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: access.stdout });
    assert.equal(applied.code, 0, applied.stderr);
    await member.apply(...reviewRights(gatewayUser), ...rightsOfDave);
  }
  server = await startMetricsServer(plane.member('m1'), [
    { namespace: 'shop', name: 'web', cpu: '100m', memory: '64Mi' },
    { namespace: 'back', name: 'db', cpu: '7m', memory: '32Mi' },
  ]);
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol, dave],
    args: ['--index-resources', 'pods'],
  });
  kubeconfig = join(plane.dir, 'metrics.kubeconfig');
  const ofGateway = ['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', carol.token];
  await run(process.execPath, [program, 'kubeconfig', ...ofGateway, '--all', '--index', '--output', kubeconfig]);
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await server?.stop();
  await plane?.stop();
});

const rightsOfDave = grantedClusterRole(
  'dave',
  [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }],
  userSubject('dave'),
);

async function top(token = carol.token): Promise<{ readonly code: number; stdout: string; stderr: string }> {
  const options = { env: { PATH: process.env['PATH'], HOME: join(plane.dir, `home-${token}`) } };
  const context = ['--kubeconfig', kubeconfig, '--context', 'portcullis-all', '--token', token];
  return await run(plane.binaries['kubectl']!, [...context, 'top', 'pods', '-A', '--no-headers'], options).then(
    (done) => ({ code: 0, ...done }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

/** The resources of `metrics.k8s.io` in discovery; undefined where it does not name the group. */
async function listed(token: string, path = apis): Promise<readonly string[] | undefined> {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const { status, body } = await ask(gateway, token, 'GET', path, undefined, { accept });
  assert.equal(status, 200, body.toString('utf8'));
  const { items } = JSON.parse(body.toString('utf8')) as {
    readonly items: readonly {
      readonly metadata: { readonly name: string };
      readonly versions: readonly { readonly resources: readonly { resource: string; verbs: readonly string[] }[] }[];
    }[];
  };
  const found = items.find(({ metadata }) => metadata.name === 'metrics.k8s.io');
  return found?.versions[0]!.resources.map((each) => `${each.resource} ${each.verbs.join()}`);
}

const both = ['nodes get,list', 'pods get,list'];
const ofCluster = (name: string): string => apis.replace(/\/apis$/, `/clusters/${name}/apis`);

test('kubectl top shows the pods of the cluster that has a metrics-server, and discovery lists its types', async () => {
  await eventually('discovery lists them', async () => (await listed(carol.token))?.join() === both.join(), within);
  assert.deepEqual(await listed(carol.token, ofCluster('m1')), both);
  assert.equal(await listed(carol.token, ofCluster('m2')), undefined, 'the other cluster has none');
  const { code, stdout, stderr } = await top();
  assert.equal(code, 0, stderr);
  const lines = stdout.trimEnd().split('\n');
  const rows = lines.map((line) => line.trim().replace(/ +/g, ' '));
  assert.deepEqual(rows.toSorted(), ['back db 7m 32Mi', 'shop web 100m 64Mi']);
});

test('who may read metrics in no cluster is not told that one has them', async () => {
  assert.equal(await listed(dave.token), undefined);
  assert.equal(await listed(dave.token, ofCluster('m1')), undefined);
  const { code, stdout, stderr } = await top(dave.token);
  assert.notEqual(code, 0);
  assert.match(stderr, /Metrics API not available/);
  assert.doesNotMatch(stdout + stderr, /m1|web/);
});

test('while the metrics-server is down its types stay listed, and kubectl top names the cluster', async () => {
  await server.stop();
  const outcome = await eventually(
    'kubectl top says so',
    async () => {
      const reported = await top();
      return (
        /m1.*(?:503|unavailable|no endpoints|trying to reach|service unavailable)/i.test(reported.stderr) && reported
      );
    },
    within,
  );
  assert.equal(outcome.stdout, '');
  assert.deepEqual(await listed(carol.token), both);
  assert.equal(await listed(dave.token), undefined);
});

test('once it is uninstalled nobody is told of metrics, and kubectl top says that there are none', async () => {
  await server.uninstall();
  await eventually('discovery forgets them', async () => (await listed(carol.token)) === undefined, within);
  const { code, stderr } = await top();
  assert.notEqual(code, 0);
  assert.match(stderr, /Metrics API not available/);
});
