// The examples of docs/how-to/clients/informers.md, compiled and run as they are in the repository: informers of
// client-go and of the JavaScript client over all clusters and over one. Both clusters have Deployments of the same
// namespace and name, which an informer that keys by these would mix up.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

import { ensureBinaries } from '../../controlplane/build.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { eventually } from '../../site/polling.ts';
import { reviewRights } from '../index/index-objects.ts';
import { ask } from '../kubectl/kubectl-as.ts';

const run = promisify(execFile);
const program = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
const script = new URL('../../../docs/how-to/examples/informer-js/informer.mjs', import.meta.url).pathname;
const counts = '/apis/search.portcullis.io/v1alpha1/indexes/default/counts?resource=deployments.apps';
const carol = { name: 'carol', groups: ['operators'], token: 'carol-at-the-gateway' };
const deployments = '/apis/apps/v1/namespaces/shop/deployments';

let plane: ControlPlane;
let gateway: GatewayProcess;
let kubeconfig: string;
let binary: string;

before(async () => {
  binary = (await ensureBinaries(['informer-go']))['informer-go']!;
  plane = await startControlPlane({ members: ['m1', 'm2'], bare: ['m1', 'm2'], audit: false });
  const ofMembers = ['--index', '--index-resources', 'deployments.apps'];
  const forGateway = ['--gateway-service-account', 'portcullis/gateway'];
  const generate = [program, 'generate', 'member-access', ...ofMembers, ...forGateway];
  const { stdout: access } = await run(process.execPath, generate);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: access });
    assert.equal(applied.code, 0, applied.stderr);
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    await member.apply(...reviewRights(gatewayUser), namespace);
    await make(member.name, 'web');
  }
  await make('m1', 'only-here');
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol],
    args: ['--index-resources', 'deployments.apps'],
  });
  kubeconfig = join(plane.dir, 'examples.kubeconfig');
  const ofGateway = ['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', carol.token];
  await run(process.execPath, [program, 'kubeconfig', ...ofGateway, '--all', '--index', '--output', kubeconfig]);
  await eventually('the index is whole', async () => {
    const { body } = await ask(gateway, carol.token, 'GET', counts);
    return (JSON.parse(body.toString('utf8')) as { readonly count?: number }).count === 3;
  });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

/** Makes a Deployment, and gives its uid. */
async function make(member: string, name: string): Promise<string> {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'example.test/c' }] } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec };
  const { status, body } = await plane.member(member).request('POST', deployments, object);
  assert.equal(status, 201, body);
  return (JSON.parse(body) as { readonly metadata: { readonly uid: string } }).metadata.uid;
}

async function remove(member: string, name: string): Promise<void> {
  const { status, body } = await plane.member(member).request('DELETE', `${deployments}/${name}`);
  assert.equal(status, 200, body);
}

async function annotate(member: string, name: string, text: string): Promise<void> {
  const args = ['annotate', 'deployment', name, '-n', 'shop', '--overwrite', `example.org/changed=${text}`];
  const { code, stderr } = await plane.member(member).kubectl(args);
  assert.equal(code, 0, stderr);
}

/** A running example. What it has printed is turned into what it knows: cluster and name, by uid. */
interface Example {
  readonly lines: readonly string[];
  known(): readonly string[];
  stop(): Promise<void>;
}

function start(command: string, args: readonly string[]): Example {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env['PATH'] } });
  const closed = once(child, 'close');
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return {
    lines,
    known() {
      const objects = new Map<string, string>();
      for (const line of lines) {
        const [event, cluster, name, uid] = line.split(' ');
        if (event === 'DELETED') objects.delete(uid!);
        else objects.set(uid!, `${cluster} ${name}`);
      }
      return [...objects.values()].toSorted();
    },
    async stop() {
      child.kill();
      await closed;
    },
  };
}

const examples: readonly { readonly name: string; start(cluster?: string): Example }[] = [
  {
    name: 'Go',
    start: (cluster) =>
      start(binary, ['-kubeconfig', kubeconfig, ...(cluster === undefined ? [] : ['-cluster', cluster])]),
  },
  {
    name: 'JavaScript',
    start: (cluster) =>
      start(process.execPath, [script, kubeconfig, 'portcullis-all', ...(cluster === undefined ? [] : [cluster])]),
  },
];

for (const { name, start: startExample } of examples) {
  test(`the informer in ${name} keeps objects of one name in two clusters apart`, async () => {
    const example = startExample();
    try {
      const shows = (...known: string[]): Promise<unknown> =>
        eventually(`known: ${known.join(', ')}`, () => known.join() === example.known().join(), {
          timeoutMs: 60_000,
        }).catch((error: unknown) => assert.fail(`${String(error)}\n${example.lines.join('\n')}`));
      await shows('m1 shop/only-here', 'm1 shop/web', 'm2 shop/web');
      await remove('m1', 'web');
      await shows('m1 shop/only-here', 'm2 shop/web');
      await annotate('m2', 'web', name);
      await eventually('the other is followed further', () =>
        example.lines.some((line) => line.startsWith('MODIFIED m2 shop/web ')),
      );
      const uid = await make('m1', 'web');
      await shows('m1 shop/only-here', 'm1 shop/web', 'm2 shop/web');
      assert.ok(example.lines.includes(`ADDED m1 shop/web ${uid}`));
    } finally {
      await example.stop();
    }
  });

  test(`the informer in ${name} over one cluster knows that cluster only`, async () => {
    const example = startExample('m2');
    try {
      const began = { timeoutMs: 60_000 };
      await eventually('what m2 has', () => example.known().join() === 'm2 shop/web', began);
      const made = await make('m2', 'second');
      await eventually('what was added', () => example.lines.includes(`ADDED m2 shop/second ${made}`));
      await remove('m2', 'second');
      await eventually('what was deleted', () => example.lines.includes(`DELETED m2 shop/second ${made}`));
      assert.deepEqual(example.known(), ['m2 shop/web']);
    } finally {
      await example.stop();
    }
  });
}
