// What a ManifestWork does in a cluster without an agent: its objects, their owner, the status of the work, and that
// everything comes right again that somebody changes.
// Landing tier: ManifestWorks without an agent.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import {
  appliedWorkPath,
  conditionIn,
  configMap,
  configMapPath,
  eventually,
  hasCondition,
  isGone,
  manifestAt,
  manifestWork,
  patch,
  put,
  read,
  remove,
  startWorksSite,
  workPath,
  type Json,
  type WorksSite,
} from './works-site.ts';
import { roleBinding, userSubject } from '../../site/rbac.ts';
import { customResource } from '../../site/custom-resource.ts';

let site: WorksSite;
let hub: Member;
let m1: Member;

before(async () => {
  site = await startWorksSite();
  ({ hub } = site);
  m1 = site.members[0]!;
});

after(() => site?.stop());

const isAvailable = (name: string): Promise<Json> =>
  hasCondition(hub, workPath(name), 'Available', 'True', 'ResourcesAvailable');
const appliedWorkOf = (name: string): Promise<Json> => read(m1, appliedWorkPath(`${site.hubHash}-${name}`));
const summary = ({ status, reason, message, observedGeneration }: Json): Json[] => [
  status,
  reason,
  message,
  observedGeneration,
];

test('the object of a work is made, belongs to the work, and the work tells that it is applied and available', async () => {
  await put(hub, manifestWork('first', [configMap('cm1', { a: '1' })], {}, { labels: { app: 'x' } }));
  const work = await isAvailable('first');
  assert.deepEqual(work.metadata.finalizers, ['cluster.open-cluster-management.io/manifest-work-cleanup']);
  assert.deepEqual(summary(conditionIn(work.status, 'Applied')), [
    'True',
    'AppliedManifestWorkComplete',
    'Apply manifest work complete',
    1,
  ]);
  const { resourceMeta, conditions } = manifestAt(work, 0);
  assert.deepEqual(resourceMeta, {
    ordinal: 0,
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    resource: 'configmaps',
    name: 'cm1',
    namespace: 'ns1',
  });
  assert.deepEqual(
    conditions.map(({ type, reason }: Json) => `${type} ${reason}`),
    ['Applied AppliedManifestComplete', 'Available ResourceAvailable', 'StatusFeedbackSynced NoStatusFeedbackSynced'],
  );
  const object = await read(m1, configMapPath('cm1'));
  const applied = await appliedWorkOf('first');
  assert.deepEqual(object.metadata.ownerReferences, [
    {
      apiVersion: 'work.open-cluster-management.io/v1',
      kind: 'AppliedManifestWork',
      name: applied.metadata.name,
      uid: applied.metadata.uid,
    },
  ]);
});

test('the cluster keeps a record of what was applied, and every field of the object is the agent’s', async () => {
  const object = await read(m1, configMapPath('cm1'));
  assert.deepEqual([...new Set(object.metadata.managedFields.map(({ manager }: Json) => manager))], ['work-agent']);
  const applied = await eventually('it is recorded', async () => {
    const found = await appliedWorkOf('first');
    return found?.status?.appliedResources === undefined ? undefined : found;
  });
  assert.equal(applied.spec.hubHash, site.hubHash);
  assert.equal(applied.spec.agentID, `portcullis-${site.hubHash.slice(0, 16)}`);
  assert.equal(applied.spec.manifestWorkName, 'first');
  assert.equal(applied.metadata.labels.app, 'x');
  assert.deepEqual(applied.metadata.finalizers, ['cluster.open-cluster-management.io/applied-manifest-work-cleanup']);
  const recorded = applied.status.appliedResources.map(({ resource, name, uid }: Json) => [resource, name, uid]);
  assert.deepEqual(recorded, [['configmaps', 'cm1', object.metadata.uid]]);
});

