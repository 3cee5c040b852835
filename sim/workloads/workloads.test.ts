import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createRandom } from '../model/random.ts';
import { startSimulator, type Simulator } from '../server.ts';
import type { Clock } from '../streams/clock.ts';
import { createChanges } from './workload-changes.ts';
import { demoUsers, liveWorkloads, seedWorkloads } from './workloads.ts';

async function simulator(t: TestContext, name: string): Promise<Simulator> {
  const started = await startSimulator({ name, controllers: { podStartMs: 1, podStopMs: 1, jobRunMs: 1 } });
  t.after(() => started.close());
  return started;
}

/** Resolves once `holds` is true after some change of a pod. */
function podsUntil({ store }: Simulator, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (!holds()) return;
      end();
      resolve();
    };
    const end = store.subscribe('Pod', () => setImmediate(check));
    check();
  });
}

const running = ({ store }: Simulator): number =>
  store.list('Pod').filter((pod) => pod['status']?.phase === 'Running').length;

const images = ({ store }: Simulator): string =>
  store
    .list('Deployment')
    .map((object) => `${object.metadata.namespace}/${object['spec'].template.spec.containers[0].image}`)
    .join('\n');

describe('seeded workloads', () => {
  it('are 10 to 30 pods that all run, with owners, labels, services and a past', async (t) => {
    const sim = await simulator(t, 'alpha');
    const seeded = seedWorkloads(sim.store, { name: 'alpha', seed: 1 });
    assert.ok(seeded.podCount >= 10 && seeded.podCount <= 30, `${seeded.podCount} pods`);
    await podsUntil(sim, () => running(sim) === seeded.podCount);
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    await podsUntil(sim, () => sim.store.list('Pod').some((pod) => pod.metadata.creationTimestamp < hourAgo));
    for (const pod of sim.store.list('Pod')) {
      for (const label of ['app', 'tier', 'team', 'version'])
        assert.ok(pod.metadata.labels?.[label], `${label} of ${pod.metadata.name}`);
      assert.equal(pod.metadata.ownerReferences?.length, 1);
      assert.ok(sim.store.get('Service', pod.metadata.namespace ?? '', pod.metadata.labels?.['app'] ?? ''));
    }
    assert.ok(sim.store.list('Deployment', 'shop').length > 0, "ben's namespace has something to show");
  });

  it('differ from cluster to cluster and repeat for the same seed', async (t) => {
    const [alpha, beta, again] = await Promise.all(['alpha', 'beta', 'alpha'].map((name) => simulator(t, name)));
    assert.ok(alpha && beta && again);
    for (const sim of [alpha, beta, again]) seedWorkloads(sim.store, { name: sim.name, seed: 1 });
    assert.notEqual(images(alpha), images(beta));
    assert.equal(images(alpha), images(again));
  });

  it('stay between 10 and 30 pods for any name', async (t) => {
    const sim = await startSimulator({ controllers: false });
    t.after(() => sim.close());
    for (let i = 0; i < 30; i++) {
      const { podCount, close } = seedWorkloads(sim.store, { name: `cluster-${i}`, seed: i });
      close();
      assert.ok(podCount >= 10 && podCount <= 30, `${podCount} pods in cluster-${i}`);
    }
  });

  it('give ada view and edit everywhere and ben view in one namespace', async (t) => {
    const sim = await simulator(t, 'alpha');
    seedWorkloads(sim.store, { name: 'alpha', seed: 1 }).close();
    const bindings = [...sim.store.list('ClusterRoleBinding'), ...sim.store.list('RoleBinding')]
      .filter((object) => object.metadata.name.startsWith('demo:'))
      .map((object) => [object['subjects'][0].name, object['roleRef'].name, object.metadata.namespace]);
    assert.deepEqual(bindings.sort(), [
      ['ada', 'demo:cluster-reader', undefined],
      ['ada', 'edit', undefined],
      ['ada', 'view', undefined],
      ['ben', 'view', 'shop'],
    ]);
    assert.deepEqual(
      demoUsers.map(({ name, namespace }) => [name, namespace]),
      [
        ['ada', undefined],
        ['ben', 'shop'],
      ],
    );
  });
});

describe('live workloads', () => {
  it('restart, roll out, scale, evict and report, and the cluster stays healthy', async (t) => {
    const sim = await simulator(t, 'gamma');
    const seeded = seedWorkloads(sim.store, { name: 'gamma', seed: 3 });
    await podsUntil(sim, () => running(sim) === seeded.podCount);
    const before = images(sim);
    const change = createChanges(sim.store, createRandom('test'), {
      now: () => Date.now(),
      after: () => () => undefined,
    });
    for (let i = 0; i < 120; i++) {
      change();
      if (i % 20 === 0) await new Promise(setImmediate);
    }
    const reasons = new Set(sim.store.list('Event').map((event) => event['reason'] as string));
    for (const reason of ['Started', 'SuccessfulRescale', 'Evicted', 'Unhealthy'])
      assert.ok(reasons.has(reason), reason);
    assert.notEqual(images(sim), before);
    const wanted = (): number =>
      [...sim.store.list('Deployment'), ...sim.store.list('StatefulSet')].reduce(
        (sum, object) => sum + Number(object['spec'].replicas),
        0,
      ) + sim.store.list('Node').length;
    await podsUntil(sim, () => running(sim) === wanted() && sim.store.list('Pod').length === wanted());
    assert.ok(wanted() <= 40, `${wanted()} pods`);
  });

  it('leave alone what people made or changed', async (t) => {
    const sim = await startSimulator({ controllers: false });
    t.after(() => sim.close());
    seedWorkloads(sim.store, { name: 'alpha', seed: 1 }).close();
    const change = createChanges(sim.store, createRandom('test'), {
      now: () => Date.now(),
      after: () => () => undefined,
    });
    change();
    const template = { metadata: { labels: { app: 'own' } }, spec: { containers: [{ name: 'own', image: 'own:1' }] } };
    const spec = { replicas: 2, selector: { matchLabels: { app: 'own' } }, template };
    sim.store.apply({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'own', namespace: 'shop' }, spec });
    for (const object of sim.store.list('Deployment', 'shop')) {
      sim.store.update('Deployment', 'shop', object.metadata.name, (next) => {
        next.metadata.generation = (next.metadata.generation ?? 1) + 1;
        next['spec'].replicas = 7;
      });
    }
    const revisions = (): string[] =>
      sim.store.list('Deployment', 'shop').map((object) => object.metadata.resourceVersion);
    const held = revisions();
    for (let i = 0; i < 200; i++) change();
    assert.deepEqual(revisions(), held);
  });

  it('forget events after an hour, and stop with close', async (t) => {
    const sim = await startSimulator({ controllers: false });
    t.after(() => sim.close());
    seedWorkloads(sim.store, { name: 'alpha', seed: 1 }).close();
    let nowMs = Date.now();
    let next: (() => void) | undefined;
    const clock: Clock = { now: () => nowMs, after: (_delayMs, run) => ((next = run), () => (next = undefined)) };
    const live = liveWorkloads(sim.store, { name: 'alpha', seed: 1, clock });
    for (let i = 0; i < 100; i++) next?.();
    assert.ok(sim.store.list('Event').length > 5);
    nowMs += 3_600_000;
    next?.();
    assert.ok(sim.store.list('Event').length <= 1);
    live.close();
    assert.equal(next, undefined);
  });
});
