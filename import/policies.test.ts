import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../kube/client/hub.fixture.ts';
import { answer, clusterpediaTypes, FakeClient } from '../test/pretend/fake-client.ts';
import { startPolicyControllers } from './policy-controllers.ts';
import {
  clustersOf,
  lifecyclesOf,
  makeScene,
  policiesOf,
  putSecret,
  putThing,
  spec,
  things,
  thingsOf,
} from './policies.fixture.ts';

const ignore = (): void => undefined;

test('a source becomes a lifecycle, and with its reference a PediaCluster', async (t) => {
  const { hub, reason, condition } = makeScene(t);
  putThing(hub, 'a', { ready: false });
  const policy = hub.put(policiesOf, { metadata: { name: 'p' }, spec });
  await until(() => reason(lifecyclesOf, 'thing-a', 'Created') === 'ReferenceResourceNotFound');
  await until(() => reason(policiesOf, 'p', 'Reconciling') === 'ReconcileSourceResourceAndLifecycle');
  assert.equal(condition(policiesOf, 'p', 'Validated')?.status, 'True');
  assert.deepEqual(hub.get(policiesOf, 'p')?.['metadata'].finalizers, [
    'clusterpedia.io/cluster-import-policy-controller',
  ]);
  const lifecycle = hub.get(lifecyclesOf, 'thing-a')!;
  assert.deepEqual(lifecycle['spec'], {
    source: { group: 'example.io', version: 'v2', resource: 'things', namespace: 'ns', name: 'a' },
    references: [{ ...spec.references[0], version: 'v1' }],
    template: spec.template,
    creationCondition: spec.creationCondition,
  });
  const [owner] = lifecycle['metadata'].ownerReferences;
  assert.deepEqual([owner.uid, owner.controller, owner.blockOwnerDeletion], [policy.metadata.uid, true, true]);
  assert.equal(lifecycle['status'].references[0].name, 'a');
  assert.equal(condition(lifecyclesOf, 'thing-a', 'Updating'), undefined);

  putSecret(hub, 'a');
  await until(() => reason(lifecyclesOf, 'thing-a', 'Created') === 'WaitCreationCondition');
  assert.equal(hub.get(clustersOf, 'thing-a'), undefined);
  putThing(hub, 'a');
  await until(() => reason(lifecyclesOf, 'thing-a', 'Updating') === 'PediaClusterUpdated');
  assert.deepEqual(hub.get(clustersOf, 'thing-a')?.['spec'], {
    apiserver: 'https://a',
    tokenData: 'c2VjcmV0',
    syncResources: [{ group: '', resources: ['pods'] }],
  });
  const { labels, ownerReferences } = hub.get(clustersOf, 'thing-a')!['metadata'];
  assert.deepEqual(labels, { from: 'a' });
  assert.deepEqual(
    ownerReferences.map(({ uid, controller }: { uid: string; controller?: boolean }) => [uid, controller]),
    [[lifecycle['metadata'].uid, undefined]],
  );
  assert.equal(reason(lifecyclesOf, 'thing-a', 'Created'), 'PediaClusterCreated');
  assert.equal(condition(lifecyclesOf, 'thing-a', 'Updating')?.status, 'False');

  putSecret(hub, 'a', 'bmV3');
  await until(() => hub.get(clustersOf, 'thing-a')?.['spec'].tokenData === 'bmV3');
  await until(() => condition(lifecyclesOf, 'thing-a', 'Updating')?.status === 'True');
});

test('two policies may read the same type, and what another has is not taken', async (t) => {
  const { hub, reason, condition } = makeScene(t);
  putThing(hub, 'a');
  putSecret(hub, 'a');
  hub.put(policiesOf, { metadata: { name: 'p' }, spec });
  await until(() => hub.get(clustersOf, 'thing-a') !== undefined);
  hub.put(policiesOf, { metadata: { name: 'q' }, spec: { ...spec, nameTemplate: 'q-{{ .source.metadata.name }}' } });
  await until(() => hub.get(clustersOf, 'q-a') !== undefined);
  hub.put(policiesOf, { metadata: { name: 'thief' }, spec });
  await until(() => reason(policiesOf, 'thief', 'Reconciling') === 'FailedReconcile');
  assert.match(
    condition(policiesOf, 'thief', 'Reconciling')!.message,
    /ns\/a: the name "thing-a" belongs to a lifecycle of p/,
  );
  assert.equal(hub.get(lifecyclesOf, 'thing-a')?.['metadata'].ownerReferences[0].name, 'p');
  hub.remove(policiesOf, 'p');
  await until(() => hub.get(lifecyclesOf, 'thing-a')?.['metadata'].ownerReferences[0].name === 'thief');
});