test('one manifest that cannot be applied is told, the others are applied, and it is when its namespace is there', async () => {
  const lost = configMap('lost', {}, { namespace: 'later' });
  await put(hub, manifestWork('partly', [lost, configMap('p1'), configMap('p2')]));
  const work = await hasCondition(hub, workPath('partly'), 'Available', 'False', 'ResourcesNotAvailable');
  assert.equal(conditionIn(work.status, 'Available').message, '1 of 3 resources are not available');
  assert.deepEqual(summary(conditionIn(work.status, 'Applied')), [
    'False',
    'AppliedManifestWorkFailed',
    'Failed to apply manifest work',
    1,
  ]);
  assert.deepEqual(
    [0, 1, 2].map((index) => conditionIn(manifestAt(work, index), 'Applied').status),
    ['False', 'True', 'True'],
  );
  assert.match(
    conditionIn(manifestAt(work, 0), 'Applied').message,
    /^Failed to apply manifest: namespaces "later" not found/,
  );
  await m1.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'later' } });
  const done = await isAvailable('partly');
  assert.equal(done.metadata.generation, 1);
  assert.equal(conditionIn(done.status, 'Applied').status, 'True');
});

const widgets = (versions: readonly string[]): object =>
  customResource('widgets.example.com', 'Widget', { versions, stored: versions.at(-1)! });
const widget = (version: string): object => ({
  apiVersion: `example.com/${version}`,
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'ns1' },
  spec: { size: 1 },
});

test('a custom resource that stands before its definition is applied, and a new version keeps it', async () => {
  await put(hub, manifestWork('custom', [widget('v1'), widgets(['v1'])]));
  const work = await isAvailable('custom');
  assert.deepEqual(
    [0, 1].map((index) => [manifestAt(work, index).resourceMeta.ordinal, manifestAt(work, index).resourceMeta.kind]),
    [
      [0, 'Widget'],
      [1, 'CustomResourceDefinition'],
    ],
  );
  const before = await read(m1, '/apis/example.com/v1/namespaces/ns1/widgets/w');
  await put(hub, manifestWork('custom', [widget('v2'), widgets(['v1', 'v2'])]));
  await isAvailable('custom');
  const applied = await eventually('the new version is recorded', async () => {
    const found = await appliedWorkOf('custom');
    return found.status.appliedResources.some(({ version }: Json) => version === 'v2') ? found : undefined;
  });
  const after = await read(m1, '/apis/example.com/v2/namespaces/ns1/widgets/w');
  assert.equal(after.metadata.uid, before.metadata.uid);
  const recorded = applied.status.appliedResources.filter(({ resource }: Json) => resource === 'widgets');
  assert.deepEqual(recorded, [
    { group: 'example.com', version: 'v2', resource: 'widgets', namespace: 'ns1', name: 'w', uid: before.metadata.uid },
  ]);
});

test('a namespace that stands after its objects is made first; a UID, and a namespace that a kind does not have, are ignored', async () => {
  const inside = configMap('in', {}, { namespace: 'made', uid: '00000000-0000-0000-0000-000000000000' });
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'made', namespace: 'ns1' } };
  await put(hub, manifestWork('ordered', [inside, namespace]));
  const work = await isAvailable('ordered');
  assert.equal(manifestAt(work, 1).resourceMeta.namespace, '');
  assert.notEqual((await read(m1, configMapPath('in', 'made'))).metadata.uid, '00000000-0000-0000-0000-000000000000');
});

test('a kind that the cluster does not have is told by its name', async () => {
  const gadget = { apiVersion: 'example.org/v1', kind: 'Gadget', metadata: { name: 'g', namespace: 'ns1' } };
  await put(hub, manifestWork('unknown', [gadget, configMap('known')]));
  const work = await hasCondition(hub, workPath('unknown'), 'Available', 'Unknown', 'ResourcesStatusUnknown');
  const { conditions } = manifestAt(work, 0);
  assert.equal(
    conditions.find(({ type }: Json) => type === 'Applied').message,
    'Failed to apply manifest: the server doesn\'t have a resource type "Gadget"',
  );
  assert.equal(conditions.find(({ type }: Json) => type === 'Available').reason, 'IncompleteResourceMeta');
  assert.equal(conditionIn(work.status, 'Available').message, '1 of 2 resources have unknown status');
});

test('a manifest that is replaced: the new object is there, and the old one is gone from cluster and record', async () => {
  await put(hub, manifestWork('replaced', [configMap('old')]));
  await isAvailable('replaced');
  await put(hub, manifestWork('replaced', [configMap('new')]));
  await isGone(m1, configMapPath('old'));
  assert.ok(await read(m1, configMapPath('new')));
  await eventually('the record has the new one alone', async () => {
    const { status } = await appliedWorkOf('replaced');
    return status.appliedResources.map(({ name }: Json) => name).join() === 'new';
  });
});

