// Simulates scheduler and kubelet: pods get a node, start, run, end and are removed, each after a short delay. A pod
// that is stored with container statuses, by the demo or a test, keeps these and is not started.
import type { Cluster } from '../call/cluster.ts';
import { startDeletion } from '../api/delete.ts';
import { timestamp, type JsonObject, type KubeObject } from '../model/types.ts';
import { endPod, terminated } from './container-exit.ts';
import { controllerOf, edit, hashText, isOver, recordEvent } from './objects.ts';

const key = '/pods';

/** How long pods take to start, stop and run in the simulated cluster, in milliseconds. Tests shorten these times. */
export interface ControllerDelays {
  /** The time from the scheduling of a pod until it runs. */
  readonly podStartMs: number;
  /** The time from the deletion of a pod until it is gone; never longer than the pod's grace period. */
  readonly podStopMs: number;
  /** How long the pod of a Job runs. */
  readonly jobRunMs: number;
}

/** Starts to simulate scheduler and kubelet for all pods that exist and for all later ones. */
export function startKubelet(cluster: Cluster, delays: ControllerDelays): void {
  const { store, timers } = cluster;
  /**
   * The delayed actions that wait for their timer, by pod uid and action. An action is not scheduled again while it
   * waits.
   */
  const pending = new Set<string>();
  const schedule = (): string | undefined => {
    const usable = store.list('/nodes').filter((node) => node['spec']?.unschedulable !== true);
    const load = new Map(usable.map((node) => [node.metadata.name, 0]));
    for (const pod of store.list(key)) {
      const node: string = pod['spec']?.nodeName ?? '';
      if (load.has(node) && !isOver(pod)) load.set(node, (load.get(node) ?? 0) + 1);
    }
    return [...load].sort((a, b) => a[1] - b[1])[0]?.[0];
  };
  const step = (pod: KubeObject, name: string, delayMs: number, run: (latest: KubeObject) => void): void => {
    const id = `${pod.metadata.uid} ${name}`;
    if (pending.has(id)) return;
    pending.add(id);
    timers.after(delayMs, () => {
      pending.delete(id);
      const latest = store.get(key, pod.metadata.namespace ?? '', pod.metadata.name);
      if (latest?.metadata.uid === pod.metadata.uid) run(latest);
    });
  };
  const care = (pod: KubeObject): void => {
    const { spec = {}, status = {} } = pod as JsonObject;
    if (pod.metadata.deletionTimestamp !== undefined) {
      const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000;
      step(pod, 'stop', Math.min(delays.podStopMs, graceMs), (latest) => stopPod(cluster, latest));
    } else if ((spec.nodeName ?? '') === '') {
      if (spec.schedulerName === 'default-scheduler' && (spec.schedulingGates ?? []).length === 0)
        step(pod, 'schedule', 2, (latest) => bindToNode(cluster, latest, schedule()));
    } else if (status.phase === 'Pending' && status.containerStatuses === undefined) {
      step(pod, 'start', delays.podStartMs, (latest) => startPod(cluster, latest));
    } else if (status.phase === 'Running') {
      const delaySeconds = Math.max(0, ...(spec.containers as JsonObject[]).map(readyDelayOf));
      if (delaySeconds > 0) step(pod, 'ready', delaySeconds * 1000, (latest) => becomeReady(cluster, latest));
      if (controllerOf(pod)?.kind === 'Job')
        step(pod, 'finish', delays.jobRunMs, (latest) => finishPod(cluster, latest));
      if ((spec.ephemeralContainers ?? []).length > (status.ephemeralContainerStatuses ?? []).length)
        step(pod, 'debug', delays.podStartMs, (latest) => startEphemeral(cluster, latest));
      step(pod, 'images', delays.podStartMs, (latest) => followImages(cluster, latest));
    }
  };
  store.subscribe(key, ({ type, object }) => {
    if (type !== 'DELETED') care(object);
  });
  store.subscribe('/nodes', () => {
    for (const pod of store.list(key)) if ((pod['spec']?.nodeName ?? '') === '') care(pod);
  });
  for (const pod of store.list(key)) care(pod);
}

