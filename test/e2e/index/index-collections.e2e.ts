// Collections of one's own, on real members: defined by objects of the hub while the gateway runs, listed, watched and
// asked by owner with kubectl. Whoever has no rights in a member learns nothing of it by them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { collectionDefinition } from '../../../import/definitions/collections.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { clusterSecret, gatewayAccount, gatewaySubject } from '../../hub/objects.ts';
import { eventually } from '../../site/polling.ts';
import { lines, startHubIndexSite, type HubIndexSite } from './hub-index-site.ts';
import { grantedClusterRole, grantedRole, leaseRules } from '../../site/rbac.ts';

const collections = '/apis/clusterpedia.io/v1beta1/collectionresources';
const definitions = '/apis/index.portcullis.io/v1alpha1/collectionresources';
let all: HubIndexSite;
let m1: Member;
let m2: Member;

function collection(name: string, ...resourceTypes: readonly object[]): object {
  return { apiVersion: 'index.portcullis.io/v1alpha1', kind: 'CollectionResource', metadata: { name }, resourceTypes };
}
const maps = { group: '', version: 'v1', resource: 'configmaps' };
const policies = { group: 'networking.k8s.io', resource: '*' };

function configMap(name: string, owner?: object): object {
  const ownerReferences = owner === undefined ? [] : [owner];
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team-a', ownerReferences } };
}
function networkPolicy(name: string, owner?: object): object {
  const ownerReferences = owner === undefined ? [] : [owner];
  const metadata = { name, namespace: 'team-a', ownerReferences };
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec: { podSelector: {} } };
}

before(async () => {
  const role = 'portcullis-collections';
  all = await startHubIndexSite({
    path: '',
    objects: (plane) => [
      collectionDefinition,
      ...grantedClusterRole(
        role,
        [
          { apiGroups: ['index.portcullis.io'], resources: ['collectionresources'], verbs: ['list', 'watch'] },
          { apiGroups: ['index.portcullis.io'], resources: ['collectionresources/status'], verbs: ['patch'] },
        ],
        gatewaySubject,
      ),
      ...grantedRole(gatewayAccount.namespace, role, leaseRules(role), gatewaySubject),
      clusterSecret(plane.member('m1')),
      clusterSecret(plane.member('m2')),
    ],
    gateway: {
      args: [
        ...['--hub-collections', '--collections-lease', `${gatewayAccount.namespace}/${role}`],
        ...['--index-resources', 'configmaps,networkpolicies.networking.k8s.io,services'],
      ],
      config: { indexCollections: [{ name: 'from-file', resourceTypes: [{ group: '', resource: 'services' }] }] },
    },
  });
  [m1, m2] = [all.site.plane.member('m1'), all.site.plane.member('m2')];
  await m1.apply(configMap('m1-map'), networkPolicy('m1-policy'));
  await m2.apply(networkPolicy('m2-policy'));
  await eventually(
    'the hub serves definitions',
    async () => (await all.site.hub.request('GET', definitions)).status === 200,
  );
  await all.site.hub.apply(collection('net', policies, maps), collection('only-maps', maps));
});

after(() => all?.stop());

/** Kinds and names of a collection's items, for those that the tests made. */
async function items(query: string, who: 'alice' | 'bob' = 'alice'): Promise<readonly string[]> {
  const { status, body } = await all.ask(`${collections}/${query}`, who);
  assert.equal(status, 200, body.toString());
  const found = JSON.parse(body.toString()) as { items: { kind: string; metadata: { name: string } }[] };
  return found.items
    .map(({ kind, metadata }) => `${kind}/${metadata.name}`)
    .filter((text) => /m\d-/.test(text))
    .toSorted();
}

test('objects of the hub and the configuration file define collections, and edits take effect', async () => {
  await eventually(
    'net has its items',
    async () => {
      const found = await items('net?namespaces=team-a').catch(() => []);
      return found.join() === 'ConfigMap/m1-map,NetworkPolicy/m1-policy,NetworkPolicy/m2-policy';
    },
    { timeoutMs: 60_000, everyMs: 250 },
  );
  const table = await lines(all.alice, 'get', 'collectionresources.clusterpedia.io');
  assert.ok(
    table.some((line) => /^net\s+.*networkpolicies\.networking\.k8s\.io/.test(line)),
    table.join('\n'),
  );
  assert.deepEqual(
    table.map((line) => line.split(' ')[0]),
    ['NAME', 'any', 'from-file', 'kuberesources', 'net', 'only-maps', 'workloads'],
  );
  const rows = await lines(all.alice, 'get', 'collectionresources.clusterpedia.io', 'net');
  assert.ok(
    rows.some((line) => /^m2\s+networking\.k8s\.io\s+v1\s+NetworkPolicy\s+team-a\s+m2-policy\s/.test(line)),
    rows.join('\n'),
  );
  await all.site.hub.apply(collection('only-maps', policies));
  await eventually(
    'the edit counts',
    async () =>
      (await items('only-maps?namespaces=team-a')).join() === 'NetworkPolicy/m1-policy,NetworkPolicy/m2-policy',
  );
  const refused = await all.site.hub.request('POST', definitions, collection('workloads', maps));
  assert.equal(refused.status, 422, refused.body);
  assert.match(refused.body, /are built in/);
});

/** Condition, status, reason and message of a definition, as kubectl and a person see them. */
async function said(name: string, type: string): Promise<string> {
  const { status, body } = await all.site.hub.request('GET', `${definitions}/${name}`);
  assert.equal(status, 200, body);
  const object = JSON.parse(body) as { status?: { conditions?: Readonly<Record<string, string>>[] } };
  const found = object.status?.conditions?.find((each) => each['type'] === type);
  return found === undefined ? '' : `${found['status']} ${found['reason']} ${found['message']}`.trimEnd();
}

