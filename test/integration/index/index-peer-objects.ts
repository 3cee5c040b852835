// Clusterpedia's own test cases of owners, single objects, tables, types and what happens to them, over HTTP, by their
// numbers (docs/reference/clusterpedia-cases.md). The index follows the clusters, so a test that changes one waits for
// the answer, never for a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding } from './index-site.ts';
import type { Answer, IndexedList, IndexedObject, IndexSite, WatchEvent } from './index-site.ts';
import { clusterRole } from '../../site/rbac.ts';
import { customResource } from '../../site/custom-resource.ts';

const base = '/apis/clusterpedia.io/v1beta1/resources';
const freshness = '/apis/search.portcullis.io/v1alpha1/indexes/default/freshness';
const annotation = 'shadow.clusterpedia.io/cluster-name';
const apps = '/apis/apps/v1';
const gizmoKind = 'CustomResourceDefinition';

/** An owner reference; only a controller's counts. */
const owned = (kind: string, name: string, controller = true): JsonObject => ({
  apiVersion: kind === 'Node' ? 'v1' : 'apps/v1',
  kind,
  name,
  uid: `uid-${kind}-${name}`,
  controller,
});

function thing(kind: string, place: string, name: string, owners: readonly JsonObject[] = []): JsonObject {
  const selector = { matchLabels: { app: name } };
  const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'nginx' }] } };
  return {
    apiVersion: kind === 'ConfigMap' || kind === 'Node' ? 'v1' : 'apps/v1',
    kind,
    metadata: {
      name,
      ...(place === '' ? {} : { namespace: place }),
      labels: { owners: 'yes' },
      uid: `uid-${kind}-${name}`,
      ...(owners.length > 0 ? { ownerReferences: [...owners] } : {}),
    },
    ...(kind === 'ConfigMap' || kind === 'Node' ? {} : { spec: { selector, template } }),
  };
}

const kindOf = (name: string): string => name[0]!.toUpperCase() + name.slice(1);

function gizmos(...served: readonly string[]): JsonObject {
  return definition('gizmo', served);
}

function definition(name: string, served: readonly string[]): JsonObject {
  const versions = ['v1beta2', 'v1beta1', 'v1alpha2', 'v1alpha1', 'v1'];
  return customResource(`${name}s.example.org`, kindOf(name), { versions, served });
}

/** Chains of owners, the same in both clusters. */
export const objectCaseSeeds: readonly JsonObject[] = [
  ...['own-1', 'own-2'].map((name): JsonObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
  clusterRole('only-deployments', [
    { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list', 'watch'] },
  ]),
  binding('viewer-own', 'only-deployments', 'viewer', 'own-1'),
  thing('Node', '', 'web'),
  thing('Deployment', 'own-1', 'web'),
  thing('StatefulSet', 'own-2', 'web'),
  thing('ReplicaSet', 'own-1', 'web-1', [owned('Deployment', 'web')]),
  thing('ReplicaSet', 'own-1', 'other', [owned('Deployment', 'web', false)]),
  thing('ConfigMap', 'own-1', 'near', [owned('ReplicaSet', 'web-1')]),
  // No API server would collect it; what counts is that the chain is followed whatever namespaces are asked for.
  thing('ConfigMap', 'own-2', 'far', [owned('ReplicaSet', 'web-1')]),
  thing('ConfigMap', 'own-2', 'of-set', [owned('StatefulSet', 'web')]),
  thing('ConfigMap', 'own-2', 'of-node', [owned('Node', 'web')]),
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'talks', namespace: 'own-1' },
    spec: { containers: [{ name: 'c', image: 'nginx' }], nodeName: 'web' },
    status: { phase: 'Running' },
  },
  gizmos('v1beta2', 'v1beta1', 'v1alpha2', 'v1alpha1'),
  { apiVersion: 'example.org/v1beta2', kind: 'Gizmo', metadata: { name: 'g', namespace: 'own-1' }, size: 1 },
];
/** A type of the same group that one cluster alone has. */
export const objectCaseSeedsOfOne: readonly JsonObject[] = [definition('gadget', ['v1beta2'])];
/** Types these need beside ConfigMaps, Deployments and Nodes. */
export const objectCaseTypes = 'replicasets.apps,statefulsets.apps,gizmos.example.org,gadgets.example.org';

