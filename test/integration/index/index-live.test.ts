// Types that the index does not hold, below the paths of the index: they are read from the clusters at the time of the
// request, as the caller. Here the index holds pods, and of one cluster services.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite } from './index-site.ts';
import type { Answer, IndexedList, IndexedObject, IndexSite } from './index-site.ts';
import { clusterRole } from '../../site/rbac.ts';
import { rulesText } from '../../site/site.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const proxy = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';
const resources = '/apis/clusterpedia.io/v1beta1/resources';
const maps = '/api/v1/configmaps';
const inTeam = '/api/v1/namespaces/team/configmaps';
const clusterName = 'shadow.clusterpedia.io/cluster-name';
const notice = /^299 - "configmaps are not in the index, so the clusters themselves were asked"/;

const folder = tempDir('live');
let site: IndexSite;

function configMap(name: string, data: Readonly<Record<string, string>> = {}): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team' }, data };
}

const secretsOfMixed: readonly JsonObject[] = [
  clusterRole('secrets', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }]),
  binding('mixed', 'secrets', 'mixed'),
];

function seedOf(cluster: string): readonly JsonObject[] {
  return [
    ...['admin', 'team', 'other'].map((user) => binding(user, 'cluster-admin', user)),
    // A user whom only the RBAC of one cluster lets see anything.
    ...(cluster === 'alpha' ? [binding('dev', 'view', 'dev'), binding('mixed', 'view', 'mixed')] : secretsOfMixed),
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } },
    configMap(`of-${cluster}`),
    configMap('both'),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'team' },
      spec: { ports: [{ port: 80 }] },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'secret', namespace: 'team' }, data: { key: 'aGlkZGVu' } },
    {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `event-of-${cluster}`, namespace: 'team' },
      involvedObject: { kind: 'Pod', namespace: 'team', name: 'web' },
      reason: 'Started',
    },
  ];
}

function rulesFile(): string {
  const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], nonResourceURLs: ['*'] };
  const user = (name: string): object => ({ subjects: [{ kind: 'User', name }] });
  const ofIndex = {
    verbs: ['get', 'list', 'watch'],
    apiGroups: ['search.portcullis.io', 'clusterpedia.io'],
    resources: ['indexes/proxy', 'resources'],
  };
  const rules = [
    { ...user('admin'), ...everything },
    ...['dev', 'mixed'].map((name) => ({ ...user(name), ...everything })),
    { ...user('team'), ...everything, nonResourceURLs: undefined, clusters: ['alpha'] },
    ...['team', 'reader'].map((name) => ({ ...user(name), ...ofIndex })),
  ];
  const file = join(folder, 'rules.yaml');
  writeFileSync(file, rulesText(rules), { mode: 0o600 });
  return file;
}

before(async () => {
  const seeds = { alpha: seedOf('alpha'), beta: seedOf('beta') };
  const users = ['admin', 'dev', 'mixed', 'team', 'reader'];
  const flags = {
    indexResources: 'pods',
    indexExclude: 'leases.coordination.k8s.io',
    indexRules: [{ clusters: 'alpha', exclude: ['clusterroles.rbac.authorization.k8s.io'] }],
    authorizationRules: rulesFile(),
  };
  const labels = { alpha: { 'search.portcullis.io/resources': 'pods_services' } };
  site = await startIndexSite(users, seeds, flags, undefined, labels);
  await eventually('the types of both', async () =>
    (await Promise.all(['alpha', 'beta'].map((name) => site.ask(`${proxy}/clusters/${name}${maps}`)))).every(
      ({ status }) => status === 200,
    ),
  );
});
after(async () => {
  await site?.close();
});

const namesOf = (answer: Answer): readonly string[] => {
  assert.equal(answer.status, 200, answer.text);
  return answer
    .json<IndexedList>()
    .items.map(({ metadata: { name, annotations } }) => `${annotations?.[clusterName]} ${name}`)
    .filter((text) => !text.includes('kube-root-ca'));
};
const warnings = (answer: Answer): string => String(answer.headers['warning'] ?? '');
const everything = ['alpha both', 'alpha of-alpha', 'beta both', 'beta of-beta'];

