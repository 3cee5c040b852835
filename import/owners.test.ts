// What the controllers write and delete is theirs by UID. A name is believed of nobody.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../kube/client/hub.fixture.ts';
import {
  clustersOf,
  lifecyclesOf,
  makeScene,
  policiesOf,
  putSecret,
  putThing,
  spec,
  thingsOf,
  type Scene,
} from './policies.fixture.ts';

const handedTo = 'import.portcullis.io/handed-to';
const theirs = { apiserver: 'https://theirs', tokenData: btoa('theirs'), syncResources: [] };

/** A scene with a source and its reference, in which nothing is written before a policy is there. */
function sceneWithSource(t: TestContext): Scene {
  const scene = makeScene(t);
  putThing(scene.hub, 'a');
  putSecret(scene.hub, 'a');
  return scene;
}

const owner = (kind: string, name: string, uid: unknown, more: object = {}): object => ({
  apiVersion: 'policy.clusterpedia.io/v1alpha1',
  kind,
  name,
  uid,
  ...more,
});

/** Changes the source, and waits until a change of it has reached the lifecycle of another one. */
async function changeSources({ hub }: Scene): Promise<void> {
  putThing(hub, 'a', { address: 'https://changed' });
  putThing(hub, 'last', { address: `https://${hub.writes.length}` });
  putSecret(hub, 'last');
  const wanted = hub.get(thingsOf, 'last', 'ns')?.['spec'].address;
  await until(() => hub.get(clustersOf, 'thing-last')?.['spec'].apiserver === wanted);
}

test('a PediaCluster that is not only this lifecycle’s keeps address and credential, and is told how to be handed over (ATT-62)', async (t) => {
  const gone = owner('PediaClusterLifecycle', 'thing-a', 'uid-of-an-older-one');
  const cases: readonly [string, (uid: string) => unknown][] = [
    ['no owners', () => undefined],
    ['null', () => null],
    ['an empty list', () => []],
    ['an owner of another kind', () => [owner('ConfigMap', 'thing-a', 'other')]],
    ['a lifecycle of this name that is gone', () => [gone]],
    ['a lifecycle of another name', () => [owner('PediaClusterLifecycle', 'thing-b', 'other')]],
    ['an owner without a UID', () => [owner('PediaClusterLifecycle', 'thing-a', undefined)]],
    ['an owner whose UID is empty', () => [owner('PediaClusterLifecycle', 'thing-a', '')]],
    ['several owners, one of them this one', (uid) => [gone, owner('PediaClusterLifecycle', 'thing-a', uid)]],
  ];
  for (const [what, owners] of cases) {
    await t.test(what, async (inner) => {
      const scene = sceneWithSource(inner);
      const { hub, condition, reason } = scene;
      hub.put(clustersOf, { metadata: { name: 'thing-a' }, spec: theirs });
      hub.put(policiesOf, {
        metadata: { name: 'p', annotations: { 'import.portcullis.io/follow-template': 'true' } },
        spec,
      });
      await until(() => reason(lifecyclesOf, 'thing-a', 'Updating') !== undefined);
      const { uid } = hub.get(lifecyclesOf, 'thing-a')!['metadata'];
      hub.put(clustersOf, { metadata: { name: 'thing-a', ownerReferences: owners(uid) }, spec: theirs });
      await changeSources(scene);
      assert.deepEqual(hub.get(clustersOf, 'thing-a')?.['spec'], theirs);
      assert.equal(hub.get(clustersOf, 'thing-a')?.['metadata'].labels, undefined);
      assert.equal(reason(lifecyclesOf, 'thing-a', 'Created'), 'PediaClusterExisted');
      const reported = condition(lifecyclesOf, 'thing-a', 'Updating');
      assert.deepEqual([reported?.status, reported?.reason], ['False', 'PediaClusterNotOwned']);
      assert.match(reported!.message, new RegExp(`kubectl annotate pediacluster thing-a ${handedTo}=${uid}$`));
      const deletes = (): readonly string[] => hub.writes.filter((write) => /^DELETE .*pediaclusters/.test(write));
      hub.remove(thingsOf, 'a', 'ns');
      await until(() => hub.get(lifecyclesOf, 'thing-a') === undefined);
      assert.deepEqual(deletes(), []);
    });
  }
});

