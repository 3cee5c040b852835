// Whoever writes a copy of the index back to its cluster loses nothing. Every object of every type is taken from the
// index and PUT as it is. A refused write loses nothing either, so only Secrets may be refused, and each type must have
// been written.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startControlPlane } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { corpus, flatten, itemTexts, reviewRights, thingDefinition } from './index-objects.ts';
import { ask, type RawAnswer } from '../kubectl/kubectl-as.ts';
import { eventually } from '../../site/polling.ts';

const run = promisify(execFile);
const portcullis = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
const search = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const clusterAnnotation = 'shadow.clusterpedia.io/cluster-name';
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
const carol = { name: 'carol', groups: [], token: 'carol-at-the-gateway' };
let plane: ControlPlane;
let gateway: GatewayProcess;

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'], bare: ['m1', 'm2'], audit: false });
  const { stdout: access } = await run(process.execPath, [
    portcullis,
    ...['generate', 'member-access', '--index', '--index-resources', '*'],
    ...['--gateway-service-account', 'portcullis/gateway'],
  ]);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: access });
    assert.equal(applied.code, 0, applied.stderr);
    await member.apply(...reviewRights(gatewayUser), thingDefinition);
    await eventually('things are served', async () => {
      return (await member.request('GET', '/apis/corpus.example.org/v1/namespaces/team-a/things')).status === 200;
    });
    for (const { path, text } of corpus()) await create(member, path, text);
    for (const object of workload) await create(member, pathOf(object), JSON.stringify(object));
  }
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol],
    args: ['--index-resources', '*'],
  });
  await eventually(
    'the index is whole',
    async () => {
      const { clusters } = (await read(`${search}/freshness`)) as {
        readonly clusters: readonly { readonly resources: readonly { readonly whole: boolean }[] }[];
      };
      return (
        clusters.length === 2 &&
        clusters.every(({ resources }) => resources.length > 20 && resources.every(({ whole }) => whole))
      );
    },
    { timeoutMs: 60_000 },
  );
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

const metadata = {
  name: 'written',
  namespace: 'team-a',
  labels: { app: 'web', 'example.org/part': 'front' },
  annotations: { 'example.org/note': 'kept "as" it is', [lastApplied]: '{"of":"kubectl apply"}' },
  finalizers: ['example.org/hold'],
};
const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'registry.example.org/c:1', env: [{ name: 'A', value: '1' }] }] },
};
const selector = { matchLabels: { app: 'web' } };
interface Made {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly spec?: object;
  readonly data?: object;
}

/** One of many kinds; no controller runs that would change them. */
const workload: readonly Made[] = [
  { apiVersion: 'v1', kind: 'Secret', metadata, data: { password: 'c2VjcmV0' } },
  { apiVersion: 'v1', kind: 'Pod', metadata, spec: template.spec },
  { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } },
  { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: claimSpec() },
  { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { 'count/jobs.batch': '1k' } } },
  { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 3, selector, template } },
  { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec: { serviceName: 's', selector, template } },
  { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: { selector, template } },
  { apiVersion: 'batch/v1', kind: 'CronJob', metadata, spec: cronSpec() },
  { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec: { podSelector: selector } },
];

