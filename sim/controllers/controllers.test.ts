// What becomes of objects when the controllers run, seen from the store. Delays are zero, so each step comes as soon as
// it may.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { pod, simulate, type Bench } from '../simulator.fixture.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import { isSchedule } from '../validate/cron-schedule.ts';

const controllers = { podStartMs: 0, podStopMs: 0, jobRunMs: 0 };
const start = (t: TestContext): Promise<Bench> => simulate(t, { controllers });

/** Resolves with the object once it satisfies the check, looked at after each change. */
function reaches(
  { sim }: Bench,
  kind: string,
  name: string,
  check: (object: KubeObject) => boolean,
): Promise<KubeObject> {
  return new Promise((resolve) => {
    const look = (): void => {
      const object = sim.store.get(kind, 'default', name);
      if (object === undefined || !check(object)) return;
      stop();
      resolve(object);
    };
    const stop = sim.store.subscribe(kind, look);
    look();
  });
}

const template = (app: string, image = 'nginx:1'): JsonObject => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'c', image, ports: [{ containerPort: 8080, name: 'http' }] }] },
});
const workload = (kind: string, name: string, spec: JsonObject): JsonObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: { selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});
const isDone = (object: KubeObject): boolean => {
  const { replicas } = object['spec'];
  const status = object['status'] ?? {};
  const { updatedReplicas = 0, readyReplicas = 0, replicas: total = 0, observedGeneration } = status;
  return (
    observedGeneration === object.metadata.generation &&
    updatedReplicas === replicas &&
    readyReplicas === replicas &&
    total === replicas
  );
};
const podNames = ({ sim }: Bench, app: string): string[] =>
  sim.store
    .list('pods', 'default')
    .filter((o) => o.metadata.labels?.['app'] === app && o.metadata.deletionTimestamp === undefined)
    .map((o) => o.metadata.name);

test('a pod gets a node and an address and becomes ready', async (t) => {
  const bench = await start(t);
  bench.sim.store.apply(pod('p'));
  const ready = await reaches(bench, 'pods', 'p', (o) => o['status']?.phase === 'Running');
  assert.match(ready['spec'].nodeName, /^sim-node-[12]$/);
  assert.match(ready['status'].podIP, /^10\.244\./);
  assert.equal(ready['status'].containerStatuses[0].ready, true);
  assert.ok(ready['status'].conditions.some((c: JsonObject) => c['type'] === 'Ready' && c['status'] === 'True'));
});

test('a pod whose status was written by somebody else stays as it is', async (t) => {
  const bench = await start(t);
  const status = {
    phase: 'Pending',
    containerStatuses: [{ name: 'c', state: { waiting: { reason: 'ErrImagePull' } } }],
  };
  bench.sim.store.apply({ ...pod('stuck', { nodeName: 'sim-node-1' }), status });
  bench.sim.store.apply(pod('other'));
  await reaches(bench, 'pods', 'other', (o) => o['status']?.phase === 'Running');
  assert.deepEqual(bench.sim.store.get('pods', 'default', 'stuck')?.['status'], status);
});

test('a Deployment rolls out, rolls on and rolls back to the same ReplicaSet', async (t) => {
  const bench = await start(t);
  const { store } = bench.sim;
  store.apply(workload('Deployment', 'd', { replicas: 3 }));
  const first = await reaches(bench, 'deployments', 'd', isDone);
  assert.equal(first.metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
  const [original] = store.list('replicasets', 'default').map((o) => o.metadata.name);
  let fewest = 3;
  const stop = store.subscribe(
    'deployments',
    (_type, o) => (fewest = Math.min(fewest, o['status']?.availableReplicas ?? 0)),
  );
  store.apply(workload('Deployment', 'd', { replicas: 3, template: template('d', 'nginx:2') }));
  await reaches(
    bench,
    'deployments',
    'd',
    (o) => isDone(o) && o.metadata.annotations?.['deployment.kubernetes.io/revision'] === '2',
  );
  stop();
  assert.ok(fewest >= 3, `25 % of 3 may be unavailable rounds down to none, saw ${fewest} available`);
  store.apply(workload('Deployment', 'd', { replicas: 2 }));
  await reaches(
    bench,
    'deployments',
    'd',
    (o) => isDone(o) && o.metadata.annotations?.['deployment.kubernetes.io/revision'] === '3',
  );
  assert.equal(store.list('replicasets', 'default').length, 2);
  assert.ok(podNames(bench, 'd').every((name) => name.startsWith(`${original}-`)));
});

test('Recreate has no pod of the old kind when the new ones start', async (t) => {
  const bench = await start(t);
  const { store } = bench.sim;
  const spec = { replicas: 2, strategy: { type: 'Recreate' } };
  store.apply(workload('Deployment', 'd', spec));
  await reaches(bench, 'deployments', 'd', isDone);
  const images = new Set<string>();
  const stop = store.subscribe('pods', () => {
    const alive = new Set(store.list('pods', 'default').map((o) => o['spec'].containers[0].image));
    if (alive.size > 1) images.add('both at once');
  });
  store.apply(workload('Deployment', 'd', { ...spec, template: template('d', 'nginx:2') }));
  await reaches(
    bench,
    'deployments',
    'd',
    (o) => isDone(o) && o.metadata.annotations?.['deployment.kubernetes.io/revision'] === '2',
  );
  stop();
  assert.deepEqual([...images], []);
});

test('a StatefulSet numbers its pods, makes them in order and updates the last first', async (t) => {
  const bench = await start(t);
  const { store } = bench.sim;
  const claims = [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ];
  const order: string[] = [];
  store.subscribe('pods', (type, o) => type !== 'MODIFIED' && order.push(`${type} ${o.metadata.name}`));
  store.apply(workload('StatefulSet', 's', { replicas: 2, serviceName: 's', volumeClaimTemplates: claims }));
  await reaches(bench, 'statefulsets', 's', isDone);
  assert.deepEqual(order, ['ADDED s-0', 'ADDED s-1']);
  assert.deepEqual(
    store.list('persistentvolumeclaims', 'default').map((o) => o.metadata.name),
    ['data-s-0', 'data-s-1'],
  );
  order.length = 0;
  store.apply(
    workload('StatefulSet', 's', {
      replicas: 2,
      serviceName: 's',
      volumeClaimTemplates: claims,
      template: template('s', 'nginx:2'),
    }),
  );
  await reaches(bench, 'statefulsets', 's', isDone);
  assert.deepEqual(order, ['DELETED s-1', 'ADDED s-1', 'DELETED s-0', 'ADDED s-0']);
});

test('a DaemonSet has one pod on each node, cordoned or not', async (t) => {
  const bench = await start(t);
  bench.sim.store.update('nodes', '', 'sim-node-2', (node) => (node['spec'].unschedulable = true));
  bench.sim.store.apply(workload('DaemonSet', 'ds', {}));
  await reaches(bench, 'daemonsets', 'ds', (o) => o['status']?.numberReady === 2);
  const nodes = bench.sim.store.list('pods', 'default').map((o) => o['spec'].nodeName);
  assert.deepEqual(nodes.sort(), ['sim-node-1', 'sim-node-2']);
});

const job = (name: string, spec: JsonObject, command: string[]): JsonObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: {
    ...spec,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox', command }] } },
  },
});
const condition =
  (type: string) =>
  (object: KubeObject): boolean =>
    (object['status']?.conditions ?? []).some((c: JsonObject) => c['type'] === type && c['status'] === 'True');

