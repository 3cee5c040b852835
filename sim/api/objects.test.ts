import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, simulate } from '../simulator.fixture.ts';

const service = (selector: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's' },
  spec: { ports: [{ port: 80 }], selector },
});
const deployment = (replicas: number, status?: object) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: {
    replicas,
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'x' }] } },
  },
  ...(status && { status }),
});

test('applying the same object again changes nothing', async (t) => {
  const { sim } = await simulate(t);
  for (const object of [configMap('a'), service({ a: 'b' }), deployment(1)]) {
    const first = sim.store.apply(object);
    assert.equal(sim.store.apply(object), first);
  }
});

test('applying keeps identity, handed out addresses and the status that was not given', async (t) => {
  const { sim } = await simulate(t);
  const first = sim.store.apply(service({ a: '1' }));
  const second = sim.store.apply(service({ a: '2' }));
  assert.equal(second.metadata.uid, first.metadata.uid);
  assert.equal(second['spec'].clusterIP, first['spec'].clusterIP);
  assert.deepEqual(second['spec'].selector, { a: '2' });
  sim.store.apply(deployment(1, { replicas: 1 }));
  const scaled = sim.store.apply(deployment(2));
  assert.deepEqual([scaled.metadata.generation, scaled['status']], [2, { replicas: 1 }]);
});

test('objects are found by kind, plural and plural with group', async (t) => {
  const { sim } = await simulate(t);
  sim.store.apply(deployment(1));
  for (const kind of ['Deployment', 'deployments', 'deployments.apps'])
    assert.equal(sim.store.get(kind, 'default', 'd')?.kind, 'Deployment');
  assert.throws(() => sim.store.list('gadgets'), /no kind gadgets/);
  assert.throws(() => sim.store.apply({ apiVersion: 'v9', kind: 'Pod', metadata: { name: 'x' } }), /no v9 Pod/);
});

test('updating hands out a copy, and the change is seen by watchers', async (t) => {
  const { sim } = await simulate(t);
  const first = sim.store.apply(configMap('a'));
  const seen: string[] = [];
  const stop = sim.store.subscribe('configmaps', (type, object) => seen.push(`${type} ${object['data'].a}`));
  sim.store.update('configmaps', 'default', 'a', (object) => (object['data'].a = 'z'));
  assert.equal(first['data'].a, 'b');
  assert.equal(
    sim.store.update('configmaps', 'default', 'none', () => {}),
    undefined,
  );
  sim.store.remove('configmaps', 'default', 'a');
  stop();
  assert.deepEqual(seen, ['MODIFIED z', 'DELETED z']);
});
