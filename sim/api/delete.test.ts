import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, pod, simulate, type Bench } from '../simulator.fixture.ts';
import type { JsonObject } from '../model/types.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const del = (body?: unknown) => ({ method: 'DELETE', ...(body === undefined ? {} : { body }) });

/** Resolves once a check holds, asked again after each change of a kind. */
function until(bench: Bench, kind: string, check: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = bench.sim.store.subscribe(kind, test);
    function test(): void {
      if (!check()) return;
      stop();
      resolve();
    }
    test();
  });
}

const owned = (name: string, uid: string, more: JsonObject = {}): JsonObject => ({
  ...configMap(name),
  metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid, ...more }] },
});

test('deleting answers with a Status naming the object, and again with 404', async (t) => {
  const { sim, ask } = await simulate(t);
  const { uid } = sim.store.apply(configMap('a')).metadata;
  const gone = await ask(`${maps}/a`, del());
  assert.deepEqual(gone.json, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: 'a', kind: 'configmaps', uid },
  });
  assert.equal((await ask(`${maps}/a`, del())).status, 404);
});

test('preconditions must hold', async (t) => {
  const { sim, ask } = await simulate(t);
  const { uid } = sim.store.apply(configMap('a')).metadata;
  assert.equal((await ask(`${maps}/a`, del({ preconditions: { uid: 'other' } }))).status, 409);
  assert.equal((await ask(`${maps}/a`, del({ preconditions: { resourceVersion: '1' } }))).status, 409);
  assert.equal((await ask(`${maps}/a`, del({ propagationPolicy: 'Sideways' }))).status, 422);
  assert.equal((await ask(`${maps}/a`, del({ preconditions: { uid } }))).status, 200);
});

test('a finalizer holds an object until it is removed', async (t) => {
  const { sim, ask } = await simulate(t);
  sim.store.apply({ ...configMap('a'), metadata: { name: 'a', finalizers: ['example.com/x'] } });
  const marked = await ask(`${maps}/a`, del());
  assert.ok(marked.json.metadata.deletionTimestamp);
  assert.equal((await ask(`${maps}/a`)).status, 200);
  const patch = {
    method: 'PATCH',
    body: { metadata: { finalizers: null } },
    headers: { 'content-type': 'application/merge-patch+json' },
  };
  assert.equal((await ask(`${maps}/a`, patch)).status, 200);
  assert.equal((await ask(`${maps}/a`)).status, 404);
});

test('a collection is deleted by selector', async (t) => {
  const { sim, ask } = await simulate(t);
  for (const [name, app] of [
    ['a', 'x'],
    ['b', 'x'],
    ['c', 'y'],
  ] as const)
    sim.store.apply(configMap(name, {}, { app }));
  const gone = await ask(`${maps}?labelSelector=app%3Dx`, del());
  assert.deepEqual(
    gone.json.items.map((item: JsonObject) => item['metadata'].name),
    ['a', 'b'],
  );
  assert.deepEqual(
    sim.store.list('configmaps', 'default').map((object) => object.metadata.name),
    ['c'],
  );
});

test('a running pod goes gracefully, one without a node or with no grace at once', async (t) => {
  const { sim, ask } = await simulate(t);
  const pods = '/api/v1/namespaces/default/pods';
  sim.store.apply({ ...pod('a', { nodeName: 'n' }), status: { phase: 'Running' } });
  sim.store.apply({ ...pod('b', { nodeName: 'n' }), status: { phase: 'Running' } });
  sim.store.apply(pod('c'));
  const marked = (await ask(`${pods}/a`, del())).json.metadata;
  assert.equal(marked.deletionGracePeriodSeconds, 30);
  assert.equal((await ask(`${pods}/a`)).status, 200);
  await ask(`${pods}/a`, del({ gracePeriodSeconds: 0 }));
  assert.equal((await ask(`${pods}/a`)).status, 404);
  await ask(`${pods}/b?gracePeriodSeconds=0`, del());
  await ask(`${pods}/c`, del());
  assert.equal(sim.store.list('pods').length, 0);
});

test('a second deletion may shorten the grace, never lengthen it', async (t) => {
  const { sim, ask } = await simulate(t);
  const path = '/api/v1/namespaces/default/pods/a';
  sim.store.apply({ ...pod('a', { nodeName: 'n' }), status: { phase: 'Running' } });
  const first = (await ask(path, del())).json.metadata;
  const longer = (await ask(path, del({ gracePeriodSeconds: 60 }))).json.metadata;
  assert.deepEqual([longer.deletionGracePeriodSeconds, longer.resourceVersion], [30, first.resourceVersion]);
  const shorter = (await ask(path, del({ gracePeriodSeconds: 5 }))).json.metadata;
  assert.deepEqual([shorter.deletionGracePeriodSeconds, shorter.generation], [5, first.generation]);
  assert.ok(shorter.deletionTimestamp < first.deletionTimestamp);
});