function claimSpec(): object {
  return { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1.5Gi' } } };
}

function cronSpec(): object {
  const spec = { template: { spec: { ...template.spec, restartPolicy: 'Never' } } };
  return { schedule: '0 3 * * *', jobTemplate: { spec } };
}

function pathOf({ apiVersion, kind }: Made): string {
  const plural = kind === 'NetworkPolicy' ? 'networkpolicies' : `${kind.toLowerCase()}s`;
  return `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}/namespaces/team-a/${plural}`;
}

async function create(member: Member, path: string, text: string): Promise<void> {
  const { status, body } = await member.request('POST', path, text);
  assert.ok(status === 201 || status === 409, `${path}: ${status} ${body}`);
}

/** An answer of the gateway. */
async function text(path: string): Promise<string> {
  const { status, body } = await ask(gateway, carol.token, 'GET', path);
  assert.equal(status, 200, `${path}: ${body.toString('utf8')}`);
  return body.toString('utf8');
}
async function read(path: string): Promise<unknown> {
  return JSON.parse(await text(path));
}

/**
 * Paths of every type in the index's own discovery that the index has rows of, in the version that its group prefers.
 * Types that nobody can watch, as those of metrics.k8s.io, have no rows.
 */
async function collections(): Promise<string[]> {
  const { groups } = (await read(`${search}/proxy/apis`)) as {
    readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
  };
  const versions = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const found: string[] = [];
  for (const version of versions) {
    const { resources } = (await read(`${search}/proxy${version}`)) as {
      readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[];
    };
    const kept = resources.filter(({ name, verbs }) => !name.includes('/') && verbs.includes('watch'));
    found.push(...kept.map(({ name }) => `${version}/${name}`));
  }
  return found;
}

interface Item {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
}

const written = [
  /^\."metadata"\."(?:managedFields|resourceVersion)"/,
  new RegExp(String.raw`^\."metadata"\."annotations"\."(?:${lastApplied}|${clusterAnnotation})"`),
];

/** Every scalar of an object with its place, without what a write back is documented to change. */
function contents(object: string, countsAnnotations: boolean): string[] {
  const kept = flatten(object).filter(
    ([path]) =>
      !written.some((pattern) => pattern.test(path)) && !(countsAnnotations && path === '."metadata"."generation"'),
  );
  const hasAnnotations = kept.some(([path]) => path.startsWith('."metadata"."annotations".'));
  return kept
    .filter(([path]) => hasAnnotations || path !== '."metadata"."annotations"')
    .map(([path, token]) => `${path} ${token}`);
}

/**
 * PUTs the copy through the gateway; where the object was changed in its cluster meanwhile, a copy of now. `before` is
 * the object of just that version, and the answer is the object as it was written, so that no other writer comes
 * between.
 */
async function writeBack(
  cluster: string,
  path: string,
  listed: string,
): Promise<{ readonly before: string; readonly answer: RawAnswer }> {
  const member = plane.member(cluster);
  const isSecret = path.includes('/secrets/');
  let copy = listed;
  return await eventually(`a copy of now of ${cluster} ${path}`, async () => {
    const { status, body: before } = await member.request('GET', path);
    assert.equal(status, 200, path);
    if (isSecret || versionOf(before) === versionOf(copy)) {
      const answer = await ask(gateway, carol.token, 'PUT', `/clusters/${cluster}/proxy${path}`, copy);
      if (isSecret || answer.status !== 409) return { before, answer };
    }
    copy = await text(`${search}/proxy/clusters/${cluster}${path}`);
    return false;
  });
}

const versionOf = (object: string): string => (JSON.parse(object) as Item).metadata.resourceVersion;

test('PUT of every item of the index into its cluster changes nothing there; a Secret is refused', async () => {
  const statuses = new Map<string, Map<number, number>>();
  const count = (type: string, status: number): void => {
    const ofType = statuses.get(type) ?? new Map<number, number>();
    statuses.set(type, ofType.set(status, (ofType.get(status) ?? 0) + 1));
  };
  for (const collection of await collections()) {
    for (const listed of itemTexts(await text(`${search}/proxy${collection}`))) {
      const { metadata: at } = JSON.parse(listed) as Item;
      const cluster = at.annotations[clusterAnnotation]!;
      const place = at.namespace === undefined ? '/' : `/namespaces/${at.namespace}/`;
      const path = collection.replace(/\/([^/]+)$/, `${place}$1/${encodeURIComponent(at.name)}`);
      const { before, answer } = await writeBack(cluster, path, listed);
      count(collection, answer.status);
      if (collection.endsWith('/secrets')) {
        assert.equal(answer.status, 409, path);
        assert.equal((await plane.member(cluster).request('GET', path)).body, before, 'not a byte of a Secret');
        continue;
      }
      assert.equal(answer.status, 200, `${path}: ${answer.body.toString('utf8')}`);
      const after = answer.body.toString('utf8');
      // A kube-apiserver counts a Deployment's annotations as a new generation.
      const countsAnnotations = collection.endsWith('/deployments');
      assert.deepEqual(contents(after, countsAnnotations), contents(before, countsAnnotations), path);
      const { annotations } = (JSON.parse(after) as Item).metadata;
      assert.equal(annotations[clusterAnnotation], cluster, 'the annotation of the index is written with the rest');
      assert.equal(annotations[lastApplied], undefined);
    }
  }
  for (const object of workload) {
    const type = pathOf(object).replace('/namespaces/team-a', '');
    assert.ok(statuses.get(type)?.get(type.endsWith('/secrets') ? 409 : 200), `${type} was tried`);
  }
  assert.equal(statuses.get('/apis/corpus.example.org/v1/things')?.get(200), 14);
  assert.ok(statuses.size > 20, [...statuses.keys()].join());
});

test('what was written back is in the index again as the copy of its cluster', async () => {
  const path = '/api/v1/namespaces/team-a/configmaps';
  await eventually('the index has what was written', async () => {
    const { items } = (await read(`${search}/proxy${path}`)) as { readonly items: readonly Item[] };
    for (const { metadata: at } of items) {
      const own = JSON.parse(
        (await plane.member(at.annotations[clusterAnnotation]!).request('GET', `${path}/${at.name}`)).body,
      ) as Item;
      assert.equal(at.resourceVersion, own.metadata.resourceVersion);
      assert.equal(at.uid, own.metadata.uid);
    }
    return items.length > 0;
  });
  const whole = await text(`${search}/proxy${path}`);
  for (const item of itemTexts(whole)) assert.equal(item.split(`"${clusterAnnotation}"`).length, 2, 'once');
});
