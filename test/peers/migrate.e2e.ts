// The page about migrating from Clusterpedia as a script: its commands are run as they stand there, from Clusterpedia
// with PostgreSQL and two clusters to Portcullis and back, and the same questions are asked at each stage. There are no
// nodes, so the test starts and ends the processes that the Deployments on the hub ask for.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { clusterpediaDefinitions } from '../../import/definitions/clusterpedia.ts';
import { startControlPlane, type ControlPlane, type Member } from '../controlplane/fixture.ts';
import { freePort, runCommand } from '../controlplane/processes.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { helm } from '../chart/helm.ts';
import { podKubeconfig, pointServiceHere, runPod } from '../chart/site.ts';
import { ensureBinaries } from '../controlplane/build.ts';
import { eventually, hasReason, paths, read, type Json } from '../e2e/import/import-site.ts';
import { installClusterpedia, missingPrograms, type Clusterpedia } from './clusterpedia.fixture.ts';

const missing = missingPrograms();
const needsClusterpedia = { skip: missing ?? false };

const root = path.join(import.meta.dirname, '../..');
const page = readFileSync(path.join(root, 'docs/how-to/migrate/from-clusterpedia.md'), 'utf8');
const deployments = ['clusterpedia-controller-manager', 'clusterpedia-clustersynchro-manager'];
let plane: ControlPlane;
let hub: Member;
let clusterpedia: Clusterpedia;
let theirPort: number;
let ourPort: number;
let pod: { readonly args: string; readonly process: GatewayProcess } | undefined;
let isTheirsRunning = false;

before(async () => {
  if (missing !== undefined) return;
  const members = ['m1', 'm2'];
  plane = await startControlPlane({ members: ['hub', ...members], bare: members, controllerManager: true });
  hub = plane.member('hub');
  await hub.apply(...clusterpediaDefinitions, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'clusterpedia-system' },
  });
  for (const path of Object.values(paths))
    await eventually(`the hub serves ${path}`, async () => (await hub.request('GET', path)).status === 200);
  clusterpedia = await installClusterpedia(hub);
  theirPort = await clusterpedia.startApiserver();
  ourPort = await freePort();
  await hub.apply(...deployments.map(deployment), ...theirApi());
});

after(async () => {
  await pod?.process.stop('SIGKILL');
  await clusterpedia?.stop();
  await plane?.stop();
});

function deployment(name: string): object {
  const labels = { app: name };
  const spec = { containers: [{ name: 'manager', image: 'none' }] };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'clusterpedia-system' },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

/** As its installation leaves them, but that the Service leads to this machine. */
function theirApi(): readonly object[] {
  const [name, namespace] = ['clusterpedia-apiserver', 'clusterpedia-system'];
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace },
      spec: { type: 'ExternalName', externalName: '127.0.0.1', ports: [{ name: 'https', port: theirPort }] },
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1beta1.clusterpedia.io' },
      spec: {
        insecureSkipTLSVerify: true,
        group: 'clusterpedia.io',
        version: 'v1beta1',
        groupPriorityMinimum: 1000,
        versionPriority: 100,
        service: { name, namespace, port: theirPort },
      },
    },
  ];
}

