// Karmada's own command, unmodified, on a control plane with Karmada's types: `--operation-scope members` asks the
// API server which Clusters there are, and each of them by the path that the gateway serves; ResourceRegistries come
// from the gateway by the APIService.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ensureBinaries } from '../controlplane/build.ts';
import type { Member } from '../controlplane/fixture.ts';
import { hubSide } from '../e2e/hub/hub-sides.ts';
import { startMetricsServer } from '../e2e/fleet/metrics-server.ts';
import type { MetricsServer } from '../e2e/fleet/metrics-server.ts';
import { allowed, registry, startKarmadaSite } from '../e2e/karmada/karmada-site.ts';
import { searchPath } from '../e2e/karmada/karmada-paths.ts';
import { boxPod, talkingPod } from '../e2e/kubectl/pods.ts';
import type { Side } from '../e2e/kubectl/sides.ts';
import type { HubSite } from '../hub/site.ts';
import { eventually } from '../site/polling.ts';
import { startControlPlaneFront, type ControlPlaneFront } from './control-plane-front.fixture.ts';

const namespace = 'team-a';
const merge = { 'content-type': 'application/merge-patch+json' };
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
let site: HubSite;
let front: ControlPlaneFront;
let members: readonly Member[];
let alice: Side;
let bob: Side;
let karmadactl: string;
let measuring: MetricsServer;

function configMap(name: string): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } };
}

before(async () => {
  karmadactl = (await ensureBinaries(['karmadactl']))['karmadactl']!;
  site = await startKarmadaSite({ members: ['m1', 'm2'], kubelet: true, audit: false });
  members = site.members;
  const read = [{ apiGroups: ['cluster.karmada.io'], resources: ['clusters'], verbs: ['get', 'list'] }];
  await site.hub.apply(...['alice', 'bob'].flatMap((user) => allowed(user, `read-clusters-${user}`, read)));
  for (const member of members) await member.apply(configMap('same'), configMap(`of-${member.name}`));
  await members[1]!.apply(boxPod('box', namespace), talkingPod('talking', namespace));
  front = await startControlPlaneFront(site);
  [alice, bob] = [hubSide(site, 'alice', { ...front, path: '' }), hubSide(site, 'bob', { ...front, path: '' })];
});

after(async () => {
  for (const side of [alice, bob]) side?.end();
  front?.close();
  await measuring?.stop();
  await site?.stop();
});

async function run(side: Side, ...args: readonly string[]): ReturnType<Side['run']> {
  return await side.run(args, { binary: karmadactl });
}

/** `CLUSTER/NAME` of the rows that were printed, sorted. */
function rows(stdout: string): readonly string[] {
  const [, ...lines] = stdout.trimEnd().split('\n');
  return lines
    .map((line) => line.split(/\s+/))
    .map(([name, cluster]) => `${cluster}/${name}`)
    .toSorted();
}

/** The same of what members hold. */
async function held(...of: readonly Member[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const member of of) {
    const { items } = JSON.parse((await member.request('GET', configMaps)).body) as {
      readonly items: readonly { readonly metadata: { readonly name: string } }[];
    };
    found.push(...items.map(({ metadata }) => `${member.name}/${metadata.name}`));
  }
  return found.toSorted();
}

const scoped = ['-n', namespace, '--operation-scope', 'members'];

test('karmadactl get of the members prints what all of them hold, or those that are named', async () => {
  const all = await run(alice, 'get', 'configmaps', ...scoped);
  assert.equal(all.code, 0, all.stderr);
  assert.match(all.stdout, /^NAME\s+CLUSTER\s+DATA\s+AGE/);
  assert.deepEqual(rows(all.stdout), await held(...members));
  const one = await run(alice, 'get', 'configmaps', ...scoped, '--clusters', 'm2');
  assert.deepEqual(rows(one.stdout), await held(members[1]!), one.stderr);
  const named = await run(alice, 'get', 'configmap', 'same', ...scoped);
  assert.deepEqual(rows(named.stdout), ['m1/same', 'm2/same'], named.stderr);
  const yaml = await run(alice, 'get', 'configmap', 'of-m1', ...scoped, '--clusters', 'm1', '-o', 'yaml');
  const { body } = await members[0]!.request('GET', `${configMaps}/of-m1`);
  const { uid } = (JSON.parse(body) as { readonly metadata: { readonly uid: string } }).metadata;
  assert.ok(yaml.stdout.includes(`uid: ${uid}`), yaml.stdout + yaml.stderr);
});

