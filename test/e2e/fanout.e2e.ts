// Every cluster at once with real kube-apiservers and real kubectl: what people type must work through
// `/clusters/*/proxy`. kubectl reads Tables, discovery and watches in ways of its own, and prints half an answer as
// readily as a whole one.
// Landing tier: one request to every cluster.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { startControlPlane } from '../controlplane/fixture.ts';
import type { CommandResult, ControlPlane, Member } from '../controlplane/fixture.ts';
import { runCommand } from '../controlplane/processes.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { clusterAt, writeContexts } from './kubectl/contexts.ts';
import type { TestContext } from './kubectl/contexts.ts';
import { tableCells } from './kubectl/kubectl-as.ts';
import { eventually } from '../site/polling.ts';
import { grantedRole, userSubject } from '../site/rbac.ts';
import { customResource } from '../site/custom-resource.ts';

const carol = { token: 'carol-at-the-gateway', name: 'carol', groups: ['operators'] };
const bob = { token: 'bob-at-the-gateway', name: 'bob' };
let plane: ControlPlane;
let gateway: GatewayProcess;
let home: string;

const names = ['m1', 'm2', 'm3'];
/** ConfigMaps of the test in each member. */
const maps = new Map([
  ['m1', ['a1', 'a2', 'a3']],
  ['m2', ['b1', 'b2']],
  ['m3', ['c1']],
]);
const configMap = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'fan', labels: { app: 'fan', half: name.endsWith('1') ? 'one' : 'other' } },
  data: { '2': 'b', '1': '9007199254740993', html: '\u003c&' },
});

before(async () => {
  plane = await startControlPlane({ members: names });
  for (const name of names) {
    const member = plane.member(name);
    await member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fan' } });
    await member.apply(...maps.get(name)!.map(configMap));
    await member.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'fan' } });
    const containers = [{ name: 'c', image: 'example.test/c' }];
    const metadata = { name: `pod-${name}`, namespace: 'fan' };
    await member.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { containers, automountServiceAccountToken: false },
    });
  }
  await plane.member('m2').apply(widgets);
  const contexts = names.map((name): TestContext => {
    const { url, caPem, gatewayToken } = plane.member(name);
    const cluster = clusterAt(url, caPem) as TestContext['cluster'];
    return { name, cluster, user: { token: gatewayToken }, labels: { tier: name === 'm1' ? 'prod' : 'dev' } };
  });
  const kubeconfig = writeContexts(join(plane.dir, 'contexts.kubeconfig'), contexts);
  home = mkdtempSync(join(plane.dir, 'home-'));
  gateway = await startGatewayProcess({ kubeconfigs: [kubeconfig], users: [carol, bob] });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

const widgets = customResource('widgets.example.test', 'Widget', { schema: { type: 'object' } });

function access(token: string): string[] {
  return ['--server', `${gateway.url}/clusters/*/proxy`, '--certificate-authority', gateway.caFile, '--token', token];
}

function kubectl(args: readonly string[], token = carol.token): Promise<CommandResult> {
  const env = { HOME: home, KUBECONFIG: '/dev/null' };
  return runCommand(plane.binaries['kubectl']!, [...access(token), ...args], { env });
}

/** Output of a kubectl that must succeed and warn of nothing. */
async function shown(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubectl(args);
  assert.deepEqual([code, stderr], [0, ''], args.join(' '));
  return stdout;
}

/** What the gateway answers, as bytes. */
function get(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; warnings: string; body: string }> {
  return new Promise((resolve, reject) => {
    const url = new URL(gateway.url);
    const request = httpsRequest(
      {
        host: url.hostname,
        port: url.port,
        path: `/clusters/*/proxy${path}`,
        ca: gateway.caPem,
        agent: false,
        headers: { authorization: `Bearer ${carol.token}`, ...headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          const body = Buffer.concat(chunks).toString('utf8');
          resolve({ status: response.statusCode ?? 0, warnings: String(response.headers['warning'] ?? ''), body });
        });
      },
    );
    request.once('error', reject);
    request.end();
  });
}