test('a write that the hub refuses is told without quoting it, and tried again', async (t) => {
  const { hub, condition } = makeScene(t);
  putThing(hub, 'a');
  putSecret(hub, 'a', btoa('SECRET'));
  hub.refuse = ({ method, path }) =>
    method === 'POST' && path.endsWith('pediaclusters')
      ? answer(422, { reason: 'Invalid', message: `spec.tokenData: Invalid value: "${btoa('SECRET')}": no` })
      : undefined;
  hub.put(policiesOf, { metadata: { name: 'p' }, spec });
  await until(() => condition(lifecyclesOf, 'thing-a', 'Created')?.reason === 'CreationFailure');
  assert.equal(condition(lifecyclesOf, 'thing-a', 'Created')?.message, 'spec.tokenData: Invalid value: no');
  hub.refuse = () => undefined;
  await until(() => hub.get(clustersOf, 'thing-a') !== undefined);
});

test('a type whose version is no longer served is negotiated anew, and nothing is deleted for it', async (t) => {
  const { hub, reason } = makeScene(t);
  putThing(hub, 'a');
  putSecret(hub, 'a');
  hub.put(policiesOf, { metadata: { name: 'p' }, spec });
  await until(() => hub.get(clustersOf, 'thing-a') !== undefined);
  const { uid } = hub.get(clustersOf, 'thing-a')!['metadata'];
  hub.retire(thingsOf, 'v2');
  await until(() => hub.get(lifecyclesOf, 'thing-a')?.['spec'].source.version === 'v1');
  await until(() => reason(policiesOf, 'p', 'Reconciling') === 'ReconcileSourceResourceAndLifecycle');
  assert.equal(hub.get(clustersOf, 'thing-a')?.['metadata'].uid, uid);
});

test('a version that discovery shows later than the definition is read as soon as it does', async (t) => {
  const { hub, reason } = makeScene(t);
  putThing(hub, 'a');
  putSecret(hub, 'a');
  hub.put(policiesOf, { metadata: { name: 'p' }, spec });
  await until(() => reason(policiesOf, 'p', 'Reconciling') === 'ReconcileSourceResourceAndLifecycle');
  assert.equal(hub.get(lifecyclesOf, 'thing-a')?.['spec'].source.version, 'v2');
  const before = hub.discoveries.get('example.io')!;
  hub.put('customresourcedefinitions.apiextensions.k8s.io', { metadata: { name: thingsOf }, spec: {} });
  await until(() => hub.discoveries.get('example.io')! > before);
  hub.prefer(thingsOf, 'v1');
  await until(() => hub.get(lifecyclesOf, 'thing-a')?.['spec'].source.version === 'v1');
});

test('at rest nothing is written', async (t) => {
  const { hub, reason, logged } = makeScene(t);
  for (const name of ['a', 'b', 'c']) {
    putThing(hub, name);
    putSecret(hub, name);
  }
  hub.put(policiesOf, { metadata: { name: 'p' }, spec });
  for (const name of ['a', 'b', 'c'])
    await until(() => reason(lifecyclesOf, `thing-${name}`, 'Updating') === 'PediaClusterUpdated');
  await until(() => reason(policiesOf, 'p', 'Reconciling') === 'ReconcileSourceResourceAndLifecycle');
  const before = hub.writes.length;
  // A source that changes without a consequence is judged, and leads to no write.
  putThing(hub, 'a', { heartbeat: 1 });
  hub.put(thingsOf, { metadata: { name: 'last', namespace: 'ns' }, spec: { address: 'x', secret: 'none' } });
  await until(() => reason(lifecyclesOf, 'thing-last', 'Created') === 'ReferenceResourceNotFound');
  assert.deepEqual(
    hub.writes.slice(before).filter((write) => !write.includes('thing-last') && !write.startsWith('POST')),
    [],
  );
  assert.deepEqual(logged, []);
});

test('a policy that is handled while the controllers end keeps its lifecycles, whatever cannot be read any more', async (t) => {
  const hub = new FakeClient([...clusterpediaTypes, things]);
  const log = { info: ignore, warn: ignore, error: ignore };
  const close = startPolicyControllers({ client: hub, log, discoveryLagMs: 50 });
  t.after(close);
  putThing(hub, 'a');
  putSecret(hub, 'a');
  hub.put(policiesOf, { metadata: { name: 'p' }, spec });
  await until(() => hub.get(clustersOf, 'thing-a') !== undefined);
  // The next reconcile waits for the discovery of the new reference, and the controllers end meanwhile.
  const asked = Promise.withResolvers<void>();
  const discovery = Promise.withResolvers<void>();
  const request = hub.request.bind(hub);
  hub.request = async (call) => {
    if (call.path === '/apis/coordination.k8s.io') {
      asked.resolve();
      await discovery.promise;
    }
    return await request(call);
  };
  const references = [
    ...spec.references,
    { key: 'lease', group: 'coordination.k8s.io', resource: 'leases', nameTemplate: 'x' },
  ];
  hub.put(policiesOf, { metadata: { name: 'p' }, spec: { ...spec, references } });
  await asked.promise;
  close();
  const before = hub.writes.length;
  discovery.resolve();
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(hub.writes.slice(before), []);
  assert.notEqual(hub.get(clustersOf, 'thing-a'), undefined);
});
