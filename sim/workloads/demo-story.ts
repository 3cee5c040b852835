// Makes noticeable things happen in the demo's clusters, so that the console has something to show: a rollout that
// takes a while, a pod in a crash loop, and a cluster that is unreachable for a minute.
import type { Clock } from '../streams/clock.ts';
import { createClock } from '../streams/clock.ts';
import type { SimObjects } from '../api/objects.ts';
import { timestamp, type JsonObject } from '../model/types.ts';
import { sharedNamespace } from './workload-catalog.ts';

/** The part of a simulated cluster that this file uses. */
export interface StoryCluster {
  readonly store: SimObjects;
  setReachable(isReachable: boolean): Promise<void>;
}

const namespace = sharedNamespace.name;
/**
 * Milliseconds between the starts of two rollouts. A rollout takes about 30 seconds, so one is running a third of the
 * time.
 */
const rolloutEveryMs = 90_000;
/** Delay of the readiness probe in the rolled out Deployment, so that rollouts take a while. */
const readyAfterSeconds = 10;
/** Milliseconds between two crashes of the container in the crash loop. */
const crashEveryMs = 20_000;
/**
 * The third cluster is unreachable for the first time after `firstAbsenceMs`, each time for `absenceMs`, and again
 * every `absenceEveryMs`; all in milliseconds.
 */
const firstAbsenceMs = 100_000;
const absenceMs = 60_000;
const absenceEveryMs = 600_000;
/**
 * Milliseconds until the Deployments of this file are created, and then until their first change. They must come after
 * the first pods of the cluster, which workload-ages.ts makes look old.
 */
const firstStepsMs = 3_000;

/**
 * Starts the rollouts in the first cluster, the crash loop in the second, and makes the third unreachable at times.
 * With fewer than three clusters none becomes unreachable. A single cluster has rollouts and crash loop. `close` of the
 * result stops all of it.
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

/**
 * Calls `step` with 0 and 1 after `firstStepsMs` each, and from then on with the next number every `everyMs`. Returns a
 * function that stops this.
 */
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

/** A Deployment with one container in the namespace `shop`, which every cluster of the demo has. */
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

/**
 * Returns a function for {@link repeat}: the first call creates a Deployment, each later call rolls out another
 * version.
 */
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

/**
 * Returns a function for {@link repeat}: the first call creates a Deployment, each later call makes its container
 * crash.
 */
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

/** Creates the Event about the crashes of a pod, or increases its count. */
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
