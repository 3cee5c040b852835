// Makes random changes as they happen in a real cluster: a container restarts, a Deployment is updated or scaled, a pod
// is evicted, a probe fails. A workload that a user has changed is left alone from then on.
import type { Random } from '../model/random.ts';
import type { Clock } from '../streams/clock.ts';
import { timestamp, type JsonObject, type KubeObject } from '../model/types.ts';
import {
  platformNamespaces,
  sharedNamespace,
  systemNamespace,
  teamNamespaces,
  type AppTemplate,
} from './workload-catalog.ts';
import { liveLabel, versionLabel } from './workload-objects.ts';
import type { SimObjects } from '../api/objects.ts';

/** How long Events are kept, in milliseconds; the default of kube-apiserver's --event-ttl. */
const eventTtlMs = 3_600_000;
/** A Deployment is scaled to at most this many replicas above the maximum in workload-catalog.ts. */
const extraReplicas = 1;

/**
 * Returns a function that makes one change each time it is called. The function does nothing when no workload may be
 * changed.
 */
export function createChanges(store: SimObjects, random: Random, clock: Clock): () => void {
  const changes = new Changes(store, random, clock);
  return () => changes.next();
}

class Changes {
  readonly #store: SimObjects;
  readonly #random: Random;
  readonly #clock: Clock;
  /**
   * The metadata.generation of each workload after the last change by this class, by uid. A workload with another
   * generation was changed by a user.
   */
  readonly #generations = new Map<string, number>();

  constructor(store: SimObjects, random: Random, clock: Clock) {
    this.#store = store;
    this.#random = random;
    this.#clock = clock;
  }

  next(): void {
    this.#forgetOldEvents();
    const change = this.#random.pick([
      this.#restart,
      this.#rollOut,
      this.#rollOut,
      this.#scale,
      this.#scale,
      this.#evict,
      this.#failProbe,
      this.#failProbe,
    ]);
    change.call(this);
  }

  #own(kind: 'Deployment' | 'StatefulSet'): readonly KubeObject[] {
    return this.#store.list(kind).filter((object) => {
      if (object.metadata.labels?.[liveLabel] !== 'true' || object.metadata.deletionTimestamp !== undefined)
        return false;
      const { uid, generation = 1 } = object.metadata;
      const expected = this.#generations.get(uid) ?? generation;
      this.#generations.set(uid, expected);
      return expected === generation;
    });
  }

  #changeSpec(object: KubeObject, change: (spec: JsonObject, next: KubeObject) => void): void {
    const { namespace = '', name, uid } = object.metadata;
    this.#store.update(object.kind, namespace, name, (next) => {
      next.metadata.generation = (next.metadata.generation ?? 1) + 1;
      this.#generations.set(uid, next.metadata.generation);
      change(next['spec'] as JsonObject, next);
    });
  }

  #somePod(): KubeObject | undefined {
    const owned = new Set([...this.#own('Deployment'), ...this.#own('StatefulSet')].map(placeOf));
    const pods = this.#store
      .list('Pod')
      .filter((pod) => pod['status']?.phase === 'Running' && pod.metadata.deletionTimestamp === undefined)
      .filter((pod) => owned.has(`${pod.metadata.namespace ?? ''}/${pod.metadata.labels?.['app'] ?? ''}`));
    return pods.length === 0 ? undefined : this.#random.pick(pods);
  }

  #restart(): void {
    const pod = this.#somePod();
    if (pod === undefined) return;
    const { namespace = '', name } = pod.metadata;
    const now = timestamp(new Date(this.#clock.now()));
    this.#store.update('Pod', namespace, name, (next) => {
      const [entry] = (next['status'].containerStatuses ?? []) as JsonObject[];
      const startedAt: unknown = entry?.['state']?.running?.startedAt;
      if (entry === undefined || startedAt === undefined) return;
      const [exitCode, reason] = this.#random.pick([[137, 'OOMKilled'] as const, [1, 'Error'] as const]);
      entry['restartCount'] = Number(entry['restartCount'] ?? 0) + 1;
      entry['lastState'] = { terminated: { exitCode, reason, startedAt, finishedAt: now } };
      entry['state'] = { running: { startedAt: now } };
    });
    this.#say(pod, 'Normal', 'Started', `Started container ${pod['spec'].containers[0].name}`, 'kubelet');
  }

  #rollOut(): void {
    const deployments = this.#own('Deployment').filter((object) => (templateOf(object)?.versions.length ?? 0) > 1);
    if (deployments.length === 0) return;
    const deployment = this.#random.pick(deployments);
    const app = templateOf(deployment);
    if (app === undefined) return;
    this.#changeSpec(deployment, (spec, next) => {
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

  #scale(): void {
    const workloads = this.#own('Deployment');
    if (workloads.length === 0) return;
    const workload = this.#random.pick(workloads);
    const app = templateOf(workload);
    if (app === undefined) return;
    const [least, most] = app.replicas;
    const replicas = Number(workload['spec'].replicas);
    const wanted = replicas > most || (replicas > least && this.#random.next() < 0.5) ? replicas - 1 : replicas + 1;
    if (wanted > most + extraReplicas) return;
    this.#changeSpec(workload, (spec) => (spec['replicas'] = wanted));
    const direction = wanted > replicas ? 'above' : 'below';
    const message = `New size: ${wanted}; reason: cpu resource utilization (percentage of request) ${direction} target`;
    this.#say(workload, 'Normal', 'SuccessfulRescale', message, 'horizontal-pod-autoscaler');
  }

  #evict(): void {
    const pod = this.#somePod();
    if (pod === undefined) return;
    this.#say(pod, 'Normal', 'Evicted', 'The node was low on resource: memory.', 'kubelet');
    this.#store.remove('Pod', pod.metadata.namespace ?? '', pod.metadata.name);
  }

  #failProbe(): void {
    const pod = this.#somePod();
    const message = 'Readiness probe failed: HTTP probe failed with statuscode: 503';
    if (pod !== undefined) this.#say(pod, 'Warning', 'Unhealthy', message, 'kubelet');
  }

  #say(about: KubeObject, type: string, reason: string, message: string, component: string): void {
    const { namespace = 'default', name, uid, resourceVersion } = about.metadata;
    const now = timestamp(new Date(this.#clock.now()));
    this.#store.apply({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.${Math.floor(this.#random.next() * 2 ** 48).toString(16)}`, namespace },
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

  #forgetOldEvents(): void {
    for (const event of this.#store.list('Event')) {
      if (this.#clock.now() - Date.parse(String(event['lastTimestamp'] ?? '')) < eventTtlMs) continue;
      this.#store.remove('Event', event.metadata.namespace ?? '', event.metadata.name);
    }
  }
}

function placeOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

function templateOf(object: KubeObject): AppTemplate | undefined {
  const all = [systemNamespace, sharedNamespace, ...platformNamespaces, ...teamNamespaces];
  const namespace = all.find((template) => template.name === object.metadata.namespace);
  return namespace?.apps.find((app) => app.name === object.metadata.name);
}