test('orphanDependents is the old way to say the same', async (t) => {
  const { sim, ask } = await simulate(t);
  for (const name of ['a', 'b']) sim.store.apply(configMap(name));
  assert.deepEqual((await ask(`${maps}/a`, del({ orphanDependents: true }))).json.metadata.finalizers, ['orphan']);
  assert.equal((await ask(`${maps}/b?orphanDependents=false`, del())).json.status, 'Success');
});

test('dependents follow their owner in the background, unless another owner lives', async (t) => {
  const bench = await simulate(t, { controllers: {} });
  const { sim, ask } = bench;
  const { uid } = sim.store.apply(configMap('owner')).metadata;
  const { uid: other } = sim.store.apply(configMap('other')).metadata;
  sim.store.apply(owned('child', uid));
  const shared = owned('shared', uid);
  shared['metadata'].ownerReferences.push({ apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: other });
  sim.store.apply(shared);
  await ask(`${maps}/owner`, del());
  await until(bench, 'configmaps', () => sim.store.get('configmaps', 'default', 'child') === undefined);
  await until(
    bench,
    'configmaps',
    () => sim.store.get('configmaps', 'default', 'shared')?.metadata.ownerReferences?.length === 1,
  );
});

test('foreground: the owner goes last', async (t) => {
  const bench = await simulate(t, { controllers: {} });
  const { sim, ask } = bench;
  const { uid } = sim.store.apply(configMap('owner')).metadata;
  sim.store.apply(owned('child', uid, { blockOwnerDeletion: true }));
  const order: string[] = [];
  sim.store.subscribe('configmaps', (type, object) => type === 'DELETED' && order.push(object.metadata.name));
  const marked = await ask(`${maps}/owner`, del({ propagationPolicy: 'Foreground' }));
  assert.deepEqual(marked.json.metadata.finalizers, ['foregroundDeletion']);
  await until(bench, 'configmaps', () => sim.store.get('configmaps', 'default', 'owner') === undefined);
  assert.deepEqual(order, ['child', 'owner']);
});

test('orphan: dependents stay and lose the reference', async (t) => {
  const bench = await simulate(t, { controllers: {} });
  const { sim, ask } = bench;
  const { uid } = sim.store.apply(configMap('owner')).metadata;
  sim.store.apply(owned('child', uid));
  await ask(`${maps}/owner`, del({ propagationPolicy: 'Orphan' }));
  await until(bench, 'configmaps', () => sim.store.get('configmaps', 'default', 'owner') === undefined);
  assert.equal(sim.store.get('configmaps', 'default', 'child')?.metadata.ownerReferences, undefined);
});

test('a namespace ends when everything in it is gone, and takes nothing new', async (t) => {
  const bench = await simulate(t, { controllers: {} });
  const { sim, ask } = bench;
  sim.store.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } });
  sim.store.apply({ ...configMap('held'), metadata: { name: 'held', namespace: 'n', finalizers: ['example.com/x'] } });
  const marked = await ask('/api/v1/namespaces/n', del());
  assert.equal(marked.json.status.phase, 'Terminating');
  await until(
    bench,
    'configmaps',
    () => sim.store.get('configmaps', 'n', 'held')?.metadata.deletionTimestamp !== undefined,
  );
  const refused = await ask('/api/v1/namespaces/n/configmaps', { method: 'POST', body: configMap('new') });
  assert.equal(refused.status, 403);
  assert.equal(refused.json.details.causes[0].reason, 'NamespaceTerminating');
  const path = '/api/v1/namespaces/n/configmaps/held';
  await ask(path, {
    method: 'PATCH',
    body: { metadata: { finalizers: [] } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  await until(bench, 'namespaces', () => sim.store.get('namespaces', '', 'n') === undefined);
});

test('an eviction that would break a budget is 429 with its cause', async (t) => {
  const { sim, ask } = await simulate(t);
  sim.store.apply({ ...pod('p', { nodeName: 'n' }), status: { phase: 'Running' } });
  sim.store.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'p' } } },
    status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 },
  });
  const evict = { method: 'POST', body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } } };
  const refused = await ask('/api/v1/namespaces/default/pods/p/eviction', evict);
  assert.equal(refused.status, 429);
  assert.equal(refused.json.details.causes[0].reason, 'DisruptionBudget');
  sim.store.remove('poddisruptionbudgets', 'default', 'b');
  assert.equal((await ask('/api/v1/namespaces/default/pods/p/eviction', evict)).status, 201);
});
