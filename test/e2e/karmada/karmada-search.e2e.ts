// Karmada's search, on a hub whose requests for it go to the gateway: ResourceRegistries with kubectl, both paths of
// the search compared with what the members hold, and everything that goes on to the cluster that has an object.
// Landing tier: in the place of Karmada's search.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import type { HubSite } from '../../hub/site.ts';
import { eventually } from '../../site/polling.ts';
import { hubSide } from '../hub/hub-sides.ts';
import { boxPod, talkingPod } from '../kubectl/pods.ts';
import type { Outcome, Side } from '../kubectl/sides.ts';
import { allowed, complete, registry, registryCondition, startKarmadaSite, type Json } from './karmada-site.ts';
import { cache, proxying, searchPath } from './karmada-paths.ts';

const namespace = 'team-a';
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
const cached = 'resource.karmada.io/cached-from-cluster';
let site: HubSite;
let m1: Member;
let m2: Member;
let alice: Side;
let bob: Side;
let carol: Side;

function configMap(name: string, labels: object = {}, data: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data };
}

before(async () => {
  site = await startKarmadaSite({ members: ['m1', 'm2'], kubelet: true });
  [m1, m2] = [site.plane.member('m1'), site.plane.member('m2')];
  [alice, bob, carol] = [hubSide(site, 'alice'), hubSide(site, 'bob'), hubSide(site, 'carol')];
  for (const member of [m1, m2]) {
    const names = ['same', ...[1, 2, 3].map((i) => `${member.name}-${i}`)];
    await member.apply(...names.map((name, i) => configMap(name, { odd: String(i % 2 === 1) })));
  }
  await m2.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'read-only', namespace: 'default' } });
  await m1.apply(boxPod('box', namespace), talkingPod('talking', namespace));
});

after(async () => {
  for (const side of [alice, bob, carol]) side?.end();
  await site?.stop();
});

const through = (path: string): readonly string[] => ['--server', site.hub.url + path];

/** kubectl by Karmada's proxying path, as a person of the hub. */
async function at(side: Side, ...args: readonly string[]): Promise<Outcome> {
  return await side.run([...through(proxying), '-n', namespace, ...args]);
}