test('a PediaCluster is handed over by an annotation with the UID of the lifecycle, and by nothing else', async (t) => {
  const scene = sceneWithSource(t);
  const { hub, reason } = scene;
  hub.put(clustersOf, { metadata: { name: 'thing-a' }, spec: theirs });
  hub.put(policiesOf, { metadata: { name: 'p' }, spec });
  await until(() => reason(lifecyclesOf, 'thing-a', 'Updating') !== undefined);
  const { uid } = hub.get(lifecyclesOf, 'thing-a')!['metadata'];
  const annotate = (value: unknown): object =>
    hub.put(clustersOf, { metadata: { name: 'thing-a', annotations: { [handedTo]: value } } });
  for (const value of ['', null, 'true', '*', 'thing-a', 'p', `${uid} `, `${uid},x`, uid.slice(0, -1), true, [uid]]) {
    annotate(value);
    await changeSources(scene);
    assert.deepEqual(hub.get(clustersOf, 'thing-a')?.['spec'], theirs, JSON.stringify(value));
  }
  annotate(uid);
  await until(() => hub.get(clustersOf, 'thing-a')?.['spec'].apiserver === 'https://changed');
  assert.equal(reason(lifecyclesOf, 'thing-a', 'Updating'), 'PediaClusterUpdated');
  assert.equal(hub.get(clustersOf, 'thing-a')?.['metadata'].ownerReferences, undefined);
  hub.put(clustersOf, { metadata: { name: 'thing-a', annotations: {} }, spec: theirs });
  await until(() => reason(lifecyclesOf, 'thing-a', 'Updating') === 'PediaClusterNotOwned');
  await changeSources(scene);
  assert.deepEqual(hub.get(clustersOf, 'thing-a')?.['spec'], theirs, 'once the annotation is removed');
});

test('a PediaCluster that somebody takes from its lifecycle is not written any more, not even by a write under way', async (t) => {
  const scene = sceneWithSource(t);
  const { hub, reason } = scene;
  hub.put(policiesOf, { metadata: { name: 'p' }, spec });
  await until(() => reason(lifecyclesOf, 'thing-a', 'Updating') === 'PediaClusterUpdated');
  hub.refuse = ({ method, path }) => {
    if (method !== 'PATCH' || !path.endsWith('/pediaclusters/thing-a')) return undefined;
    hub.refuse = () => undefined;
    hub.put(clustersOf, { metadata: { name: 'thing-a', ownerReferences: [] }, spec: theirs });
    return undefined;
  };
  await changeSources(scene);
  await until(() => reason(lifecyclesOf, 'thing-a', 'Updating') === 'PediaClusterNotOwned');
  assert.deepEqual(hub.get(clustersOf, 'thing-a')?.['spec'], theirs);
});