test('a list has the objects of every cluster, and a warning says that the clusters were asked', async () => {
  for (const base of [proxy, resources]) {
    const answer = await site.ask(base + maps);
    assert.deepEqual(namesOf(answer), everything);
    assert.match(warnings(answer), notice);
    assert.equal(answer.json<IndexedList>().kind, 'ConfigMapList');
  }
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const table = await site.ask(proxy + inTeam, 'admin', { headers: { accept } });
  const { columnDefinitions, rows } = table.json<{
    columnDefinitions: { name: string }[];
    rows: { cells: unknown[] }[];
  }>();
  assert.deepEqual(
    columnDefinitions.slice(0, 2).map(({ name }) => name),
    ['Cluster', 'Name'],
  );
  assert.ok(rows.some(({ cells }) => cells[0] === 'beta' && cells[1] === 'of-beta'));
});

test('pages of all clusters are together the whole list', async () => {
  const found: string[] = [];
  let token = '';
  do {
    const answer = await site.ask(`${proxy}${inTeam}?limit=1${token === '' ? '' : `&continue=${token}`}`);
    const names = namesOf(answer);
    assert.ok(names.length <= 1);
    found.push(...names);
    token = encodeURIComponent(answer.json<IndexedList>().metadata.continue ?? '');
  } while (token !== '');
  assert.deepEqual(found, everything);
});

test('an object that one cluster has is that object; of two the clusters are named; none is 404', async () => {
  const one = await site.ask(`${proxy}${inTeam}/of-beta`);
  assert.equal(one.json<IndexedObject>().metadata.annotations?.[clusterName], 'beta');
  assert.match(warnings(one), notice);
  const two = await site.ask(`${proxy}${inTeam}/both`);
  assert.equal(two.status, 409);
  assert.match(two.text, /alpha, beta/);
  assert.equal((await site.ask(`${proxy}${inTeam}/none`)).status, 404);
});

test('the RBAC of each cluster decides: who may read in one gets its objects, and is told of the other', async () => {
  const answer = await site.ask(proxy + inTeam, 'dev');
  assert.deepEqual(namesOf(answer), ['alpha both', 'alpha of-alpha']);
  assert.match(warnings(answer), /cluster beta: configmaps is forbidden: User \\?"dev\\?"/);
  const secrets = await site.ask(`${proxy}/api/v1/namespaces/team/secrets`, 'dev');
  assert.equal(secrets.status, 403, 'the role view has no Secrets');
  assert.doesNotMatch(secrets.text, /aGlkZGVu/);
});

test('a cluster that the rules do not give is nowhere in the answer', async () => {
  const path = `${proxy}${inTeam}`;
  for (const target of [path, `${path}?clusters=alpha,beta`, `${path}/of-alpha`]) {
    const answer = await site.ask(target, 'team');
    assert.equal(answer.status, 200, answer.text);
    assert.doesNotMatch(answer.text + JSON.stringify(answer.headers), /beta/);
  }
  const text = async (cluster: string): Promise<string> => {
    const answer = await site.ask(`${proxy}/clusters/${cluster}${maps}`, 'team');
    assert.equal(answer.status, 404);
    return answer.text.replaceAll(cluster, 'x');
  };
  assert.equal(await text('beta'), await text('none'), 'as of a cluster that does not exist');
});

test('who may ask no cluster gets the answer of a type that nobody serves', async () => {
  const known = await site.ask(`${proxy}/api/v1/configmaps`, 'reader');
  const unknown = await site.ask(`${proxy}/api/v1/configmops`, 'reader');
  assert.equal(known.status, 404);
  assert.equal(known.text.replaceAll('configmaps', 'x'), unknown.text.replaceAll('configmops', 'x'));
  assert.equal(warnings(known), warnings(unknown));
  for (const query of ['?watch=true', '?limit=1'])
    assert.equal((await site.ask(`${proxy}${maps}${query}`, 'reader')).status, 404, query);
});

