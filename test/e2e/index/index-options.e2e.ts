// Options that narrow the index, on real members: in flags and configuration for all clusters, in annotations of the
// hub's objects for one, and by a ClusterSyncResources that several share. All of them take effect while the gateway
// runs, and whoever watches is told.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clusterpediaDefinitions } from '../../../import/definitions/clusterpedia.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { clusterSecret, secretNamespace } from '../../hub/objects.ts';
import { eventually } from '../../site/polling.ts';
import { annotate, index, lines, prints, proxy, startHubIndexSite, type HubIndexSite } from './hub-index-site.ts';

const cluster = 'shadow.clusterpedia.io/cluster-name';
const secretPath = `/api/v1/namespaces/${secretNamespace}/secrets/m1`;
const options = ['exclude', 'select', 'prune'].map((name) => `index.portcullis.io/${name}`);
const marked = 'a-value-that-the-index-must-not-have';
const names = [
  'get',
  'configmaps',
  '-A',
  '-l',
  'made=here',
  '-o',
  `jsonpath={range .items[*]}{.metadata.annotations.${cluster.replaceAll('.', '\\.')}}/{.metadata.namespace}/{.metadata.name}{"\\n"}{end}`,
];
let all: HubIndexSite;
let m1: Member;
let m2: Member;

function configMap(name: string, namespace: string, labels: object = {}): object {
  const metadata = { name, namespace, labels: { made: 'here', ...labels } };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: `${marked}-${name}` } };
}

function pediaCluster({ name, url, caPem, gatewayToken }: Member): object {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return {
    apiVersion: 'cluster.clusterpedia.io/v1alpha2',
    kind: 'PediaCluster',
    metadata: { name },
    spec: {
      ...{ apiserver: url, caData: base64(caPem), tokenData: base64(gatewayToken) },
      syncResources: [{ group: '', resources: ['configmaps', 'services'] }],
      syncResourcesRefName: 'shared',
    },
  };
}

const shared = (...resources: readonly string[]): object => ({
  apiVersion: 'cluster.clusterpedia.io/v1alpha2',
  kind: 'ClusterSyncResources',
  metadata: { name: 'shared' },
  spec: { syncResources: resources.map((resource) => ({ group: '', resources: [resource] })) },
});

before(async () => {
  all = await startHubIndexSite({
    path: proxy,
    objects: (plane) => [
      clusterSecret(plane.member('m1')),
      pediaCluster(plane.member('m2')),
      clusterpediaDefinitions.find(({ metadata }) => metadata.name.startsWith('clustersyncresources'))!,
    ],
    gateway: {
      args: [
        '--index-resources',
        'configmaps,secrets,services',
        '--index-exclude',
        'secrets,*{namespaces=kube-system}',
      ],
      config: { indexRules: [{ clusters: 'm2', prune: ['configmaps{fields=data}'] }] },
    },
  });
  [m1, m2] = [all.site.plane.member('m1'), all.site.plane.member('m2')];
  for (const member of [m1, m2]) {
    const { name } = member;
    await member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-b' } });
    for (const namespace of ['team-a', 'team-b', 'kube-system'])
      await member.apply(configMap(`${name}-one`, namespace), configMap(`${name}-two`, namespace, { index: 'no' }));
  }
  await prints(all.alice, names, [...rowsOf('m1'), ...rowsOf('m2')]);
});

after(() => all?.stop());

/** The rows of a member that the configuration leaves. */
function rowsOf(name: string): readonly string[] {
  return ['team-a', 'team-b'].flatMap((namespace) =>
    ['one', 'two'].map((end) => `${name}/${namespace}/${name}-${end}`),
  );
}

/** Which lists and watches of the index a member was sent, since `mark`. */
async function asked(member: Member, mark?: number): Promise<readonly string[]> {
  const events = await member.audit(mark);
  const ofIndex = events.filter(({ userAgent, verb }) => userAgent === 'portcullis-index' && verb !== 'get');
  return [...new Set(ofIndex.map(({ requestURI }) => decodeURIComponent(requestURI)))];
}

test('what the operator excludes is not asked for, and is in no answer', async () => {
  for (const member of [m1, m2]) {
    const paths = await asked(member);
    assert.equal(
      paths.some((path) => path.startsWith('/api/v1/secrets')),
      false,
    );
    const ofMaps = paths.filter((path) => path.startsWith('/api/v1/configmaps'));
    assert.ok(ofMaps.length >= 2, paths.join('\n'));
    for (const path of ofMaps) assert.match(path, /fieldSelector=metadata\.namespace!=kube-system/);
  }
  const secrets = await all.alice.run(['get', 'secrets', '-A'], { silent: true });
  assert.notEqual(secrets.code, 0);
  assert.deepEqual(await lines(all.alice, 'get', 'configmaps', '-n', 'kube-system', '-o', 'name'), []);
});