test('a lifecycle that is not this policy’s by UID is neither changed, deleted nor put into effect (ATT-62)', async (t) => {
  const control = { controller: true };
  const cases: readonly [string, (uid: string) => unknown, RegExp][] = [
    ['no owners', () => undefined, /without a controlling owner; delete that lifecycle/],
    ['null', () => null, /without a controlling owner/],
    ['an empty list', () => [], /without a controlling owner/],
    [
      'an owner that is no controller',
      (uid) => [owner('ClusterImportPolicy', 'p', uid)],
      /without a controlling owner/,
    ],
    [
      'a policy of this name that is gone',
      () => [owner('ClusterImportPolicy', 'p', 'x', control)],
      /an earlier policy p/,
    ],
    ['no UID', () => [owner('ClusterImportPolicy', 'p', undefined, control)], /an earlier policy p/],
    ['an empty UID', () => [owner('ClusterImportPolicy', 'p', '', control)], /an earlier policy p/],
    ['another policy', () => [owner('ClusterImportPolicy', 'q', 'x', control)], /of q/],
    ['another kind', (uid) => [owner('ConfigMap', 'p', uid, control)], /of ConfigMap p/],
  ];
  for (const [what, owners, words] of cases) {
    await t.test(what, async (inner) => {
      const scene = sceneWithSource(inner);
      const source = { group: 'example.io', version: 'v2', resource: 'things', namespace: 'ns', name: 'a' };
      const references = [{ ...spec.references[0], version: 'v1' }];
      for (const name of ['thing-a', 'unwanted'])
        scene.hub.put(lifecyclesOf, {
          metadata: { name, ownerReferences: owners('uid-of-p') },
          spec: { source, references, template: spec.template, creationCondition: 'true' },
        });
      const written = JSON.stringify(scene.hub.get(lifecyclesOf, 'thing-a')!['spec']);
      scene.hub.put(policiesOf, { metadata: { name: 'p', uid: 'uid-of-p' }, spec });
      await until(() => words.test(scene.condition(policiesOf, 'p', 'Reconciling')?.message ?? ''));
      for (const name of ['thing-a', 'unwanted']) {
        await until(() => scene.reason(lifecyclesOf, name, 'Created') === 'OrphanLifecycle');
        assert.equal(JSON.stringify(scene.hub.get(lifecyclesOf, name)?.['spec']), written);
        assert.equal(scene.hub.get(clustersOf, name), undefined);
      }
    });
  }
});

test('a name that looks like the data of a Secret is told by nobody (ATT-62)', async (t) => {
  const token = 'eyJhbGciOi.SECRET_token';
  const reading = '{{ .source.data.token | b64dec }}';
  const source = { group: '', resource: 'secrets', selectorTemplate: '{{ eq .source.metadata.name "marked" }}' };
  const cases: Readonly<Record<string, object>> = {
    name: { nameTemplate: reading, references: [] },
    'beside-text': { nameTemplate: `x-${reading}`, references: [] },
    line: { nameTemplate: 'x\n{{ .source.data.token }}', references: [] },
    reference: {
      references: [{ key: 'r', group: '', resource: 'secrets', namespaceTemplate: 'ns', nameTemplate: reading }],
    },
    namespace: {
      references: [{ key: 'r', group: '', resource: 'secrets', namespaceTemplate: reading, nameTemplate: 'x' }],
    },
  };
  const { hub, logged, condition, reason } = makeScene(t);
  hub.put('secrets', { metadata: { name: 'marked', namespace: 'ns' }, data: { token: btoa(token) } });
  for (const [name, more] of Object.entries(cases))
    hub.put(policiesOf, { metadata: { name }, spec: { ...spec, nameTemplate: `of-${name}`, source, ...more } });
  for (const name of ['name', 'beside-text', 'line']) {
    await until(() => reason(policiesOf, name, 'Reconciling') === 'FailedReconcile');
    assert.match(
      condition(policiesOf, name, 'Reconciling')!.message,
      /ns\/marked: nameTemplate gives no name of an object/,
    );
  }
  for (const [name, field] of [
    ['reference', 'nameTemplate'],
    ['namespace', 'namespaceTemplate'],
  ] as const) {
    await until(() => reason(lifecyclesOf, `of-${name}`, 'Created') === 'FailedReferenceResourceParse');
    const { message } = condition(lifecyclesOf, `of-${name}`, 'Created')!;
    assert.match(message, new RegExp(`^reference "r": ${field}: gives no name of an object`));
  }
  const objects = [policiesOf, lifecyclesOf].flatMap((of) => hub.names(of).map((name) => hub.get(of, name)));
  assert.doesNotMatch(JSON.stringify([objects, logged, hub.writes]), /SECRET|eyJ/);
});