test('karmadactl shows nobody what the member does not let them read, and says so', async () => {
  const { code, stdout, stderr } = await run(bob, 'get', 'configmaps', ...scoped);
  const direct = await members[0]!.kubectl(['--as', 'bob', 'get', 'configmaps', '-n', namespace]);
  assert.notEqual(direct.code, 0, 'bob has no rights in the member itself');
  assert.notEqual(code, 0);
  assert.match(stderr, /cluster\(m1\).*forbidden/i);
  assert.doesNotMatch(stdout + stderr, /of-m[12]/);
});

test('karmadactl describes the object of the one member that is named', async () => {
  const member = members[1]!;
  await member.request('PATCH', `${configMaps}/same`, { data: { reported: 'by m2' } }, merge);
  const { stdout, stderr } = await run(alice, 'describe', 'configmap', 'same', ...scoped, '--cluster', 'm2');
  assert.match(stdout, /^Name:\s+same\nNamespace:\s+team-a\n[^]*\nreported:\n----\nby m2\n/, stderr);
});

test('karmadactl watches the members, and prints what is made in any of them', async () => {
  const watching = alice.start(['get', 'configmaps', ...scoped, '--watch-only'], { binary: karmadactl });
  let printed = '';
  watching.child.stdout!.on('data', (chunk: Buffer) => (printed += chunk.toString('utf8')));
  let count = 0;
  // It does not say when its watches are open, so objects are made until one of each member is printed.
  await eventually('objects of both are printed', async () => {
    count += 1;
    for (const member of members) await member.apply(configMap(`seen-${count}`));
    return members.every(({ name }) => new RegExp(`^seen-\\d+\\s+${name}\\s`, 'm').test(printed));
  });
  await watching.stop();
});

test('karmadactl gets ResourceRegistries, which the control plane asks the gateway for', async () => {
  const spec = { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap' }] };
  const { status, body } = await site.hub.request(
    'POST',
    `${searchPath}/resourceregistries`,
    registry('by-karmadactl', spec),
  );
  assert.equal(status, 201, body);
  const { stdout, stderr } = await run(alice, 'get', 'resourceregistries.v1alpha1.search.karmada.io');
  assert.match(stdout, /^by-karmadactl\s/m, stderr);
});

test('karmadactl reads logs and runs commands in a pod of the member that is named, as the caller', async () => {
  const ofPods = '/api/v1/namespaces/team-a/pods';
  await eventually(
    'the pods run',
    async () => {
      const { items } = JSON.parse((await members[1]!.request('GET', ofPods)).body) as {
        readonly items: readonly { readonly status: { readonly phase: string } }[];
      };
      return items.length === 2 && items.every(({ status }) => status.phase === 'Running');
    },
    { timeoutMs: 60_000, everyMs: 200 },
  );
  const logs = await run(alice, 'logs', 'talking', '-c', 'left', '-n', namespace, '-C', 'm2');
  assert.match(logs.stdout, /left 1\n.*left end/s, logs.stderr);
  const inMember = ['-n', namespace, '--operation-scope', 'members', '--cluster', 'm2', '--', 'echo', 'hello'];
  const echoed = await run(alice, 'exec', 'box', ...inMember);
  assert.equal(echoed.stdout, 'hello\n', echoed.stderr);
  const bobs = await run(bob, 'exec', 'box', ...inMember);
  assert.notEqual(bobs.code, 0);
  assert.match(bobs.stderr, /User "bob" cannot \w+ resource "pods/);
});

test('karmadactl top asks the members for resource metrics, as the caller', async () => {
  const rules = [{ apiGroups: ['metrics.k8s.io'], resources: ['pods'], verbs: ['get', 'list'] }];
  await members[1]!.apply(...allowed('alice', 'metrics-alice', rules));
  measuring = await startMetricsServer(members[1]!, [{ namespace, name: 'box', cpu: '250m', memory: '64Mi' }]);
  const top = ['top', 'pod', '-n', namespace, '--clusters', 'm2', '--no-headers'];
  const shown = await eventually(
    'the member serves metrics',
    async () => {
      const outcome = await run(alice, ...top);
      return outcome.code === 0 && outcome.stdout.includes('box') ? outcome : undefined;
    },
    { timeoutMs: 60_000, everyMs: 500 },
  );
  assert.match(shown.stdout, /box\s+m2\s+250m\s+64Mi/);
  const bobs = await run(bob, ...top);
  assert.doesNotMatch(bobs.stdout, /250m/);
});