test('kubectl get prints the objects of every cluster with the cluster of each', async () => {
  const [header, ...lines] = tableCells(await shown('get', 'pods', '-A'));
  assert.deepEqual(header, ['NAMESPACE', 'CLUSTER', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE']);
  assert.deepEqual(
    lines.map(([, cluster, name]) => `${cluster} ${name}`),
    names.map((name) => `${name} pod-${name}`),
  );
  assert.equal(tableCells(await shown('get', 'pods', '-n', 'fan', '-o', 'wide')).length, 4);
  const labelled = tableCells(await shown('get', 'configmaps', '-n', 'fan', '-l', 'half=one', '--no-headers'));
  assert.deepEqual(
    labelled.map(([cluster, name]) => `${cluster} ${name}`),
    ['m1 a1', 'm2 b1', 'm3 c1'],
  );
  const sorted = tableCells(
    await shown('get', 'cm', '-n', 'fan', '-l', 'app=fan', '--sort-by', '.metadata.name', '--no-headers'),
  );
  assert.deepEqual(
    sorted.map(([, name]) => name),
    ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'],
  );
});

test('kubectl pages through all clusters by chunks of any size', async () => {
  const whole = await shown('get', 'configmaps', '-n', 'fan', '-l', 'app=fan', '-o', 'name');
  assert.equal(whole.trim().split('\n').length, 6);
  for (const size of ['1', '2', '4']) {
    assert.equal(
      await shown('get', 'configmaps', '-n', 'fan', '-l', 'app=fan', '-o', 'name', '--chunk-size', size),
      whole,
    );
  }
});

test('every item is the bytes of its member with the name of the cluster', async () => {
  const { body, status } = await get('/api/v1/namespaces/fan/configmaps?labelSelector=app%3Dfan');
  assert.equal(status, 200);
  const items: string[] = [];
  for (const name of names) {
    const path = '/api/v1/namespaces/fan/configmaps?labelSelector=app%3Dfan';
    const alone = (await plane.member(name).request('GET', path)).body;
    for (const item of cutItems(alone)) {
      // None of these has annotations, so the annotation comes with a new member at the front of the metadata.
      const added = `"annotations":{"shadow.clusterpedia.io/cluster-name":"${name}"},`;
      items.push(item.replace('"metadata":{', `"metadata":{${added}`));
    }
  }
  assert.equal(items.length, 6);
  assert.deepEqual(cutItems(body), items);
  const json = JSON.parse(await shown('get', 'cm', '-n', 'fan', '-l', 'app=fan', '-o', 'json')) as { items: object[] };
  assert.equal(json.items.length, 6);
  const partial = await get('/api/v1/namespaces/fan/configmaps?labelSelector=app%3Dfan', {
    accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json',
  });
  const list = JSON.parse(partial.body) as { kind: string; items: { kind: string; metadata: object }[] };
  assert.equal(list.kind, 'PartialObjectMetadataList');
  assert.equal(list.items.length, 6);
  for (const { kind, metadata } of list.items) {
    assert.equal(kind, 'PartialObjectMetadata');
    assert.match(JSON.stringify(metadata), /"shadow.clusterpedia.io\/cluster-name":"m\d"/);
  }
});

/** The texts of a list's items, which all begin with their metadata. */
function cutItems(list: string): string[] {
  const start = list.indexOf('"items":[') + '"items":['.length;
  const end = list.includes('],"metadata"') ? list.lastIndexOf('],"metadata"') : list.lastIndexOf(']');
  return list
    .slice(start, end)
    .split(/,(?=\{"metadata":)/)
    .map((item) => item.trim());
}

test('a name is found where it is, and a type that one cluster serves is a type of all', async () => {
  assert.match(await shown('get', 'configmap', 'b2', '-n', 'fan'), /^m2 +b2 /m);
  const { code, stderr } = await kubectl(['get', 'configmap', 'nowhere', '-n', 'fan']);
  assert.deepEqual([code, /NotFound.*"nowhere" not found/.test(stderr)], [1, true], stderr);
  const everywhere = await kubectl(['get', 'namespace', 'fan']);
  assert.match(everywhere.stderr, /Conflict.*3 clusters have.*m1, m2, m3/);
  assert.match(await shown('api-resources', '--api-group', 'example.test'), /^widgets /m);
  await plane
    .member('m2')
    .apply({ apiVersion: 'example.test/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'fan' } });
  assert.match(await shown('get', 'widgets', '-A'), /^fan +m2 +w /m);
  assert.match(await shown('explain', 'pod.spec.containers'), /FIELD: containers/);
  assert.match((await kubectl(['version'])).stdout, /Server Version/);
});

test('kubectl get -w prints changes of every cluster as they come', async () => {
  const env = { HOME: home, KUBECONFIG: '/dev/null' };
  const args = [...access(carol.token), 'get', 'configmaps', '-n', 'fan', '-l', 'app=fan', '-w'];
  const child = spawn(plane.binaries['kubectl']!, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    await eventually('the list was printed', () => /^m3 +c1 .*\n/m.test(out));
    const before = out.length;
    await plane.member('m3').apply(configMap('c9'));
    await eventually('the change was printed', () => /^m3 +c9 .*\n/m.test(out.slice(before)));
    await plane.member('m1').apply(configMap('a9'));
    await eventually('the other change was printed', () => /^m1 +a9 .*\n/m.test(out.slice(before)));
    assert.equal(out.slice(before).trim().split('\n').length, 2, out);
  } finally {
    child.kill('SIGKILL');
  }
  for (const [member, name] of [
    ['m3', 'c9'],
    ['m1', 'a9'],
  ] as const) {
    await plane.member(member).request('DELETE', `/api/v1/namespaces/fan/configmaps/${name}`);
  }
});

test('each member decides what the caller may read there, and a write goes where its selector says', async () => {
  const refused = await kubectl(['get', 'secrets', '-A'], bob.token);
  assert.deepEqual([refused.code, /Forbidden/.test(refused.stderr)], [1, true], refused.stderr);
  const rights = grantedRole(
    'fan',
    'maps',
    [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
    userSubject('bob'),
  );
  await plane.member('m2').apply(...rights);
  const some = await eventually('the right is known', async () => {
    const answer = await kubectl(['get', 'configmaps', '-n', 'fan', '--no-headers'], bob.token);
    return answer.code === 0 && answer;
  });
  assert.deepEqual(
    tableCells(some.stdout).map(([cluster, name]) => `${cluster} ${name}`),
    ['m2 b1', 'm2 b2'],
  );
  assert.match(some.stderr, /Warning: cluster m1: configmaps is forbidden: User "bob"/);
  assert.match(some.stderr, /Warning: cluster m3: /);

  const path = '/api/v1/namespaces/fan/configmaps';
  const dir = mkdtempSync(join(plane.dir, 'write-'));
  const file = join(dir, 'map.json');
  writeFileSync(file, JSON.stringify(configMap('written')));
  const bare = await kubectl(['create', '--raw', path, '-f', file]);
  assert.match(bare.stderr, /clusterSelector/);
  const chosen = await kubectl(['create', '--raw', `${path}?clusterSelector=tier%3Ddev`, '-f', file]);
  assert.equal(chosen.code, 0, chosen.stderr);
  const has = async (member: Member): Promise<number> => (await member.request('GET', `${path}/written`)).status;
  assert.deepEqual(await Promise.all(names.map((name) => has(plane.member(name)))), [404, 200, 200]);
  const removed = await kubectl(['delete', '--raw', `${path}/written?clusterSelector=tier%3Ddev`]);
  assert.equal(removed.code, 0, removed.stderr);
  assert.deepEqual(await Promise.all(names.map((name) => has(plane.member(name)))), [404, 404, 404]);
});

test('a member that is killed is named in a warning and the rest is printed; partial=false says no instead (FLT-16)', async () => {
  await plane.member('m2').kill();
  const { code, stdout, stderr } = await kubectl(['get', 'pods', '-A', '--no-headers']);
  assert.equal(code, 0, stderr);
  assert.deepEqual(
    tableCells(stdout).map(([, cluster]) => cluster),
    ['m1', 'm3'],
  );
  assert.match(stderr, /Warning: cluster m2: /);
  const whole = await get('/api/v1/pods?partial=false');
  assert.equal(whole.status, 503);
  assert.match(whole.body, /m2/);
  const part = await get('/api/v1/pods');
  assert.deepEqual([part.status, /cluster m2/.test(part.warnings)], [200, true]);
});

test('a member that is silent costs a fan-out its deadline, not its answer (FLT-16)', async () => {
  const member = plane.member('m3');
  member.pauseProcess();
  try {
    const { status, warnings, body } = await get('/api/v1/namespaces/fan/configmaps?labelSelector=app%3Dfan');
    assert.equal(status, 200);
    assert.match(warnings, /cluster m3: /);
    assert.equal((JSON.parse(body) as { items: object[] }).items.length, 3);
  } finally {
    member.resumeProcess();
  }
});