test('clusters are chosen by clusters=, by their labels and by the path', async () => {
  assert.deepEqual(namesOf(await site.ask(`${proxy}${maps}?clusters=beta`)), ['beta both', 'beta of-beta']);
  assert.deepEqual(namesOf(await site.ask(`${resources}/clusters/beta${maps}`)), ['beta both', 'beta of-beta']);
  assert.deepEqual(namesOf(await site.ask(`${proxy}${maps}?clusterSelector=tier%3Dprod&clusters=beta`)), []);
  assert.equal((await site.ask(`${proxy}${maps}?clusters=none`)).status, 404);
});

test('parameters and search labels that only the index has are refused, so that nobody takes more for what they asked', async () => {
  for (const query of [
    'orderby=name',
    'names=both',
    'namespaces=team',
    'ownerUID=1',
    'filter=data.a%3D1',
    'fields=data',
    'onlyMetadata=true',
    'nameContains=of',
    'text=x',
    'since=2026-01-01T00:00:00Z',
    'withRemainingCount',
    'injectEvents=true',
    `labelSelector=${encodeURIComponent('search.clusterpedia.io/names=both')}`,
    `labelSelector=${encodeURIComponent('internalstorage.clusterpedia.io/anything=1')}`,
  ]) {
    const answer = await site.ask(`${proxy}${maps}?${query}`);
    assert.equal(answer.status, 400, `${query}: ${answer.text}`);
    assert.match(answer.text, /is only for types that are in the index/, query);
  }
  assert.equal(
    (await site.ask(`${proxy}${maps}?labelSelector=%21a`)).status,
    200,
    'a label selector is not of the index',
  );
});

test('a watch has the events of every cluster and follows what changes', async () => {
  const watch = site.watch(`${proxy}${inTeam}?watch=true`);
  try {
    const first = await watch.until(4);
    const text = ({ type, object }: (typeof first)[number]): string =>
      `${type} ${object.metadata.annotations?.[clusterName]} ${object.metadata.name}`;
    assert.deepEqual(
      first.map(text).toSorted(),
      everything.map((each) => `ADDED ${each}`),
    );
    const made = await site.ask(`/clusters/beta/proxy${inTeam}`, 'admin', { method: 'POST', body: configMap('later') });
    assert.equal(made.status, 201);
    assert.equal(text((await watch.until(5))[4]!), 'ADDED beta later');
    const list = await site.ask(`${proxy}${inTeam}`);
    const { resourceVersion } = list.json<IndexedList>().metadata;
    const next = site.watch(`${proxy}${inTeam}?watch=true&resourceVersion=${encodeURIComponent(resourceVersion)}`);
    const path = `/clusters/beta/proxy${inTeam}/later`;
    assert.equal((await site.ask(path, 'admin', { method: 'DELETE' })).status, 200);
    assert.equal(text((await next.until(1))[0]!), 'DELETED beta later');
    next.close();
  } finally {
    watch.close();
  }
});

test('a version or a token of the index is answered 410 or 400, never as one of the clusters', async () => {
  const { resourceVersion } = (await site.ask(`${proxy}/api/v1/pods`)).json<IndexedList>().metadata;
  const watched = await site.ask(`${proxy}${maps}?watch=true&resourceVersion=${resourceVersion}`);
  assert.ok(watched.status === 410 || watched.status === 400, `${watched.status} ${watched.text}`);
  assert.equal((await site.ask(`${proxy}${maps}?continue=5`)).status, 400);
});

test('writes stay refused', async () => {
  const answer = await site.ask(`${proxy}${inTeam}`, 'admin', { method: 'POST', body: configMap('x') });
  assert.equal(answer.status, 405);
});

test('the Events about an object come from the clusters; who may ask none gets an empty list, as kubectl describe needs', async () => {
  const selector = encodeURIComponent('involvedObject.name=web,involvedObject.namespace=team');
  const path = `${proxy}/api/v1/namespaces/team/events?fieldSelector=${selector}`;
  assert.deepEqual(namesOf(await site.ask(path)), ['alpha event-of-alpha', 'beta event-of-beta']);
  const none = await site.ask(path, 'reader');
  assert.equal(none.json<IndexedList>().kind, 'EventList');
  assert.deepEqual(none.json<IndexedList>().items, []);
});