test('an annotation narrows one cluster on the side of its API server; a watch is told, and again when it is removed', async () => {
  const watching = all.alice.start(['get', 'configmaps', '-A', '-l', 'made=here', '-w', '--output-watch-events']);
  await watching.until(/ADDED\s+team-b\s+m1\s+m1-two/);
  const mark = await m1.auditMark();
  await annotate(all.site.hub, secretPath, {
    [options[0]!]: '*{namespaces=team-b}',
    [options[1]!]: 'configmaps{labels=index!=no}',
  });
  await prints(all.alice, names, ['m1/team-a/m1-one', ...rowsOf('m2')]);
  const reported = await watching.until(
    /DELETED\s+team-b\s+m1\s+m1-one[^]*DELETED|DELETED[^]*DELETED\s+team-b\s+m1\s+m1-one/,
  );
  assert.doesNotMatch(reported, /DELETED\s+\S+\s+m2/);
  const selectors =
    /labelSelector=index!=no&fieldSelector=metadata\.namespace!=kube-system,metadata\.namespace!=team-b&/;
  const narrowed = (await asked(m1, mark)).filter((path) => selectors.test(path));
  const watches = narrowed.filter((path) => path.includes('&watch='));
  assert.ok(watches.length > 0 && watches.length < narrowed.length, 'a list and a watch');
  // What leaves the selection later goes, and what enters it comes.
  await m1.apply(configMap('m1-two', 'team-a', { index: 'yes' }), configMap('m1-one', 'team-a', { index: 'no' }));
  await prints(all.alice, names, ['m1/team-a/m1-two', ...rowsOf('m2')]);
  await m1.apply(configMap('m1-one', 'team-a', { index: 'yes' }));
  await annotate(all.site.hub, secretPath, { [options[0]!]: null, [options[1]!]: null });
  await prints(all.alice, names, [...rowsOf('m1'), ...rowsOf('m2')]);
  await watching.until(/DELETED[^]*ADDED\s+team-b\s+m1\s+m1-one/);
  await watching.stop();
});

test('a type that is excluded of every cluster ends with DELETED for each object', async () => {
  const services = ['get', 'services', '-A', '--output-watch-events', '-w'];
  const watching = all.alice.start(services);
  await watching.until(/ADDED\s+default\s+m1\s+kubernetes/);
  await watching.until(/ADDED\s+default\s+m2\s+kubernetes/);
  await annotate(all.site.hub, secretPath, { [options[0]!]: 'services' });
  await annotate(all.site.hub, '/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/m2', {
    [options[0]!]: 'services',
  });
  await watching.until(/DELETED\s+default\s+m1\s+kubernetes/);
  await watching.until(/DELETED\s+default\s+m2\s+kubernetes/);
  // The type itself goes after its last object.
  await eventually('services are no type of the index', async () => {
    const { stderr } = await all.alice.run(['get', 'services', '-A'], { silent: true });
    return /services.* not indexed|the server doesn't have a resource type/.test(stderr);
  });
  await annotate(all.site.hub, '/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/m2', { [options[0]!]: null });
  await annotate(all.site.hub, secretPath, { [options[0]!]: null });
  await prints(all.alice, ['get', 'services', '-A', '-o', 'name'], ['service/kubernetes', 'service/kubernetes']);
  await watching.stop();
});

test('an annotation that cannot be read takes the cluster out of the index, and who may reach the cluster is told', async () => {
  await annotate(all.site.hub, secretPath, { [options[0]!]: 'secrets,{team-secret}' });
  await prints(all.alice, names, rowsOf('m2'));
  const { stderr } = await all.alice.run(['get', 'configmaps', '-A'], { silent: true });
  assert.match(stderr, /Warning: cluster m1: nothing of it is indexed: an index option of it cannot be read/);
  assert.doesNotMatch(stderr, /team-secret/);
  const shown = await all.ask('/apis/gateway.portcullis.io/v1alpha1/clusters/m1');
  const { status } = JSON.parse(shown.body.toString()) as { status: { conditions: Record<string, string>[] } };
  const found = status.conditions.find(({ type }) => type === 'Indexed')!;
  assert.deepEqual([found['status'], found['reason']], ['False', 'InvalidOptions']);
  assert.match(
    found['message']!,
    /entry 2 of its annotation index\.portcullis\.io\/exclude cannot be read; write TYPE/,
  );
  const ofBob = await all.ask(`${proxy}/api/v1/configmaps`, 'bob');
  assert.doesNotMatch(`${ofBob.body.toString()} ${JSON.stringify(ofBob.headers)}`, /m1-|m2-|exclude|entry 2/);
  await annotate(all.site.hub, secretPath, { [options[0]!]: null });
  await prints(all.alice, names, [...rowsOf('m1'), ...rowsOf('m2')]);
});