function bindToNode(cluster: Cluster, pod: KubeObject, node: string | undefined): void {
  const { namespace, name } = pod.metadata;
  if ((pod['spec']?.nodeName ?? '') !== '') return;
  const reason = 'Unschedulable';
  const message = '0/0 nodes are available: no nodes available to schedule pods';
  const outcome = node === undefined ? { status: 'False', reason, message } : { status: 'True' };
  edit(cluster, key, pod, (next) => {
    if (node !== undefined) next['spec'].nodeName = node;
    const condition = { type: 'PodScheduled', lastTransitionTime: timestamp(cluster.now()), ...outcome };
    next['status'] = { ...next['status'], conditions: [condition] };
  });
  if (node === undefined) return;
  const assigned = `Successfully assigned ${namespace}/${name} to ${node}`;
  recordEvent(cluster, pod, 'Normal', 'Scheduled', assigned, 'default-scheduler');
}

/** An IP address in 10.244.0.0/16 that is computed from the pod's uid. */
function addressOf(pod: KubeObject): string {
  let hash = 0;
  for (const character of pod.metadata.uid) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return `10.244.${hash % 250}.${((hash >>> 8) % 250) + 2}`;
}

/** How many seconds after its start a container is ready. The simulated readiness probe succeeds the first time. */
function readyDelayOf(container: JsonObject): number {
  return container['readinessProbe']?.initialDelaySeconds ?? 0;
}

/**
 * Makes the containers of a pod ready after their readiness probes. Does nothing unless every container runs or is
 * ready.
 */
function becomeReady(cluster: Cluster, pod: KubeObject): void {
  const isWaiting = (entry: JsonObject): boolean => entry['ready'] === false && entry['state']?.running !== undefined;
  const statuses: readonly JsonObject[] = pod['status']?.containerStatuses ?? [];
  if (!statuses.some(isWaiting) || !statuses.every((entry) => entry['ready'] === true || isWaiting(entry))) return;
  const now = timestamp(cluster.now());
  edit(cluster, key, pod, (next) => {
    for (const entry of next['status'].containerStatuses as JsonObject[]) entry['ready'] = true;
    for (const condition of next['status'].conditions as JsonObject[]) {
      if (condition['status'] === 'True') continue;
      delete condition['reason'];
      Object.assign(condition, { status: 'True', lastTransitionTime: now });
    }
  });
}

function runningStatus(container: JsonObject, uid: string, startedAt: string): JsonObject {
  const image: string = container['image'] ?? '';
  return {
    name: container['name'],
    state: { running: { startedAt } },
    lastState: {},
    ready: readyDelayOf(container) === 0,
    restartCount: 0,
    image,
    imageID: `sim://${hashText(image)}`,
    containerID: `sim://${hashText([uid, container['name'], startedAt])}`,
    started: true,
  };
}

function startPod(cluster: Cluster, pod: KubeObject): void {
  if (pod['status']?.phase !== 'Pending' || pod.metadata.deletionTimestamp !== undefined) return;
  const now = timestamp(cluster.now());
  const { spec } = pod as JsonObject;
  const isReadyAtOnce = (spec.containers as JsonObject[]).every((container) => readyDelayOf(container) === 0);
  const conditionOf = (type: string): JsonObject => ({
    type,
    ...(isReadyAtOnce || !['Ready', 'ContainersReady'].includes(type)
      ? { status: 'True' }
      : { status: 'False', reason: 'ContainersNotReady' }),
    lastProbeTime: null,
    lastTransitionTime: now,
  });
  const node = cluster.store.get('/nodes', '', spec.nodeName);
  const hostIP = ((node?.['status']?.addresses ?? []) as JsonObject[]).find(
    (address) => address['type'] === 'InternalIP',
  )?.['address'];
  const podIP = addressOf(pod);
  edit(cluster, key, pod, (next) => {
    next['status'] = {
      ...next['status'],
      phase: 'Running',
      observedGeneration: next.metadata.generation,
      conditions: ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(
        conditionOf,
      ),
      ...(hostIP === undefined ? {} : { hostIP, hostIPs: [{ ip: hostIP }] }),
      podIP,
      podIPs: [{ ip: podIP }],
      startTime: now,
      ...((spec.initContainers ?? []).length === 0
        ? {}
        : {
            initContainerStatuses: spec.initContainers.map((container: JsonObject) =>
              initStatus(container, pod.metadata.uid, now),
            ),
          }),
      containerStatuses: spec.containers.map((container: JsonObject) =>
        runningStatus(container, pod.metadata.uid, now),
      ),
    };
  });
  for (const container of spec.containers as JsonObject[]) {
    const say = (reason: string, message: string): void =>
      recordEvent(cluster, pod, 'Normal', reason, message, 'kubelet');
    say('Pulled', `Container image "${container['image']}" already present on machine`);
    say('Created', `Created container: ${container['name']}`);
    say('Started', `Started container ${container['name']}`);
  }
}