/** Registers them. @param site the one of the file, once it runs */
export function testObjectCases(site: () => IndexSite): void {
  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    site().ask(base + path, 'admin', { headers });
  const objects = async (path: string): Promise<readonly IndexedObject[]> => {
    const answer = await get(path);
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    return answer.json<IndexedList>().items;
  };
  const names = async (path: string): Promise<string[]> =>
    (await objects(path)).map(({ metadata }) => `${metadata.annotations?.[annotation]}/${metadata.name}`).toSorted();
  const store = (cluster: string) => site().members[cluster]!.store;
  const dep = 'uid-Deployment-web';

  test('owners by UID, by name and further up, in any number of clusters (CP-088 to CP-096)', async () => {
    const sets = `${apps}/replicasets`;
    const maps = '/api/v1/configmaps';
    const chain = `ownerUID=${dep}&ownerSeniority=1`;
    assert.deepEqual(await names(`${sets}?clusters=alpha&ownerUID=${dep}`), ['alpha/web-1']);
    assert.deepEqual(await names(`${maps}?clusters=alpha&${chain}`), ['alpha/far', 'alpha/near']);
    assert.deepEqual(await names(`${maps}?clusters=alpha&ownerName=web`), ['alpha/of-node', 'alpha/of-set']);
    assert.deepEqual(await names(`${sets}?clusters=alpha&ownerName=web`), ['alpha/web-1']);
    assert.deepEqual(await names(`${sets}?clusters=alpha&ownerUID=${dep}&ownerName=nobody`), ['alpha/web-1']);
    assert.deepEqual(await names(`${maps}?clusters=alpha&ownerName=web&ownerGR=statefulsets.apps`), ['alpha/of-set']);
    assert.deepEqual(await names(`${sets}?clusters=alpha&ownerName=web&ownerGR=statefulsets.apps`), []);
    assert.equal((await get(`${maps}?clusters=alpha&ownerSeniority=1&ownerGR=deployments.apps`)).status, 400);
    assert.deepEqual(await names(`${sets}?clusters=alpha,beta&ownerUID=${dep}`), ['alpha/web-1', 'beta/web-1']);
    assert.deepEqual(await names(`${sets}?ownerUID=${dep}`), ['alpha/web-1', 'beta/web-1']);
    assert.deepEqual(await names(`${maps}?clusters=alpha&${chain}&namespaces=own-1,own-2`), [
      'alpha/far',
      'alpha/near',
    ]);
    assert.deepEqual(await names(`${maps}?clusters=alpha&${chain}&namespaces=own-2`), ['alpha/far']);
    // In those namespaces and among what has none.
    const inNs2 = `${maps}?clusters=alpha&ownerName=web&namespaces=own-2,shop`;
    assert.deepEqual(await names(inNs2), ['alpha/of-node', 'alpha/of-set']);
    assert.deepEqual(await names(`${maps}?clusters=alpha&ownerName=web&namespaces=shop`), []);
    assert.deepEqual(await names(`${sets}?clusters=alpha&ownerName=web&namespaces=own-2`), []);
  });

  test('a get is of exactly the key that is asked for, every part of it (CP-097 to CP-098)', async () => {
    const path = '/clusters/alpha/apis/apps/v1/namespaces/own-1/deployments';
    const found = (await get(`${path}/web`)).json<IndexedObject>();
    assert.deepEqual(
      [found.kind, found.apiVersion, found.metadata.namespace, found.metadata.annotations?.[annotation]],
      ['Deployment', 'apps/v1', 'own-1', 'alpha'],
    );
    for (const [part, status] of [
      [path.replace('alpha', 'alph') + '/web', 404],
      [path.replace('alpha', '') + '/web', 400],
      [path.replace('apps/v1', 'apps/v2') + '/web', 404],
      [path.replace('apps/v1', 'app/v1') + '/web', 404],
      [path.replace('own-1', 'own') + '/web', 404],
      [path.replace('own-1', 'own-2') + '/web', 404],
      [path.replace('own-1', '') + '/web', 400],
      [path.replace('deployments', 'deployment') + '/web', 404],
      [`${path}/we`, 404],
      [`${path}/WEB`, 404],
      [`${path}/we_`, 404],
      [`${path}/*`, 404],
      // A percent sign is no part of a name.
      [`${path}/web%25`, 400],
      ['/clusters//api/v1/namespaces//configmaps/', 400],
    ] as const) {
      const answer = await get(part);
      assert.equal(answer.status, status, `${part}: ${answer.text}`);
      assert.equal(answer.json<{ kind: string }>().kind, 'Status');
    }
  });

  test('a list without options is of that type in all clusters, whole and in a stable order (CP-099)', async () => {
    const all = (await objects(`${apps}/deployments`)).map(
      ({ kind, metadata }) => `${kind} ${metadata.annotations?.[annotation]}/${metadata.namespace}/${metadata.name}`,
    );
    assert.deepEqual(all, ['Deployment alpha/own-1/web', 'Deployment beta/own-1/web']);
    assert.equal((await get(`${apps}/deployments`)).json<IndexedList>().metadata.continue, undefined);
  });

  test('what is made, changed and deleted in a cluster is one row, that row changed, and no row (CP-100 to CP-102)', async () => {
    const path = `${apps}/deployments?names=life&namespaces=own-1,own-2`;
    const byOwner = `${apps}/deployments?ownerUID=`;
    const life = (place: string, replicas: number): JsonObject => {
      const made = thing('Deployment', place, 'life', [owned('Other', 'first', false), owned('Other', 'second')]);
      return { ...made, spec: { ...(made['spec'] as JsonObject), replicas } };
    };
    for (const place of ['own-1', 'own-2'])
      for (const cluster of ['alpha', 'beta']) store(cluster).apply(life(place, 1));
    await eventually('four rows', async () => (await objects(path)).length === 4);
    store('alpha').apply(life('own-1', 5));
    const changed = await eventually('the change', async () => {
      const found = await objects(path);
      const replicas = found.map((each) => (each as unknown as { spec: { replicas: number } }).spec.replicas);
      return replicas.includes(5) ? replicas : undefined;
    });
    assert.deepEqual(changed.toSorted(), [1, 1, 1, 5]);
    // The controller is the owner, not whoever stands first.
    assert.equal((await objects(`${byOwner}uid-Other-second`)).length, 4);
    assert.equal((await objects(`${byOwner}uid-Other-first`)).length, 0);
    // The index itself deletes nothing, with a key or without.
    for (const target of ['/namespaces/own-1/deployments/life', '/namespaces/own-1/deployments', '/deployments']) {
      const answer = await site().ask(`${base}/clusters/alpha${apps}${target}`, 'admin', { method: 'DELETE' });
      assert.equal(answer.status, 405, target);
    }
    store('alpha').remove('Deployment', 'own-1', 'life', { gracePeriodSeconds: 0 });
    await eventually('the deletion', async () => (await objects(path)).length === 3);
    assert.equal((await get(`/clusters/alpha${apps}/namespaces/own-1/deployments/life`)).status, 404);
    for (const [cluster, place] of [
      ['alpha', 'own-2'],
      ['beta', 'own-1'],
      ['beta', 'own-2'],
    ] as const)
      assert.equal((await get(`/clusters/${cluster}${apps}/namespaces/${place}/deployments/life`)).status, 200);
  });

  test('a Table has the cluster first; what cannot be made of it is told to whoever asked (CP-141 to CP-142)', async () => {
    const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    for (const type of [`${apps}/deployments`, '/apis/example.org/v1beta1/gizmos']) {
      const table = (await get(type, asTable)).json<{
        columnDefinitions: { name: string; type: string }[];
        rows: { cells: unknown[] }[];
      }>();
      assert.deepEqual(
        table.columnDefinitions.slice(0, 2).map((column) => [column.name, column.type]),
        [
          ['Cluster', 'string'],
          ['Name', 'string'],
        ],
      );
      assert.deepEqual(table.rows.map(({ cells }) => cells[0]).toSorted()[0], 'alpha');
    }
    const bad = await get(`${apps}/deployments?includeObject=Half`, asTable);
    assert.equal(bad.status, 400);
    assert.match(bad.text, /includeObject must be None, Metadata or Object/);
    const other = { accept: 'application/json;as=Table;v=v2;g=meta.k8s.io' };
    assert.equal((await get(`${apps}/deployments`, other)).status, 406);
  });

  test('other parameters disturb nothing, an enhanced field selector is read as ours, a path has a cluster or none (CP-143 to CP-144, CP-146)', async () => {
    assert.equal((await get('/api?key1=value1&key2=value2')).text, (await get('/api')).text);
    const list = '/api/v1/namespaces/ns-1/configmaps';
    // kube-apiserver itself would refuse this path in a field selector of ConfigMaps.
    const selected = await names(`${list}?key1=value1&fieldSelector=data.field11%3Dvalue2&key2=value2`);
    assert.deepEqual(selected, ['alpha/name-2']);
    assert.equal((await get(`${list}?key1=value1&fieldSelector=data.%3Dvalue2`)).status, 400);
    assert.deepEqual(await names(`${list}?names=name-1`), ['alpha/name-1', 'beta/name-1']);
    assert.deepEqual(await names(`/clusters/beta${list}?names=name-1`), ['beta/name-1']);
  });

  test('one row a version serves all; a version nobody serves is none (CP-149 to CP-157, CP-160 to CP-161)', async () => {
    // A built-in type is kept as its cluster prefers it, whatever version is asked for.
    assert.equal((await objects(`${apps}/deployments?names=web`))[0]!.apiVersion, 'apps/v1');
    assert.match((await get('/apis/apps/v1beta1/deployments')).text, /in version v1beta1 is not indexed/);
    // Of a custom type every served version is a view of the same row, where Clusterpedia keeps one row for each of the
    // first three.
    for (const version of ['v1beta2', 'v1beta1', 'v1alpha2', 'v1alpha1']) {
      const [found, ...more] = await objects(`/clusters/alpha/apis/example.org/${version}/gizmos`);
      assert.deepEqual([found!.apiVersion, more.length], [`example.org/${version}`, 0]);
    }
    // The document of the group is that of the cluster with most of its types: gadgets are a type of one cluster only.
    const openapi = await get('/openapi/v3/apis/example.org/v1beta2');
    for (const kind of ['Gadget', 'Gizmo']) assert.ok(openapi.text.includes(`"${kind}"`), kind);
    assert.equal(openapi.headers['warning'], undefined);
    for (const version of ['v1', 'v2beta1']) {
      const answer = await get(`/apis/example.org/${version}/gizmos`);
      assert.equal(answer.status, 404);
      assert.match(answer.text, /not indexed/);
    }
  });

  test('what is told of types follows what is there: served versions, and a type whose definition goes (CP-162)', async () => {
    const shown = async (): Promise<readonly unknown[]> => {
      const { clusters } = (await site().ask(`${freshness}?resource=gizmos.example.org`)).json<{
        clusters: { cluster: string; resources: { resource: string; phase: string; whole: boolean }[] }[];
      }>();
      const rows = clusters.flatMap(({ cluster, resources }) =>
        resources.map(({ resource, whole }) => `${cluster} ${resource} ${whole}`),
      );
      const discovered = await get('/apis/example.org');
      const versions = discovered.json<{ versions?: { version: string }[] }>().versions ?? [];
      return [rows, versions.map(({ version }) => version).toSorted()];
    };
    // Beta has another type of the group.
    const four = ['v1alpha1', 'v1alpha2', 'v1beta1', 'v1beta2'];
    const row = (cluster: string): string => `${cluster} gizmos.v1beta2.example.org true`;
    assert.deepEqual(await shown(), [[row('alpha'), row('beta')], four]);
    const becomes = async (wanted: readonly unknown[]): Promise<void> => {
      await eventually('types as they are', async () => {
        assert.deepEqual(await shown(), wanted);
        return true;
      });
    };
    // A version that goes in both goes from discovery; the type stays. One nobody knew changes nothing.
    for (const cluster of ['alpha', 'beta']) store(cluster).apply(gizmos('v1beta2', 'v1'));
    await becomes([
      [row('alpha'), row('beta')],
      ['v1', 'v1beta2'],
    ]);
    store('beta').remove(gizmoKind, '', 'gizmos.example.org', { gracePeriodSeconds: 0 });
    await becomes([[row('alpha')], ['v1', 'v1beta2']]);
    store('alpha').remove(gizmoKind, '', 'gizmos.example.org', { gracePeriodSeconds: 0 });
    await becomes([[], ['v1beta2']]);
    assert.equal((await get('/apis/example.org/v1beta2/gizmos')).status, 404);
  });

  test('changes of one object that come together are told as what they came to; another uid is DELETED, then ADDED (CP-163)', async () => {
    const path = `${base}/clusters/beta/api/v1/namespaces/ns-1/configmaps`;
    const from = (await site().ask(path)).json<IndexedList>().metadata.resourceVersion;
    const watching = site().watch(`${path}?watch=1&resourceVersion=${from}`, 'admin');
    const at = (name: string, step: string, uid = `uid-${name}`): JsonObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'ns-1', uid },
      data: { step },
    });
    const put = (...given: Parameters<typeof at>): unknown => store('beta').apply(at(...given));
    const remove = (name: string): void => store('beta').remove('ConfigMap', 'ns-1', name, { gracePeriodSeconds: 0 });
    const events = (name: string): readonly WatchEvent[] =>
      watching.events.filter(({ object }) => object.metadata.name === name);
    const last = (name: string): string | undefined => {
      const event = events(name).at(-1);
      return event && `${event.type} ${event.object.data?.['step']}`;
    };
    const becomes = (name: string, wanted: string): Promise<unknown> =>
      eventually(`${name}: ${wanted}`, () => {
        assert.equal(last(name), wanted, JSON.stringify(events(name)));
        return true;
      });
    const types = (name: string): string[] => events(name).map(({ type }) => type);

    put('added-updated', 'one');
    put('added-updated', 'two');
    // At once, or, where the commit fell between the two, one after the other: never an addition twice, never the older
    // last.
    await eventually('the newer', async () => last('added-updated')?.endsWith('two') === true);
    assert.ok(['ADDED', 'ADDED,MODIFIED'].includes(types('added-updated').join()), types('added-updated').join());
    put('added-updated', 'three');
    put('added-updated', 'four');
    await becomes('added-updated', 'MODIFIED four');
    // Deleted and made again under another uid between two commits: Clusterpedia has one update.
    remove('added-updated');
    put('added-updated', 'anew', 'another');
    await becomes('added-updated', 'ADDED anew');
    const [gone, anew] = events('added-updated').slice(-2);
    assert.deepEqual(
      [gone!.type, gone!.object.metadata.uid, anew!.type, anew!.object.metadata.uid],
      ['DELETED', 'uid-added-updated', 'ADDED', 'another'],
    );
    put('added-updated', 'last', 'another');
    remove('added-updated');
    await eventually('it is gone', async () => types('added-updated').at(-1) === 'DELETED');
    watching.close();
  });
}
