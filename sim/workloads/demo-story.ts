// What goes on in the demo's clusters beside everyday changes, so that the console has something to find: a rollout
// that takes a while, a pod in a crash loop, and a cluster that goes away for a minute.
import type { Clock } from '../streams/clock.ts';
import { createClock } from '../streams/clock.ts';
import type { SimObjects } from '../api/objects.ts';
import { timestamp, type JsonObject } from '../types.ts';
import { sharedNamespace } from './workload-catalog.ts';

/** What the story needs of a simulated cluster. */
export interface StoryCluster {
  readonly store: SimObjects;
  setReachable(isReachable: boolean): Promise<void>;
}

const namespace = sharedNamespace.name;
/** Milliseconds. A rollout takes about 30 seconds, so that one is under way a third of the time. */
const rolloutEveryMs = 90_000;
const readyAfterSeconds = 10;
const crashEveryMs = 20_000;
const firstAbsenceMs = 100_000;
const absenceMs = 60_000;
const absenceEveryMs = 600_000;
/** The first pods of a cluster are made to look old; those of the story come after them. */
const firstStepsMs = 3_000;

/**
 * Begins the story: the rollout in the first cluster, the crash loop in the second, the absence of the third. With
 * fewer clusters none goes away, and a single one has both of the others.
 * @param clusters at least one
 */
export function tellStory(clusters: readonly StoryCluster[], clock: Clock = createClock()): { close(): void } {
  const closers = [
    repeat(clock, rolloutEveryMs, rollouts(clusters[0]!.store)),
    repeat(clock, crashEveryMs, crashes((clusters[1] ?? clusters[0]!).store, clock)),
  ];
  const third = clusters[2];
  if (third !== undefined) closers.push(leaveAtTimes(third, clock));
  return {
    close() {
      for (const close of closers) close();
    },
  };
}

/** Takes the first step of an act soon, the second a little later, and the others at regular times. */
function repeat(clock: Clock, everyMs: number, step: (turn: number) => void): () => void {
  let cancel = (): void => undefined;
  const schedule = (turn: number): void => {
    cancel = clock.after(turn < 2 ? firstStepsMs : everyMs, () => {
      step(turn);
      schedule(turn + 1);
    });
  };
  schedule(0);
  return () => cancel();
}

function leaveAtTimes(cluster: StoryCluster, clock: Clock): () => void {
  let cancel = (): void => undefined;
  const leave = (): void => {
    void cluster.setReachable(false);
    cancel = clock.after(absenceMs, () => {
      void cluster.setReachable(true);
      cancel = clock.after(absenceEveryMs - absenceMs, leave);
    });
  };
  cancel = clock.after(firstAbsenceMs, leave);
  return () => cancel();
}

/** A Deployment of the namespace that all clusters have, with one container. */
function deployment(name: string, replicas: number, image: string): JsonObject {
  const labels = { app: name, tier: 'api', team: sharedNamespace.team };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels }, spec: { containers: [{ name, image }] } },
    },
  };
}

const versions = ['3.1.0', '3.2.0', '3.2.1'];

/** Creates a Deployment at the first step and rolls out another version at each of the others. */
function rollouts(store: SimObjects): (turn: number) => void {
  const name = 'recommendations';
  const image = `ghcr.io/example/${name}`;
  const readinessProbe = { httpGet: { path: '/ready', port: 8080 }, initialDelaySeconds: readyAfterSeconds };
  return (turn) => {
    if (turn === 0) store.apply(deployment(name, 4, `${image}:${versions[0]}`));
    else if (store.get('Deployment', namespace, name) !== undefined) {
      store.update('Deployment', namespace, name, (next) => {
        next.metadata.generation = (next.metadata.generation ?? 1) + 1;
        const version = versions[turn % versions.length];
        Object.assign(next['spec'].template.spec.containers[0], { image: `${image}:${version}`, readinessProbe });
      });
    }
  };
}

/** Creates a Deployment at the first step, and lets its container crash at each of the others. */
function crashes(store: SimObjects, clock: Clock): (turn: number) => void {
  const name = 'payments';
  return (turn) => {
    if (turn === 0) store.apply(deployment(name, 1, `ghcr.io/example/${name}:2.0.0`));
    const nowMs = clock.now();
    for (const pod of store.list('Pod', namespace)) {
      if (pod.metadata.labels?.['app'] !== name || pod['status']?.phase !== 'Running') continue;
      store.update('Pod', namespace, pod.metadata.name, (next) => crash(next['status'], name, nowMs));
      say(store, pod.metadata, nowMs);
    }
  };
}

function crash(status: JsonObject, container: string, nowMs: number): void {
  const [entry] = (status['containerStatuses'] ?? []) as JsonObject[];
  if (entry === undefined) return;
  const startedAt = timestamp(new Date(nowMs - 9_000));
  const message = `back-off 20s restarting failed container=${container}`;
  Object.assign(entry, {
    ready: false,
    started: false,
    restartCount: Number(entry['restartCount'] ?? 0) + 1,
    lastState: { terminated: { exitCode: 1, reason: 'Error', startedAt, finishedAt: timestamp(new Date(nowMs)) } },
    state: { waiting: { reason: 'CrashLoopBackOff', message } },
  });
  for (const condition of status['conditions'] as JsonObject[]) {
    if (!['Ready', 'ContainersReady'].includes(condition['type']) || condition['status'] === 'False') continue;
    const lastTransitionTime = timestamp(new Date(nowMs));
    Object.assign(condition, { status: 'False', reason: 'ContainersNotReady', lastTransitionTime });
  }
}

/** One event that counts the crashes of a pod. */
function say(store: SimObjects, pod: { name: string; uid: string }, nowMs: number): void {
  const name = `${pod.name}.backoff`;
  const now = timestamp(new Date(nowMs));
  const earlier = store.get('Event', namespace, name);
  store.apply({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name: pod.name, namespace, uid: pod.uid },
    type: 'Warning',
    reason: 'BackOff',
    message: `Back-off restarting failed container in pod ${pod.name}_${namespace}`,
    source: { component: 'kubelet' },
    firstTimestamp: earlier?.['firstTimestamp'] ?? now,
    lastTimestamp: now,
    count: Number(earlier?.['count'] ?? 0) + 1,
  });
}