test('nothing is pruned while a manifest of the work cannot be resolved, and it is when all can be', async () => {
  const gizmo = { apiVersion: 'example.net/v1', kind: 'Gizmo', metadata: { name: 'g', namespace: 'ns1' } };
  await put(hub, manifestWork('unresolved', [configMap('stays'), configMap('goes')]));
  await isAvailable('unresolved');
  await put(hub, manifestWork('unresolved', [configMap('stays'), gizmo]));
  await hasCondition(hub, workPath('unresolved'), 'Available', 'Unknown', 'ResourcesStatusUnknown');
  assert.ok(await read(m1, configMapPath('goes')));
  const { status } = await appliedWorkOf('unresolved');
  assert.deepEqual(
    status.appliedResources.map(({ name }: Json) => name),
    ['goes', 'stays'],
  );
  await put(hub, manifestWork('unresolved', [configMap('stays')]));
  await isGone(m1, configMapPath('goes'));
});

test('more than half of many objects go only when somebody says so', async () => {
  const names = ['b0', 'b1', 'b2', 'b3', 'b4'];
  await put(
    hub,
    manifestWork(
      'braked',
      names.map((name) => configMap(name)),
    ),
  );
  await isAvailable('braked');
  await put(hub, manifestWork('braked', [configMap('b0')]));
  const work = await hasCondition(hub, workPath('braked'), 'gateway.portcullis.io/PruneHeld', 'True', 'TooMuchAtOnce');
  for (const name of names) assert.ok(await read(m1, configMapPath(name)), name);
  const { generation } = work.metadata;
  const annotations = { 'gateway.portcullis.io/allow-prune': String(generation) };
  await patch(hub, workPath('braked'), { metadata: { annotations } });
  for (const name of names.slice(1)) await isGone(m1, configMapPath(name));
  await eventually('it is not held any more', async () => {
    const found = await read(hub, workPath('braked'));
    return conditionIn(found.status, 'gateway.portcullis.io/PruneHeld') === undefined;
  });
});

test('what somebody changes in the cluster is put right, and what somebody deletes is made again', async () => {
  const before = await read(hub, workPath('first'));
  await patch(m1, configMapPath('cm1'), { data: { a: 'changed', b: 'added' } });
  await eventually('it is as before', async () => {
    const { data } = await read(m1, configMapPath('cm1'));
    return JSON.stringify(data) === '{"a":"1"}';
  });
  const applied = (work: Json): Json => conditionIn(work.status, 'Applied');
  assert.deepEqual(applied(await read(hub, workPath('first'))), applied(before));
  const { uid } = (await read(m1, configMapPath('cm1'))).metadata;
  await remove(m1, configMapPath('cm1'));
  const again = await eventually('it is there again', async () => {
    const found = await read(m1, configMapPath('cm1'));
    return found !== undefined && found.metadata.uid !== uid ? found : undefined;
  });
  await eventually('its new UID is recorded', async () => {
    const { status } = await appliedWorkOf('first');
    return status.appliedResources[0].uid === again.metadata.uid;
  });
});

test('annotations, labels and finalizers of others stay', async () => {
  await put(hub, manifestWork('merged', [configMap('merge', {}, { labels: { mine: '1' } })]));
  await isAvailable('merged');
  await patch(m1, configMapPath('merge'), {
    metadata: { annotations: { theirs: 'x' }, finalizers: ['example.com/keep'], labels: { foo: 'bar' } },
  });
  await put(hub, manifestWork('merged', [configMap('merge', { now: 'this' }, { labels: { mine: '2' } })]));
  const object = await eventually('it is updated', async () => {
    const found = await read(m1, configMapPath('merge'));
    return found.data?.now === 'this' ? found : undefined;
  });
  assert.deepEqual(object.metadata.labels, { mine: '2', foo: 'bar' });
  assert.equal(object.metadata.annotations.theirs, 'x');
  assert.deepEqual(object.metadata.finalizers, ['example.com/keep']);
  await patch(m1, configMapPath('merge'), { metadata: { finalizers: null } });
});