test('the status of a definition says which types are indexed and which no cluster has, and nothing rewrites it', async () => {
  const gadgets = { group: 'example.io', resource: 'gadgets' };
  await all.site.hub.apply(collection('some', maps, gadgets, policies), collection('wrong', { resource: 'Pods' }));
  await eventually(
    'the type that no cluster has',
    async () => (await said('some', 'Indexed')) === 'False UnknownTypes indexed of no cluster: gadgets.example.io',
    { timeoutMs: 30_000, everyMs: 100 },
  );
  assert.equal(await said('some', 'Accepted'), 'True Accepted');
  await eventually('net is complete', async () => (await said('net', 'Indexed')) === 'True Complete');
  await eventually('what is wrong', async () =>
    (await said('wrong', 'Accepted')).startsWith('False InvalidDefinition resourceTypes[0].resource is no plural name'),
  );
  const version = async (): Promise<string> => (await all.site.hub.request('GET', `${definitions}/net`)).body;
  const before = await version();
  await m1.apply(configMap('m1-more'));
  await eventually('the index has it', async () => (await items('net?names=m1-more')).length === 1);
  await all.site.hub.apply(collection('some', maps));
  await eventually('an edit is told', async () => (await said('some', 'Indexed')) === 'True Complete');
  assert.equal(await version(), before);
  for (const name of ['some', 'wrong'])
    assert.equal((await all.site.hub.request('DELETE', `${definitions}/${name}`)).status, 200);
  await m1.request('DELETE', '/api/v1/namespaces/team-a/configmaps/m1-more');
});

test('kubectl watches a collection: objects of all its types as they come and go', async () => {
  const watching = all.alice.start([
    'get',
    'collectionresources.clusterpedia.io',
    'net',
    '-w',
    '--output-watch-events',
  ]);
  await watching.until(/m1-map/);
  await m2.apply(configMap('m2-map'));
  await m1.apply(networkPolicy('m1-later'));
  await watching.until(/ADDED\s+m2\s+v1\s+ConfigMap\s+team-a\s+m2-map/);
  await watching.until(/ADDED\s+m1\s+networking\.k8s\.io\s+v1\s+NetworkPolicy\s+team-a\s+m1-later/);
  await m1.request('DELETE', '/apis/networking.k8s.io/v1/namespaces/team-a/networkpolicies/m1-later');
  await watching.until(/DELETED\s+m1\s+networking\.k8s\.io\s+v1\s+NetworkPolicy\s+team-a\s+m1-later/);
  await watching.stop();
});

test('a watch goes on from a list, and ends when the collection is redefined', async () => {
  const listed = JSON.parse((await all.ask(`${collections}/only-maps`)).body.toString()) as {
    metadata: { resourceVersion: string };
  };
  const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${listed.metadata.resourceVersion}`;
  const watching = all.alice.start(['get', '--raw', `${collections}/only-maps?${query}`]);
  await m1.apply(networkPolicy('m1-after'));
  const begun = await watching.until(
    /"type":"ADDED".*m1-after[^]*"type":"BOOKMARK","object":{"kind":"CollectionResource"/,
  );
  assert.doesNotMatch(begun, /"name":"m1-policy"/, 'what the list had is not told again');
  await all.site.hub.apply(collection('only-maps', policies, maps));
  await watching.until(/"type":"ERROR".*"code":410/);
  const { stdout } = await watching.finish();
  assert.match(stdout, /the collection has other types now: list again/);
  assert.equal((await all.ask(`${collections}?watch=1`)).status, 405);
});

test('what an object controls is one question over all types of a collection', async () => {
  const owner = JSON.parse((await m1.request('GET', '/api/v1/namespaces/team-a/configmaps/m1-map')).body) as {
    metadata: { uid: string };
  };
  const { uid } = owner.metadata;
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'm1-map', uid, controller: true };
  await m1.apply(configMap('m1-owned', reference), networkPolicy('m1-owned', reference));
  const wanted = 'ConfigMap/m1-owned,NetworkPolicy/m1-owned';
  await eventually('by uid', async () => (await items(`net?ownerUID=${uid}`)).join() === wanted);
  assert.equal((await items('net?ownerName=m1-map&ownerGR=configmaps')).join(), wanted);
  assert.deepEqual(await items(`from-file?ownerUID=${uid}`), []);
  assert.deepEqual(await items(`net?ownerUID=${uid}`, 'bob'), []);
});

test('who has no rights in the members learns nothing of them by a collection', async () => {
  for (const path of ['', '/net', '/only-maps', '/from-file', '/kuberesources', '/net?ownerName=m1-map']) {
    const { status, body, headers } = await all.ask(collections + path, 'bob');
    assert.equal(status, 200, body.toString());
    assert.doesNotMatch(body.toString(), /m1-|m2-|configmaps|networkpolicies|"cluster-name"/, path);
    assert.doesNotMatch(JSON.stringify(headers['warning'] ?? ''), /configmaps|networkpolicies/);
  }
  const watching = all.bob.start([
    'get',
    '--raw',
    `${collections}/net?watch=1&allowWatchBookmarks=true&timeoutSeconds=8`,
  ]);
  await watching.until(/BOOKMARK/);
  await m2.apply(configMap('m2-unseen'));
  await eventually('alice sees it', async () => (await items('net?names=m2-unseen')).length === 1);
  const { stdout } = await watching.finish();
  assert.doesNotMatch(stdout, /ADDED|m2-unseen/);
});