test('pruned fields are nowhere in the store, an answer says so, and a copy cannot be written back', async () => {
  const copy = await all.alice.run(['get', 'configmap', 'm2-one', '-n', 'team-a', '-o', 'yaml'], { silent: true });
  assert.match(copy.stderr, /Warning: .*configmaps of cluster m2 are kept without data/);
  assert.doesNotMatch(copy.stdout, /key:/);
  assert.match(copy.stdout, /search\.portcullis\.io\/pruned: data/);
  assert.match(copy.stdout, /resourceVersion: "1"/);
  assert.match(
    (await lines(all.alice, 'get', 'configmap', 'm1-one', '-n', 'team-a', '-o', 'yaml')).join('\n'),
    new RegExp(marked),
  );
  const { headers } = await all.ask(`${proxy}/api/v1/configmaps`, 'bob');
  assert.doesNotMatch(JSON.stringify(headers['warning'] ?? ''), /kept without/, 'who sees none of them is not told');
  const folder = join(all.site.gateway.dataDir, 'index');
  const stored = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'));
  assert.ok(
    stored.some((text) => text.includes(`${marked}-m1-one`)),
    'what is not pruned is there',
  );
  assert.equal(
    stored.some((text) => text.includes(`${marked}-m2-`)),
    false,
  );
  for (const verb of [['replace'], ['apply'], ['apply', '--server-side', '--force-conflicts']]) {
    const written = await m2.kubectl([...verb, '-f', '-'], { stdin: copy.stdout });
    assert.notEqual(written.code, 0, verb.join(' '));
    assert.match(written.stderr, /the object has been modified|Conflict/);
  }
  const own = await m2.request('GET', '/api/v1/namespaces/team-a/configmaps/m2-one');
  assert.match(own.body, new RegExp(`${marked}-m2-one`), 'the cluster has all of it');
});

/** Said of a type that the index does not hold, and that the clusters answer for. */
const notHeld = 'are not in the index, so the clusters themselves were asked';

test('a ClusterSyncResources takes effect as it is made, edited and deleted', async () => {
  const accounts = ['get', 'serviceaccounts', '-n', 'team-a', '-o', 'name'];
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'team-a' } };
  const metadata = { name: 'mine', namespace: 'team-a' };
  await m2.apply(account, { apiVersion: 'v1', kind: 'Endpoints', metadata });
  const { hub } = all.site;
  await hub.apply(shared('serviceaccounts'));
  await eventually(
    'the account comes',
    async () => {
      const { stdout, stderr } = await all.alice.run(accounts, { silent: true });
      return stdout.includes('serviceaccount/robot') && !stderr.includes(notHeld);
    },
    { timeoutMs: 60_000, everyMs: 250 },
  );
  const watching = all.alice.start(['get', 'serviceaccounts', '-n', 'team-a', '-w', '--output-watch-events']);
  await watching.until(/ADDED\s+m2\s+robot/);
  await hub.apply(shared('endpoints'));
  await watching.until(/DELETED\s+m2\s+robot/);
  await watching.stop();
  const endpoints = ['get', 'endpoints', '-n', 'team-a', '-o', 'name'];
  const isHeld = async (): Promise<boolean> =>
    !(await all.alice.run(endpoints, { silent: true })).stderr.includes(notHeld);
  await eventually('endpoints are indexed', isHeld, { timeoutMs: 60_000, everyMs: 250 });
  await prints(all.alice, endpoints, ['endpoints/mine']);
  const path = '/apis/cluster.clusterpedia.io/v1alpha2/clustersyncresources/shared';
  assert.equal((await hub.request('DELETE', path)).status, 200);
  await eventually('endpoints go', async () => !(await isHeld()));
  await prints(all.alice, names, [...rowsOf('m1'), ...rowsOf('m2')]);
});

test('what is excluded while its cluster is away is not shown from the copy', async () => {
  await m1.kill();
  await eventually(
    'm1 is away',
    async () => {
      const { body } = await all.ask(`${index}/freshness`);
      return /"cluster":"m1"[^]*"Stale"/.test(body.toString());
    },
    { timeoutMs: 60_000, everyMs: 250 },
  );
  await prints(all.alice, names, [...rowsOf('m1'), ...rowsOf('m2')]);
  await annotate(all.site.hub, secretPath, { [options[0]!]: 'configmaps{namespaces=team-b}' });
  await prints(all.alice, names, rowsOf('m2'));
  await m1.restart();
  await prints(all.alice, names, [...rowsOf('m1').filter((row) => row.includes('team-a')), ...rowsOf('m2')]);
});