test('a field that cannot be changed fails one manifest, which stays available', async () => {
  const role = (name: string): object => roleBinding('ns1', 'rb', `ClusterRole/${name}`, userSubject('bob'));
  await put(hub, manifestWork('immutable', [role('view'), configMap('beside')]));
  await isAvailable('immutable');
  await put(hub, manifestWork('immutable', [role('edit'), configMap('beside')]));
  await hasCondition(hub, workPath('immutable'), 'Applied', 'False');
  const work = await isAvailable('immutable');
  assert.deepEqual(
    [0, 1].map((index) => conditionIn(manifestAt(work, index), 'Applied').status),
    ['False', 'True'],
  );
  assert.equal(conditionIn(manifestAt(work, 0), 'Applied').observedGeneration, 2);
});

test('of two changes at once the last one counts', async () => {
  await put(hub, manifestWork('quick', [configMap('q', { n: '0' })]));
  for (const n of ['1', '2', '3']) await put(hub, manifestWork('quick', [configMap('q', { n })]));
  const work = await isAvailable('quick');
  assert.equal(work.metadata.generation, 4);
  await eventually('the last is applied', async () => (await read(m1, configMapPath('q'))).data.n === '3');
});

test('two hundred objects of nearly as many bytes as OCM lets a work have are applied', async () => {
  const sized = (bytes: number): object[] =>
    Array.from({ length: 200 }, (_, index) => configMap(`many-${index}`, { data: 'x'.repeat(bytes) }));
  const sizeOf = (objects: readonly object[]): number =>
    objects.reduce((sum: number, each) => sum + JSON.stringify(each).length, 0);
  const room = 499 * 1024 - sizeOf(sized(0));
  const many = sized(Math.floor(room / 200));
  const size = sizeOf(many);
  assert.ok(size > 498.5 * 1024 && size <= 499 * 1024, `${size} bytes`);
  await put(hub, manifestWork('many', many));
  const work = await isAvailable('many');
  assert.equal(work.status.resourceStatus.manifests.length, 200);
  for (const index of [0, 199])
    assert.equal((await read(m1, configMapPath(`many-${index}`))).data.data.length, Math.floor(room / 200));
});

test('a work that is larger than the hub stores is refused by the hub, and nothing of it is applied', async () => {
  const many = Array.from({ length: 20 }, (_, index) => configMap(`huge-${index}`, { data: 'x'.repeat(100_000) }));
  const answer = await hub.request('POST', workPath('x').slice(0, -2), manifestWork('huge', many));
  assert.ok(answer.status >= 400, String(answer.status));
  assert.match(answer.body, /too large/);
  assert.equal(await read(m1, configMapPath('huge-0')), undefined);
});

test('manifests in another order keep what was told of them', async () => {
  const before = await read(hub, workPath('partly'));
  const [lost, p1, p2] = before.spec.workload.manifests;
  await put(hub, manifestWork('partly', [p2, lost, p1]));
  const work = await isAvailable('partly');
  const entries = work.status.resourceStatus.manifests.map(({ resourceMeta }: Json) => [
    resourceMeta.ordinal,
    resourceMeta.name,
  ]);
  assert.deepEqual(entries, [
    [0, 'p2'],
    [1, 'lost'],
    [2, 'p1'],
  ]);
  const timeOf = (found: Json, index: number): Json =>
    conditionIn(manifestAt(found, index), 'Available').lastTransitionTime;
  assert.equal(timeOf(work, 2), timeOf(before, 1));
});

test('a work at rest costs no request but watches, and nothing changes', async () => {
  const versions = async (): Promise<Json> => {
    const { metadata } = await read(m1, configMapPath('cm1'));
    return [metadata.resourceVersion, (await read(hub, workPath('first'))).metadata.resourceVersion];
  };
  await isAvailable('first');
  const writers = (events: readonly Json[]): readonly string[] =>
    events
      .filter(({ userAgent, objectRef }) => userAgent === 'portcullis-works' && objectRef?.name === 'cm1')
      .map(({ verb }) => verb);
  // A change of another object of the namespace makes the executor look at the work again.
  const before = await versions();
  const mark = await m1.auditMark();
  for (const round of ['1', '2', '3']) await m1.apply(configMap('unrelated', { round }));
  await put(hub, manifestWork('after', [configMap('after')]));
  await isAvailable('after');
  assert.deepEqual(writers(await m1.audit(mark)), []);
  assert.deepEqual(await versions(), before);
});