function initStatus(container: JsonObject, uid: string, now: string): JsonObject {
  const running = runningStatus(container, uid, now);
  if (container['restartPolicy'] === 'Always') return running;
  return { ...running, started: false, state: { terminated: terminated(now, now, 0) } };
}

/**
 * The exit code for the container of a Job: the code with which its command ends (`exit 3`, or 1 for `false`),
 * otherwise 0.
 */
function exitCodeOf(container: JsonObject): number {
  const command = [...(container['command'] ?? []), ...(container['args'] ?? [])].join(' ').trim();
  const explicit = /(?:^|[\s;&|])exit (\d+)\s*$/.exec(command)?.[1];
  if (explicit !== undefined) return Number(explicit);
  return /(?:^|[\s;&|/])false$/.test(command) ? 1 : 0;
}

function finishPod(cluster: Cluster, pod: KubeObject): void {
  if (pod['status']?.phase !== 'Running' || pod.metadata.deletionTimestamp !== undefined) return;
  const now = timestamp(cluster.now());
  edit(cluster, key, pod, (next) => {
    const codes = new Map(((next['spec'].containers ?? []) as JsonObject[]).map((c) => [c['name'], exitCodeOf(c)]));
    const statuses: readonly JsonObject[] = next['status'].containerStatuses ?? [];
    for (const entry of statuses) {
      const startedAt: string = entry['state']?.running?.startedAt ?? now;
      const state = { terminated: terminated(startedAt, now, codes.get(entry['name']) ?? 0) };
      Object.assign(entry, { ready: false, started: false, state });
    }
    endPod(next['status'], statuses, now);
  });
}

function startEphemeral(cluster: Cluster, pod: KubeObject): void {
  const now = timestamp(cluster.now());
  edit(cluster, key, pod, (next) => {
    const known: JsonObject[] = next['status'].ephemeralContainerStatuses ?? [];
    const added = (next['spec'].ephemeralContainers as JsonObject[]).filter(
      (c) => !known.some((entry) => entry['name'] === c['name']),
    );
    const statuses = added.map((container) => ({ ...runningStatus(container, pod.metadata.uid, now), ready: false }));
    next['status'].ephemeralContainerStatuses = [...known, ...statuses];
  });
}

/** Restarts containers whose image was changed in the pod's spec. */
function followImages(cluster: Cluster, pod: KubeObject): void {
  const images = new Map(((pod['spec']?.containers ?? []) as JsonObject[]).map((c) => [c['name'], c['image']]));
  const isStale = (entry: JsonObject): boolean =>
    String(entry['containerID']).startsWith('sim://') &&
    images.has(entry['name']) &&
    images.get(entry['name']) !== entry['image'];
  if (!((pod['status']?.containerStatuses ?? []) as JsonObject[]).some(isStale)) return;
  const now = timestamp(cluster.now());
  edit(cluster, key, pod, (next) => {
    for (const entry of next['status'].containerStatuses as JsonObject[]) {
      if (!isStale(entry)) continue;
      const startedAt: string = entry['state']?.running?.startedAt ?? now;
      entry['lastState'] = { terminated: terminated(startedAt, now, 0) };
      Object.assign(entry, {
        image: images.get(entry['name']),
        restartCount: entry['restartCount'] + 1,
        state: { running: { startedAt: now } },
      });
    }
  });
}

function stopPod(cluster: Cluster, pod: KubeObject): void {
  const resource = cluster.registry.findPlural('', 'pods');
  if (resource !== undefined && pod.metadata.deletionTimestamp !== undefined)
    startDeletion(cluster, resource, pod, { gracePeriodSeconds: 0 });
}
