import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pod, simulate } from '../simulator.fixture.ts';
import type { JsonObject } from '../model/types.ts';

const pods = '/apis/metrics.k8s.io/v1beta1/pods';
const nodes = '/apis/metrics.k8s.io/v1beta1/nodes';
const names = (list: JsonObject): string[] => list['items'].map((item: JsonObject) => item['metadata'].name);
const running = (name: string, labels: Readonly<Record<string, string>>, phase = 'Running'): JsonObject => {
  const made = pod(name);
  return { ...made, metadata: { ...made['metadata'], labels }, status: { phase } };
};

test('metrics are of the pods that run and of every node; a node has at least what its pods have', async (t) => {
  const { sim, ask } = await simulate(t, { metrics: true, name: 'sim' });
  sim.store.apply(running('web', { app: 'web' }));
  sim.store.apply(running('other', { app: 'other' }));
  sim.store.apply(running('waits', { app: 'web' }, 'Pending'));
  sim.store.update('Pod', 'default', 'web', (object) => (object['spec'].nodeName = 'sim-node-1'));
  assert.deepEqual(names((await ask(pods)).json), ['other', 'web']);
  assert.deepEqual(names((await ask(`${pods}?labelSelector=app%3Dweb`)).json), ['web']);
  assert.deepEqual(names((await ask(nodes)).json), ['sim-node-1', 'sim-node-2']);
  const one = (await ask('/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/web')).json;
  assert.equal(one.kind, 'PodMetrics');
  assert.match(one.containers[0].usage.cpu, /^\d+m$/);
  assert.match(one.containers[0].usage.memory, /^\d+Ki$/);
  const node = (await ask(`${nodes}/sim-node-1`)).json;
  assert.ok(Number.parseInt(node.usage.memory, 10) > Number.parseInt(one.containers[0].usage.memory, 10));
});

test('there is no watch and no write of metrics, and no metrics of what does not run', async (t) => {
  const { sim, ask } = await simulate(t, { metrics: true });
  sim.store.apply(running('waits', {}, 'Pending'));
  assert.equal((await ask(`${pods}?watch=true`)).status, 405);
  assert.equal((await ask(`${nodes}/sim-node-1`, { method: 'DELETE' })).status, 405);
  assert.equal((await ask('/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/waits')).status, 404);
  const { resources } = (await ask('/apis/metrics.k8s.io/v1beta1')).json;
  assert.deepEqual(
    resources.map(({ name, verbs }: JsonObject) => `${name} ${verbs.join()}`),
    ['nodes get,list', 'pods get,list'],
  );
});

test('a cluster without metrics-server has no such API', async (t) => {
  const { ask } = await simulate(t);
  assert.equal((await ask(pods)).status, 404);
});