test('a Job completes, a failing one reaches its backoff limit', async (t) => {
  const bench = await start(t);
  bench.sim.store.apply(job('good', { completions: 3, parallelism: 2 }, ['true']));
  bench.sim.store.apply(job('bad', { backoffLimit: 1 }, ['sh', '-c', 'exit 3']));
  const good = await reaches(bench, 'jobs', 'good', condition('Complete'));
  assert.equal(good['status'].succeeded, 3);
  const bad = await reaches(bench, 'jobs', 'bad', condition('Failed'));
  assert.equal(bad['status'].failed, 2);
  const failed = bench.sim.store.list('pods').find((o) => o.metadata.labels?.['job-name'] === 'bad');
  assert.equal(failed?.['status'].containerStatuses[0].state.terminated.exitCode, 3);
});

test('a Service has the addresses of its ready pods, named ports resolved', async (t) => {
  const bench = await start(t);
  bench.sim.store.apply(workload('Deployment', 'd', { replicas: 2 }));
  bench.sim.store.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'd' },
    spec: { selector: { app: 'd' }, ports: [{ port: 80, targetPort: 'http' }] },
  });
  const endpoints = await reaches(bench, 'endpoints', 'd', (o) => o['subsets']?.[0]?.addresses.length === 2);
  assert.equal(endpoints['subsets'][0].ports[0].port, 8080);
});

test('a budget counts what may go', async (t) => {
  const bench = await start(t);
  bench.sim.store.apply(workload('Deployment', 'd', { replicas: 3 }));
  bench.sim.store.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b' },
    spec: { minAvailable: '50%', selector: { matchLabels: { app: 'd' } } },
  });
  const budget = await reaches(bench, 'poddisruptionbudgets', 'b', (o) => o['status']?.currentHealthy === 3);
  assert.deepEqual([budget['status'].desiredHealthy, budget['status'].disruptionsAllowed], [2, 1]);
});

test('every namespace gets a service account and the CA', async (t) => {
  const bench = await start(t);
  await reaches(bench, 'serviceaccounts', 'default', () => true);
  const map = await reaches(bench, 'configmaps', 'kube-root-ca.crt', () => true);
  assert.equal(map['data']['ca.crt'], bench.sim.caPem);
});

test('an aggregated role follows the roles it is made of', async (t) => {
  const bench = await start(t);
  const rules = [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['get'] }];
  const has = (name: string) => (): boolean =>
    JSON.stringify(bench.sim.store.get('clusterroles', '', name)?.['rules']).includes('widgets');
  bench.sim.store.apply({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'w', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
    rules,
  });
  await new Promise<void>((resolve) => {
    const stop = bench.sim.store.subscribe('clusterroles', () => {
      if (!['view', 'edit', 'admin'].every((name) => has(name)())) return;
      stop();
      resolve();
    });
  });
});

test('schedules that cannot be read are refused', () => {
  for (const good of ['* * * * *', '*/5 0 13 * 5', '0,30 1-3 2 jan fri', '0 3 * * 7', '@hourly'])
    assert.equal(isSchedule(good), true, good);
  for (const bad of [
    '',
    '* * * *',
    '60 * * * *',
    '* * * * mon-xyz',
    '*/0 * * * *',
    'a b c d e',
    '5-1 * * * *',
    '@never',
  ])
    assert.equal(isSchedule(bad), false, bad);
});
