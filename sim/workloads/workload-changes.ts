// The changes of a living cluster, one for each call: a container restarts, a Deployment rolls to its next version
// or scales, a pod is evicted, a probe fails. A workload that somebody else changed is left alone from then on.
import type { Random } from './random.ts';
import type { Clock } from '../streams/clock.ts';
import { timestamp, type JsonObject, type KubeObject } from '../types.ts';
import {
  platformNamespaces,
  sharedNamespace,
  systemNamespace,
  teamNamespaces,
  type AppTemplate,
} from './workload-catalog.ts';
import { liveLabel, versionLabel } from './workload-objects.ts';
import type { WorkloadStore } from './workload-store.ts';

/** As kube-apiserver's --event-ttl. */
const eventTtlMs = 3_600_000;
/** A workload grows by at most this many replicas over what its template allows. */
const extraReplicas = 1;

/** Makes the function that changes one thing, or nothing when there is nothing it may change. */
export function createChanges(store: WorkloadStore, random: Random, clock: Clock): () => void {
  /** Generation of each workload after our last change. Another one means that it was changed by others. */
  const generations = new Map<string, number>();

  function own(kind: 'Deployment' | 'StatefulSet'): readonly KubeObject[] {
    return store.list(kind).filter((object) => {
      if (object.metadata.labels?.[liveLabel] !== 'true' || object.metadata.deletionTimestamp !== undefined)
        return false;
      const { uid, generation = 1 } = object.metadata;
      const expected = generations.get(uid) ?? generation;
      generations.set(uid, expected);
      return expected === generation;
    });
  }

  function changeSpec(object: KubeObject, change: (spec: JsonObject, next: KubeObject) => void): void {
    const { namespace = '', name, uid } = object.metadata;
    store.update(object.kind, namespace, name, (next) => {
      next.metadata.generation = (next.metadata.generation ?? 1) + 1;
      generations.set(uid, next.metadata.generation);
      change(next['spec'] as JsonObject, next);
    });
  }

  function somePod(): KubeObject | undefined {
    const owned = new Set([...own('Deployment'), ...own('StatefulSet')].map(placeOf));
    const pods = store
      .list('Pod')
      .filter((pod) => pod['status']?.phase === 'Running' && pod.metadata.deletionTimestamp === undefined)
      .filter((pod) => owned.has(`${pod.metadata.namespace ?? ''}/${pod.metadata.labels?.['app'] ?? ''}`));
    return pods.length === 0 ? undefined : random.pick(pods);
  }

  function restart(): void {
    const pod = somePod();
    if (pod === undefined) return;
    const { namespace = '', name } = pod.metadata;
    const now = timestamp(new Date(clock.now()));
    store.update('Pod', namespace, name, (next) => {
      const [entry] = (next['status'].containerStatuses ?? []) as JsonObject[];
      const startedAt: unknown = entry?.['state']?.running?.startedAt;
      if (entry === undefined || startedAt === undefined) return;
      const [exitCode, reason] = random.pick([[137, 'OOMKilled'] as const, [1, 'Error'] as const]);
      entry['restartCount'] = Number(entry['restartCount'] ?? 0) + 1;
      entry['lastState'] = { terminated: { exitCode, reason, startedAt, finishedAt: now } };
      entry['state'] = { running: { startedAt: now } };
    });
    say(pod, 'Normal', 'Started', `Started container ${pod['spec'].containers[0].name}`, 'kubelet');
  }

  function rollOut(): void {
    const deployments = own('Deployment').filter((object) => (templateOf(object)?.versions.length ?? 0) > 1);
    if (deployments.length === 0) return;
    const deployment = random.pick(deployments);
    const app = templateOf(deployment);
    if (app === undefined) return;
    changeSpec(deployment, (spec, next) => {
      const [container] = spec['template'].spec.containers as JsonObject[];
      const current = String(container?.['image']).slice(app.image.length + 1);
      const version = app.versions[(app.versions.indexOf(current) + 1) % app.versions.length] ?? current;
      if (container === undefined) return;
      container['image'] = `${app.image}:${version}`;
      for (const entry of container['env'] as JsonObject[]) if (entry['name'] === 'VERSION') entry['value'] = version;
      spec['template'].metadata.labels.version = versionLabel(version);
      const cause = `release ${app.name} ${version}`;
      next.metadata.annotations = { ...next.metadata.annotations, 'kubernetes.io/change-cause': cause };
    });
  }

  function scale(): void {
    const workloads = own('Deployment');
    if (workloads.length === 0) return;
    const workload = random.pick(workloads);
    const app = templateOf(workload);
    if (app === undefined) return;
    const [least, most] = app.replicas;
    const replicas = Number(workload['spec'].replicas);
    const wanted = replicas > most || (replicas > least && random.next() < 0.5) ? replicas - 1 : replicas + 1;
    if (wanted > most + extraReplicas) return;
    changeSpec(workload, (spec) => (spec['replicas'] = wanted));
    const direction = wanted > replicas ? 'above' : 'below';
    const message = `New size: ${wanted}; reason: cpu resource utilization (percentage of request) ${direction} target`;
    say(workload, 'Normal', 'SuccessfulRescale', message, 'horizontal-pod-autoscaler');
  }

  function evict(): void {
    const pod = somePod();
    if (pod === undefined) return;
    say(pod, 'Normal', 'Evicted', 'The node was low on resource: memory.', 'kubelet');
    store.remove('Pod', pod.metadata.namespace ?? '', pod.metadata.name);
  }

  function failProbe(): void {
    const pod = somePod();
    const message = 'Readiness probe failed: HTTP probe failed with statuscode: 503';
    if (pod !== undefined) say(pod, 'Warning', 'Unhealthy', message, 'kubelet');
  }

  function say(about: KubeObject, type: string, reason: string, message: string, component: string): void {
    const { namespace = 'default', name, uid, resourceVersion } = about.metadata;
    const now = timestamp(new Date(clock.now()));
    store.apply({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.${Math.floor(random.next() * 2 ** 48).toString(16)}`, namespace },
      involvedObject: { apiVersion: about.apiVersion, kind: about.kind, name, namespace, uid, resourceVersion },
      type,
      reason,
      message,
      source: { component },
      reportingComponent: component,
      reportingInstance: '',
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      eventTime: null,
    });
  }

  function forgetOldEvents(): void {
    for (const event of store.list('Event')) {
      if (clock.now() - Date.parse(String(event['lastTimestamp'] ?? '')) < eventTtlMs) continue;
      store.remove('Event', event.metadata.namespace ?? '', event.metadata.name);
    }
  }

  const changes = [restart, rollOut, rollOut, scale, scale, evict, failProbe, failProbe];
  return () => {
    forgetOldEvents();
    random.pick(changes)();
  };
}

function placeOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

function templateOf(object: KubeObject): AppTemplate | undefined {
  const all = [systemNamespace, sharedNamespace, ...platformNamespaces, ...teamNamespaces];
  const namespace = all.find((template) => template.name === object.metadata.namespace);
  return namespace?.apps.find((app) => app.name === object.metadata.name);
}