test('a type that the index holds of one cluster only comes from the index, and a warning names the other', async () => {
  const services = '/api/v1/namespaces/team/services';
  const answer = await site.ask(proxy + services);
  assert.deepEqual(namesOf(answer), ['alpha web']);
  assert.match(
    warnings(answer),
    /^299 - "services of cluster beta are not in the index; ask \/clusters\/<name>\/proxy"$/,
  );
  assert.deepEqual(namesOf(await site.ask(`${proxy}/clusters/beta${services}`)), ['beta web']);
  assert.equal(warnings(await site.ask(`${proxy}${services}?clusters=alpha`)), '');
  for (const user of ['team', 'dev']) {
    const other = await site.ask(proxy + services, user);
    assert.deepEqual(namesOf(other), ['alpha web']);
    assert.doesNotMatch(other.text + JSON.stringify(other.headers), /beta/, `${user} may read none of beta`);
  }
});

test('a type that the operator leaves out of the index is in no answer', async () => {
  for (const below of ['', '/clusters/alpha']) {
    const answer = await site.ask(`${proxy}${below}/apis/coordination.k8s.io/v1/leases`);
    assert.equal(answer.status, 404, answer.text);
    assert.match(answer.text, /leases\.coordination\.k8s\.io in version v1 is not indexed/);
  }
  assert.equal((await site.ask(`${proxy}/apis/coordination.k8s.io/v1`)).status, 404, 'nor in discovery');
});

test('a type that is left out of the index of one cluster comes from the others alone, though it decides rights', async () => {
  const answer = await site.ask(`${proxy}/apis/rbac.authorization.k8s.io/v1/clusterroles?limit=500`);
  assert.deepEqual([...new Set(namesOf(answer).map((text) => text.split(' ')[0]))], ['beta']);
});

test('discovery has the types that the caller may list somewhere, with the verbs that are served', async () => {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const listed = async (user: string, below = ''): Promise<ReadonlyMap<string, string>> => {
    const { items } = (await site.ask(`${proxy}${below}/api`, user, { headers: { accept } })).json<{
      items: { versions: { resources: { resource: string; verbs: string[] }[] }[] }[];
    }>();
    return new Map((items[0]?.versions[0]?.resources ?? []).map(({ resource, verbs }) => [resource, verbs.join()]));
  };
  const all = await listed('admin');
  for (const resource of ['pods', 'configmaps', 'secrets', 'events']) assert.equal(all.get(resource), 'get,list,watch');
  assert.equal(all.get('bindings'), undefined);
  const dev = await listed('dev');
  assert.equal(dev.get('configmaps'), 'get,list,watch');
  assert.equal(dev.get('secrets'), undefined);
  assert.deepEqual([...(await listed('reader')).keys()], []);
});

test('OpenAPI has these types, too, as kubectl explain needs; and none that the caller may not list there', async () => {
  const document = async (user: string): Promise<readonly [string, string]> => {
    const answer = await site.ask(`${proxy}/openapi/v3/api/v1`, user);
    return [Object.keys(answer.json<{ paths: object }>().paths).join('\n'), warnings(answer)];
  };
  const [paths, none] = await document('admin');
  for (const resource of ['configmaps', 'secrets']) assert.ok(paths.includes(`/${resource}`), resource);
  assert.equal(none, '');
  const lacks = 'has types that this OpenAPI document of cluster alpha lacks; ask /clusters/beta/proxy for secrets';
  for (const [user, warning] of [
    ['dev', ''],
    ['mixed', `299 - "cluster beta: ${lacks}"`],
  ] as const) {
    const [own, warned] = await document(user);
    assert.match(own, /\/configmaps/);
    assert.doesNotMatch(own, /\/secrets/);
    assert.equal(warned, warning);
  }
});