/** The block of the page below a heading. */
function block(heading: string, language: 'sh' | 'yaml'): string {
  const section = page.split(/^## /m).find((each) => each.startsWith(heading));
  const found = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(section ?? '');
  assert.ok(found, `the page has no ${language} block below "${heading}"`);
  return found[1]!;
}

/** Runs the commands of a section, and what the hub's nodes would do where a rollout is awaited and at the end. */
async function follow(heading: string): Promise<string> {
  const bin = path.join(plane.dir, 'bin');
  if (pod === undefined) {
    mkdirSync(bin);
    const { kubectl, helm: program } = await ensureBinaries(['kubectl', 'helm']);
    symlinkSync(kubectl!, path.join(bin, 'kubectl'));
    symlinkSync(program!, path.join(bin, 'helm'));
    writeFileSync(
      path.join(plane.dir, 'portcullis.yaml'),
      `${block('1. Side by side', 'yaml')}service: { port: ${ourPort} }\n`,
    );
  }
  const parts = block(heading, 'sh')
    .replaceAll('-f portcullis.yaml', `-f ${path.join(plane.dir, 'portcullis.yaml')}`)
    .replaceAll(...portOf(String.raw`"name\":\"portcullis\",\"namespace\":\"portcullis\",\"port\":`, ourPort))
    .replaceAll(...portOf('"namespace":"clusterpedia-system","port":', theirPort))
    .split(/^.*rollout status.*$/m);
  const env = {
    KUBECONFIG: hub.adminKubeconfig,
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    ...Object.fromEntries(['CACHE', 'CONFIG', 'DATA'].map((name) => [`HELM_${name}_HOME`, '/nonexistent'])),
  };
  let printed = '';
  for (const commands of parts) {
    const bash = ['-e', '-o', 'pipefail', '-c', commands];
    const { code, stdout, stderr } = await runCommand('bash', bash, { env, cwd: root });
    assert.equal(code, 0, `${commands}\n${stdout}${stderr}`);
    printed += stdout;
    await playNodes();
  }
  return printed;
}

/** In place of a pod network's port of a Service, that of this machine. */
function portOf(text: string, port: number): [string, string] {
  return [`${text}443`, `${text}${port}`];
}

/** Starts and ends processes as the Deployments of the hub ask for. */
async function playNodes(): Promise<void> {
  const of = async (namespace: string, name: string): Promise<Json> =>
    await read(hub, `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);
  const replicas = await Promise.all(
    deployments.map(async (name) => (await of('clusterpedia-system', name)).spec.replicas),
  );
  if (replicas.every((each) => each === 1) && !isTheirsRunning) await clusterpedia.start();
  if (replicas.every((each) => each === 0) && isTheirsRunning) await clusterpedia.stopControllers();
  isTheirsRunning = replicas[0] === 1;
  const ours = await of('portcullis', 'portcullis');
  if (ours === undefined) return;
  const args = JSON.stringify(ours.spec.template.spec.containers[0].args);
  if (pod?.args === args) return;
  await pod?.process.stop('SIGTERM');
  await pointServiceHere(hub, ourPort);
  const { stdout: manifest } = await helm(['get', 'manifest', 'portcullis', '-n', 'portcullis'], hub.adminKubeconfig);
  const kubeconfig = await podKubeconfig(hub, path.join(plane.dir, 'pod.kubeconfig'));
  pod = { args, process: await runPod(manifest, kubeconfig, path.join(plane.dir, 'pod'), ourPort) };
  const api = '/apis/gateway.portcullis.io/v1alpha1';
  await eventually('the hub reaches it', async () => (await hub.request('GET', api)).status === 200);
}

const questions = [
  ['get', 'configmaps', '-n', 'default'],
  ['get', 'deployments', '-A'],
  ['get', 'namespaces', '-l', 'kubernetes.io/metadata.name in (default,team)'],
];

/** What somebody with rights in the clusters is answered by the hub to all questions, of all clusters and of one. */
async function answers(): Promise<readonly string[]> {
  const resources = `${hub.url}/apis/clusterpedia.io/v1beta1/resources`;
  return await Promise.all(
    [resources, `${resources}/clusters/c1`].flatMap((server) =>
      questions.map(async (question) => {
        const columns = 'NAMESPACE:.metadata.namespace,NAME:.metadata.name,UID:.metadata.uid';
        const args = [
          '--kubeconfig',
          hub.users.carol.kubeconfig,
          '--server',
          server,
          ...question,
          '-o',
          `custom-columns=${columns}`,
        ];
        const { code, stdout, stderr } = await hub.kubectl(args);
        assert.equal(code, 0, `${question.join(' ')}: ${stderr}`);
        return stdout.trim().split('\n').toSorted().join('\n');
      }),
    ),
  );
}

/** Waits until the hub gives these answers. */
async function gives(expected: readonly string[]): Promise<void> {
  let last: unknown;
  await eventually('the same answers', async () => {
    last = await answers();
    return JSON.stringify(last) === JSON.stringify(expected);
  }).catch(() => assert.deepEqual(last, expected));
}

async function areReady(): Promise<void> {
  for (const name of ['c1', 'c2']) await hasReason(hub, `${paths.clusters}/${name}`, 'Ready', 'Ready');
}

const uids = async (): Promise<readonly string[]> =>
  (await read(hub, paths.clusters)).items.map(({ metadata }: Json) => metadata.uid);

test(
  'two clusters under Clusterpedia are asked the same before the switch, after it and after the way back',
  needsClusterpedia,
  async () => {
    for (const [index, name] of ['m1', 'm2'].entries()) {
      const member = plane.member(name);
      const configMap = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `from-${name}`, namespace: 'default' },
      };
      await member.apply(
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } },
        configMap,
        deploymentIn(name),
      );
      await hub.apply({
        apiVersion: 'cluster.clusterpedia.io/v1alpha2',
        kind: 'PediaCluster',
        metadata: { name: `c${index + 1}` },
        spec: {
          kubeconfig: Buffer.from(readFileSync(member.adminKubeconfig)).toString('base64'),
          syncResources: [
            { group: '', resources: ['configmaps', 'namespaces'] },
            { group: 'apps', resources: ['deployments'] },
          ],
        },
      });
    }
    await playNodes();
    await areReady();
    const expected = await eventually('all rows', async () => {
      const found = await answers();
      return /from-m1/.test(found[0]!) && /from-m2/.test(found[0]!) && /of-m1[^]*of-m2/.test(found[1]!) && found;
    });
    assert.doesNotMatch(expected[3]!, /from-m2/);
    const made = await uids();

    const sideBySide = await follow('1. Side by side');
    assert.match(sideBySide, /pediacluster\.cluster\.clusterpedia\.io\/c1/);
    await gives(expected);

    await follow('3. The switch');
    await eventually('ours leads', () => pod!.process.log().match(/"leads":true/g)?.length === 2);
    await areReady();
    await gives(expected);
    assert.deepEqual(await uids(), made);

    await follow('The way back');
    await areReady();
    await gives(expected);
    assert.deepEqual(await uids(), made);
    const late = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late', namespace: 'default' } };
    await plane.member('m1').apply(late);
    await eventually('Clusterpedia goes on', async () => /late/.test((await answers())[0]!));
  },
);

function deploymentIn(member: string): object {
  const object = deployment(`of-${member}`) as Json;
  return { ...object, metadata: { name: object.metadata.name, namespace: 'team' } };
}