async function done(side: Side, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await at(side, ...args);
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}${stdout}`);
  return stdout;
}

async function raw(side: Side, path: string): Promise<Json> {
  const { code, stdout, stderr } = await side.run(['get', '--raw', path]);
  assert.equal(code, 0, `${path}: ${stderr}`);
  return JSON.parse(stdout);
}

/** What a request that is refused says. */
async function refused(side: Side, path: string): Promise<string> {
  const { code, stderr } = await side.run(['get', '--raw', path]);
  assert.notEqual(code, 0, path);
  return stderr;
}

/** `cluster/name resourceVersion` of each item, sorted. */
function keys(items: readonly Json[]): readonly string[] {
  return items
    .map(({ metadata }) => `${metadata.annotations[cached]}/${metadata.name} ${metadata.resourceVersion}`)
    .toSorted();
}

/** The same of what the members have. */
async function held(query = ''): Promise<readonly string[]> {
  const found: string[] = [];
  for (const member of [m1, m2]) {
    const { items } = JSON.parse((await member.request('GET', configMaps + query)).body);
    for (const { metadata } of items) found.push(`${member.name}/${metadata.name} ${metadata.resourceVersion}`);
  }
  return found.toSorted();
}

/** Waits until a list by the proxying path is what the members have. */
async function upToDate(): Promise<void> {
  await eventually('the index has what the members have', async () => {
    const [{ items }, expected] = [await raw(carol, proxying + configMaps), await held()];
    return JSON.stringify(keys(items)) === JSON.stringify(expected);
  });
}

test('nothing of a cluster is found before a ResourceRegistry selects it', async () => {
  assert.match(await refused(carol, proxying + configMaps), /NotFound|could not find|not found/);
});

test('ResourceRegistries are made, listed, watched, changed and deleted with kubectl, and say what is indexed', async () => {
  const file = carol.file(
    'registry.json',
    JSON.stringify(
      registry('clusters', {
        targetCluster: { clusterNames: ['m1', 'm2'] },
        resourceSelectors: [
          { apiVersion: 'v1', kind: 'ConfigMap' },
          { apiVersion: 'v1', kind: 'Pod' },
        ],
      }),
    ),
  );
  const applied = await carol.run(['apply', '-f', file]);
  assert.match(applied.stdout, /resourceregistry.*clusters created/, applied.stderr);
  await complete(site, 'clusters', 2);
  assert.equal((await registryCondition(site, 'clusters', 'Accepted'))?.status, 'True');
  const shown = await carol.run(['get', 'resourceregistries.v1alpha1.search.karmada.io', '-o', 'yaml']);
  assert.match(shown.stdout, /apiVersion: search\.karmada\.io\/v1alpha1\n/, shown.stderr);
  assert.doesNotMatch(shown.stdout, /search\.karmada\.io\/stored/);
  const table = await carol.run(['get', 'resourceregistries.v1alpha1.search.karmada.io']);
  assert.match(table.stdout, /^NAME\s+ACCEPTED\s+INDEXED\nclusters\s+True\s+True/, table.stderr);
  const again = await carol.run(['apply', '-f', file]);
  assert.match(again.stdout, /unchanged/, again.stderr);
  const serverSide = await carol.run(['apply', '--server-side', '--force-conflicts', '-f', file]);
  assert.match(serverSide.stdout, /serverside-applied/, serverSide.stderr);

  const watching = carol.start([
    ...['get', 'resourceregistries.v1alpha1.search.karmada.io', '-w', '--output-watch-events'],
    ...['-o', 'jsonpath={.type} {.object.apiVersion} {.object.metadata.name}{"\\n"}'],
  ]);
  await watching.until(/ADDED search\.karmada\.io\/v1alpha1 clusters/);
  const other = carol.file(
    'other.json',
    JSON.stringify(registry('nobody', { targetCluster: { clusterNames: ['mx'] } })),
  );
  assert.equal((await carol.run(['create', '-f', other])).code, 0);
  await watching.until(/ADDED search\.karmada\.io\/v1alpha1 nobody/);
  await eventually('it says that it selects nothing', async () => {
    return (await registryCondition(site, 'nobody', 'Indexed'))?.reason === 'NoCluster';
  });
  assert.equal((await carol.run(['delete', 'resourceregistries.v1alpha1.search.karmada.io', 'nobody'])).code, 0);
  await watching.until(/DELETED search\.karmada\.io\/v1alpha1 nobody/);
  await watching.stop();
  const bobs = bob.file('other.json', JSON.stringify(registry('bobs', {})));
  assert.match((await bob.run(['create', '-f', bobs])).stderr, /forbidden/i);
});

test('who may patch ResourceRegistries and not create them changes what is there and makes nothing by server-side apply (ATT-57)', async () => {
  const rules = [{ apiGroups: ['search.karmada.io'], resources: ['resourceregistries'], verbs: ['get', 'patch'] }];
  await site.hub.apply(...allowed('bob', 'patches-registries', rules));
  const file = (name: string): string =>
    bob.file('patched.json', JSON.stringify(registry(name, { targetCluster: { clusterNames: ['m1', 'm2'] } })));
  const applied = async (name: string) =>
    await bob.run(['apply', '--server-side', '--field-manager=bob', '--validate=false', '-f', file(name)]);
  await eventually('bob may patch', async () => (await applied('clusters')).code === 0);
  assert.match((await applied('new')).stderr, /cannot create resource/);
  assert.match(await refused(carol, `${searchPath}/resourceregistries/new`), /NotFound|not found/);
});

test('a registry that asks for OpenSearch is refused with the reason, and nothing is indexed because of it', async () => {
  const spec = {
    targetCluster: {},
    resourceSelectors: [{ apiVersion: 'v1', kind: 'Namespace' }],
    backendStore: {
      openSearch: { addresses: ['https://search.example:9200'], secretRef: { name: 'a', namespace: 'b' } },
    },
  };
  const file = carol.file('opensearch.json', JSON.stringify(registry('opensearch', spec)));
  assert.equal((await carol.run(['create', '-f', file])).code, 0);
  const accepted = await eventually('its status says why', async () => {
    return await registryCondition(site, 'opensearch', 'Accepted');
  });
  assert.equal(accepted.status, 'False');
  assert.equal(accepted.reason, 'BackendStoreNotSupported');
  assert.match(accepted.message, /openSearch is not supported.*remove spec\.backendStore/);
  assert.match(await refused(carol, `${proxying}/api/v1/namespaces`), /NotFound|could not find|not found/);
  assert.match(
    await refused(carol, `${searchPath}/search/opensearch/api/v1/pods`),
    /no OpenSearch behind this gateway/,
  );
});

test('search/cache answers lists, a name with one object of each cluster, selectors and pages as the members have them', async () => {
  await upToDate();
  const whole = await raw(alice, cache + configMaps);
  assert.equal(whole.kind, 'ConfigMapList');
  assert.equal(whole.apiVersion, 'v1');
  assert.deepEqual(keys(whole.items), await held());
  const named = await raw(alice, `${cache}${configMaps}/same`);
  assert.equal(named.kind, 'ConfigMapList');
  assert.deepEqual(named.items.map(({ metadata }: Json) => metadata.annotations[cached]).toSorted(), ['m1', 'm2']);
  for (const query of ['?labelSelector=odd%3Dtrue', '?fieldSelector=metadata.name%3Dm2-1'])
    assert.deepEqual(keys((await raw(alice, cache + configMaps + query)).items), await held(query), query);
  const found: Json[] = [];
  for (let token: string | undefined = ''; token !== undefined;) {
    const page: Json = await raw(alice, `${cache}${configMaps}?limit=3&continue=${encodeURIComponent(token)}`);
    assert.ok(page.items.length <= 3);
    found.push(...page.items);
    token = page.metadata.continue;
  }
  assert.deepEqual(keys(found), await held());
  // Whoever has no rights in the members sees nothing of them, by name neither.
  assert.deepEqual((await raw(bob, cache + configMaps)).items, []);
  assert.deepEqual((await raw(bob, `${cache}${configMaps}/same`)).items, []);
});

test('proxying answers gets, lists, Tables, selectors, pages and watches of kubectl as the members have them', async () => {
  await upToDate();
  const list = JSON.parse(await done(alice, 'get', 'configmaps', '--chunk-size=2', '-o', 'json'));
  assert.deepEqual(keys(list.items), await held());
  assert.match(await done(alice, 'get', 'configmaps'), /^CLUSTER\s+NAME\s+DATA\s+AGE\n(?:.*\n)*m2\s+m2-3\s+0/);
  const one = JSON.parse(await done(alice, 'get', 'configmap', 'm1-1', '-o', 'json'));
  const there = JSON.parse((await m1.request('GET', `${configMaps}/m1-1`)).body);
  assert.equal(one.metadata.annotations[cached], 'm1');
  assert.equal(one.metadata.uid, there.metadata.uid);
  for (const selector of ['-l=odd=true', '--field-selector=metadata.name=m1-2']) {
    const query = selector.startsWith('-l') ? '?labelSelector=odd%3Dtrue' : '?fieldSelector=metadata.name%3Dm1-2';
    assert.deepEqual(keys(JSON.parse(await done(alice, 'get', 'cm', selector, '-o', 'json')).items), await held(query));
  }
  assert.match((await at(alice, 'get', 'configmap', 'same')).stderr, /Conflict.*more than one cluster: m1, m2/);
  assert.match((await at(alice, 'get', 'configmap', 'nowhere')).stderr, /NotFound/);
  assert.match(await refused(bob, `${proxying}${configMaps}/m1-1`), /NotFound/);
  assert.deepEqual((await raw(bob, proxying + configMaps)).items, []);

  const json = 'jsonpath={.type} {.object.metadata.name} {.object.metadata.annotations}{"\\n"}';
  const watching = alice.start([
    ...[...through(proxying), '-n', namespace, 'get', 'configmaps', '-w', '--output-watch-events', '-o', json],
  ]);
  await watching.until(/ADDED m2-3 /);
  await m2.apply(configMap('watched'));
  await watching.until(/ADDED watched .*cached-from-cluster":"m2"/);
  assert.equal((await m2.request('DELETE', `${configMaps}/watched`)).status, 200);
  await watching.until(/DELETED watched .*cached-from-cluster":"m2"/);
  await watching.stop();
});

test('writes go to the one cluster that has the object, as the caller and with its rights there', async () => {
  await upToDate();
  const mark = await m2.auditMark();
  assert.match(await done(alice, 'label', 'configmap', 'm2-1', 'by=alice'), /labeled/);
  const [event] = await m2.waitForAudit(({ verb, objectRef }) => verb === 'patch' && objectRef?.name === 'm2-1', {
    mark,
  });
  assert.equal(event!.impersonatedUser?.username, 'alice');
  assert.ok(event!.user.username !== 'alice', 'the gateway impersonates her');

  await upToDate();
  const before = JSON.parse(await done(alice, 'get', 'configmap', 'm2-1', '-o', 'json'));
  const changed = { ...before, data: { put: 'back' } };
  const putBack = alice.file('put.json', JSON.stringify(changed));
  assert.match(await done(alice, 'replace', '-f', putBack), /replaced/);
  const after = JSON.parse((await m2.request('GET', `${configMaps}/m2-1`)).body);
  assert.deepEqual(after.data, { put: 'back' });
  assert.equal(after.metadata.annotations, undefined, 'what the index put in is taken out');
  assert.match((await at(alice, 'replace', '-f', putBack)).stderr, /Conflict|the object has been modified/);

  const version = (cluster: string): string =>
    Buffer.from(JSON.stringify({ [cluster]: after.metadata.resourceVersion })).toString('base64url');
  const karmadas = (cluster: string): string => {
    const metadata = { ...after.metadata, resourceVersion: version(cluster) };
    return alice.file('karmadas.json', JSON.stringify({ ...after, metadata, data: { put: 'again' } }));
  };
  assert.match((await at(alice, 'replace', '-f', karmadas('m1'))).stderr, /not one of the cluster/);
  assert.match(await done(alice, 'replace', '-f', karmadas('m2')), /replaced/);

  const applied = alice.file('apply.json', JSON.stringify(configMap('m2-2', {}, { applied: 'yes' })));
  assert.match(await done(alice, 'apply', '-f', applied), /configured/);
  assert.match(await done(alice, 'apply', '--server-side', '--force-conflicts', '-f', applied), /applied/);
  assert.match(await done(alice, 'patch', 'configmap', 'm2-2', '--type=json', '-p=[]'), /patched|no change/);
  assert.match(await done(alice, 'delete', 'configmap', 'm2-3'), /deleted/);
  assert.equal((await m2.request('GET', `${configMaps}/m2-3`)).status, 404);

  const created = await at(alice, 'create', 'configmap', 'new');
  assert.match(created.stderr, /MethodNotAllowed|create is not supported on configmaps/);
  for (const member of [m1, m2]) assert.equal((await member.request('GET', `${configMaps}/new`)).status, 404);
  assert.match((await at(alice, 'label', 'configmap', 'same', 'x=y')).stderr, /Conflict/);
  const bobs = bob.file('put.json', JSON.stringify(after));
  const bobsPut = await bob.run(['replace', '--raw', `${proxying}${configMaps}/m2-1`, '-f', bobs]);
  assert.match(bobsPut.stderr, /NotFound/);
  const elsewhere = await alice.run([...through(proxying), '-n', 'default', 'label', 'configmap', 'read-only', 'x=y']);
  assert.match(elsewhere.stderr, /User "alice" cannot patch resource "configmaps"/, 'the member refuses it');
});

test('logs, exec and port-forward reach a pod through the cluster that has it', async () => {
  await eventually(
    'the pods run',
    async () => {
      const { items } = await raw(carol, `${proxying}/api/v1/namespaces/${namespace}/pods`);
      return items.length === 2 && items.every(({ status }: Json) => status.phase === 'Running');
    },
    { timeoutMs: 60_000, everyMs: 200 },
  );
  assert.match(await done(alice, 'logs', 'talking', '-c', 'left'), /left 1\n.*left end/s);
  const mark = await m1.auditMark();
  assert.equal(await done(alice, 'exec', 'box', '--', 'echo', 'hello'), 'hello\n');
  const [event] = await m1.waitForAudit(({ objectRef }) => objectRef?.subresource === 'exec', { mark });
  assert.equal(event!.impersonatedUser?.username, 'alice');
  const forward = alice.start([...through(proxying), '-n', namespace, 'port-forward', 'pod/box', ':8080']);
  await forward.until(/Forwarding from 127\.0\.0\.1:\d+ -> 8080/);
  await forward.stop();
  assert.match(
    await refused(bob, `${proxying}/api/v1/namespaces/${namespace}/pods/talking/log?container=left`),
    /NotFound/,
  );
  const asOther = await alice.run([...through(proxying), '-n', namespace, '--as', 'carol', 'exec', 'box', '--', 'id']);
  assert.match(asOther.stderr, /cannot impersonate/);
});

test("resourceVersions and continue tokens of Karmada's own search are answered 410, so that clients list again", async () => {
  const version = Buffer.from('{"m1":"5","m2":"7"}').toString('base64url');
  const token = Buffer.from(JSON.stringify({ rv: version, cluster: 'm2' })).toString('base64url');
  for (const path of [proxying, cache]) {
    assert.match(
      await refused(carol, `${path}${configMaps}?continue=${token}`),
      /continue token was not issued by this index/,
    );
    assert.match(
      await refused(carol, `${path}${configMaps}?resourceVersion=${version}`),
      /was not issued by this index/,
    );
    assert.match(
      await refused(carol, `${path}${configMaps}?watch=1&resourceVersion=${version}`),
      /was not issued by this index/,
    );
  }
  const zero = await raw(carol, `${proxying}${configMaps}?resourceVersion=0`);
  assert.deepEqual(keys(zero.items), await held());
});

test("karmadactl's requests to members, by the path of each cluster on the gateway, see what the member has", async () => {
  for (const member of [m1, m2]) {
    const path = `/apis/cluster.karmada.io/v1alpha1/clusters/${member.name}/proxy`;
    const side = hubSide(site, 'alice', { url: site.gateway.url, caFile: site.gateway.caFile, path });
    const { stdout, stderr } = await side.run(['get', 'configmaps', '-n', namespace]);
    assert.match(stdout, new RegExp(`^NAME\\s+DATA\\s+AGE\\n(?:.*\\n)*${member.name}-1\\s`), stderr);
    side.end();
  }
});
