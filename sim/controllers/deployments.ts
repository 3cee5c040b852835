// Maintains Deployments: one ReplicaSet for each revision, scaled up and down within maxSurge and maxUnavailable. A
// rollback creates no ReplicaSet but scales up the old one with the same pod template.
import type { Cluster } from '../call/cluster.ts';
import { canonical } from '../store/store.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import {
  condition,
  createOwned,
  edit,
  hashText,
  ownedBy,
  ownedObjects,
  recordNormal,
  removeOwned,
  setStatus,
} from './objects.ts';

const key = 'apps/deployments';
const setKey = 'apps/replicasets';
const hashLabel = 'pod-template-hash';
const revisionAnnotation = 'deployment.kubernetes.io/revision';

/**
 * Makes the next changes that bring the ReplicaSets of a Deployment closer to its spec. Every change of a ReplicaSet
 * leads to the next call.
 */
export function reconcileDeployment(cluster: Cluster, deployment: KubeObject): void {
  if (deployment.metadata.deletionTimestamp !== undefined) return;
  const sets = ownedObjects(cluster, setKey, deployment);
  const current = sets.find((set) => isSameTemplate(set['spec']?.template, deployment['spec'].template));
  const isPaused = deployment['spec'].paused === true;
  const newSet = current ?? (isPaused ? undefined : createSet(cluster, deployment, sets));
  const oldSets = sets.filter((set) => set.metadata.uid !== newSet?.metadata.uid);
  const revision = newSet === undefined ? undefined : setRevision(cluster, newSet, oldSets);
  if (isPaused) scaleOnly(cluster, deployment, sets);
  else if (newSet !== undefined) roll(cluster, deployment, newSet, oldSets);
  if (revision !== undefined && deployment.metadata.annotations?.[revisionAnnotation] !== revision)
    edit(cluster, key, deployment, (next) => {
      next.metadata.annotations = { ...next.metadata.annotations, [revisionAnnotation]: revision };
    });
  writeStatus(cluster, deployment, newSet);
  prune(cluster, deployment, oldSets);
}

function bare(template: JsonObject): JsonObject {
  const { [hashLabel]: _hash, ...labels } = template['metadata']?.labels ?? {};
  return { ...template, metadata: { ...template['metadata'], labels } };
}

function isSameTemplate(a: JsonObject | undefined, b: JsonObject): boolean {
  return a !== undefined && canonical(bare(a)) === canonical(bare(b));
}

function createSet(cluster: Cluster, deployment: KubeObject, sets: readonly KubeObject[]): KubeObject | undefined {
  const { name, namespace } = deployment.metadata;
  const { template, selector, replicas, minReadySeconds } = deployment['spec'];
  const hash = hashText(bare(template));
  const label = { [hashLabel]: hash };
  const isFirst = sets.every((set) => (set['spec']?.replicas ?? 0) === 0);
  const start = isFirst && (sets.length === 0 || deployment['spec'].strategy?.type !== 'Recreate') ? replicas : 0;
  const set = createOwned(cluster, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels: { ...template.metadata?.labels, ...label },
      annotations: {
        ...copiedAnnotations(deployment),
        'deployment.kubernetes.io/desired-replicas': String(replicas),
        'deployment.kubernetes.io/max-replicas': String(replicas + limits(deployment).surge),
      },
      ownerReferences: [ownedBy(deployment)],
    },
    spec: {
      replicas: start,
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, ...label } },
      template: { ...template, metadata: { ...template.metadata, labels: { ...template.metadata?.labels, ...label } } },
    },
  });
  if (set !== undefined && start > 0)
    announce(cluster, deployment, `Scaled up replica set ${set.metadata.name} from 0 to ${start}`);
  return set;
}

function copiedAnnotations(deployment: KubeObject): Record<string, string> {
  const {
    [revisionAnnotation]: _revision,
    'kubectl.kubernetes.io/last-applied-configuration': _applied,
    ...rest
  } = deployment.metadata.annotations ?? {};
  return rest;
}

const revisionOf = (set: KubeObject): number => Number(set.metadata.annotations?.[revisionAnnotation] ?? 0);

/**
 * Gives the ReplicaSet of the present template the highest revision number, if it does not have it, and returns the
 * number.
 */
function setRevision(cluster: Cluster, newSet: KubeObject, oldSets: readonly KubeObject[]): string {
  const highest = Math.max(0, ...oldSets.map(revisionOf));
  if (revisionOf(newSet) > highest) return String(revisionOf(newSet));
  const revision = String(highest + 1);
  edit(cluster, setKey, newSet, (next) => {
    next.metadata.annotations = { ...next.metadata.annotations, [revisionAnnotation]: revision };
  });
  return revision;
}

function scaleOnly(cluster: Cluster, deployment: KubeObject, sets: readonly KubeObject[]): void {
  const active = sets.filter((set) => (set['spec']?.replicas ?? 0) > 0);
  const only = active[0] ?? sets.toSorted((a, b) => revisionOf(b) - revisionOf(a))[0];
  if (active.length < 2 && only !== undefined) scale(cluster, deployment, only, deployment['spec'].replicas);
}

function scale(cluster: Cluster, deployment: KubeObject, set: KubeObject, replicas: number): void {
  const before: number = set['spec']?.replicas ?? 0;
  if (before === replicas) return;
  edit(cluster, setKey, set, (next) => {
    next['spec'].replicas = replicas;
    next.metadata.generation = (next.metadata.generation ?? 1) + 1;
  });
  announce(
    cluster,
    deployment,
    `Scaled ${before < replicas ? 'up' : 'down'} replica set ${set.metadata.name} from ${before} to ${replicas}`,
  );
}

function announce(cluster: Cluster, deployment: KubeObject, message: string): void {
  recordNormal(cluster, deployment, 'ScalingReplicaSet', message);
}

const count = (sets: readonly KubeObject[], field: (set: KubeObject) => number | undefined): number =>
  sets.reduce((sum, set) => sum + (field(set) ?? 0), 0);

/** maxSurge and maxUnavailable as numbers of pods. */
function limits(deployment: KubeObject): { readonly surge: number; readonly unavailable: number } {
  const { replicas, strategy } = deployment['spec'];
  if (strategy?.type === 'Recreate') return { surge: 0, unavailable: replicas };
  const { maxSurge = '25%', maxUnavailable = '25%' } = strategy?.rollingUpdate ?? {};
  const surge = share(maxSurge, replicas, Math.ceil);
  const unavailable = share(maxUnavailable, replicas, Math.floor);
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

/** Reads maxSurge, maxUnavailable and the like: a number, or a percentage of `total` that is rounded with `round`. */
export function share(value: unknown, total: number, round: (n: number) => number): number {
  if (typeof value === 'number') return value;
  const text = String(value);
  return text.endsWith('%') ? round((Number(text.slice(0, -1)) * total) / 100) : Number(text);
}

function isEmpty(set: KubeObject): boolean {
  return (set['status']?.replicas ?? 0) === 0;
}

function roll(cluster: Cluster, deployment: KubeObject, newSet: KubeObject, oldSets: readonly KubeObject[]): void {
  const wanted: number = deployment['spec'].replicas;
  const have: number = newSet['spec']?.replicas ?? 0;
  const active = oldSets.filter((set) => (set['spec']?.replicas ?? 0) > 0);
  if (deployment['spec'].strategy?.type === 'Recreate') {
    for (const set of active) scale(cluster, deployment, set, 0);
    if (active.length === 0 && oldSets.every(isEmpty)) scale(cluster, deployment, newSet, wanted);
    return;
  }
  if (active.length === 0) return scale(cluster, deployment, newSet, wanted);
  const { surge, unavailable } = limits(deployment);
  const all = [newSet, ...active];
  const total = count(all, (set) => set['spec']?.replicas);
  if (have > wanted) return scale(cluster, deployment, newSet, wanted);
  const room = wanted + surge - total;
  if (room > 0 && have < wanted) return scale(cluster, deployment, newSet, Math.min(wanted, have + room));
  scaleDown(cluster, deployment, newSet, active, wanted - unavailable);
}

/** Scales down old ReplicaSets, oldest first, as long as at least `least` pods stay available. */
function scaleDown(
  cluster: Cluster,
  deployment: KubeObject,
  newSet: KubeObject,
  active: readonly KubeObject[],
  least: number,
): void {
  const all = [newSet, ...active];
  const available = count(all, (set) => set['status']?.availableReplicas);
  const newUnavailable = Number(newSet['spec']?.replicas ?? 0) - (newSet['status']?.availableReplicas ?? 0);
  let spare = count(all, (set) => set['spec']?.replicas) - least - newUnavailable;
  for (const set of active.toSorted((a, b) => revisionOf(a) - revisionOf(b))) {
    const replicas: number = set['spec'].replicas;
    const unhealthy = replicas - (set['status']?.availableReplicas ?? 0);
    const healthySpare = Math.max(0, available - least);
    const down = Math.min(replicas, Math.max(0, spare), unhealthy + healthySpare);
    if (down <= 0) continue;
    scale(cluster, deployment, set, replicas - down);
    spare -= down;
  }
}

function writeStatus(cluster: Cluster, deployment: KubeObject, newSet: KubeObject | undefined): void {
  const sets = ownedObjects(cluster, setKey, deployment);
  const fresh = sets.find((set) => set.metadata.uid === newSet?.metadata.uid);
  const wanted: number = deployment['spec'].replicas;
  const total = count(sets, (set) => set['status']?.replicas);
  const updated: number = fresh?.['status']?.replicas ?? 0;
  const ready = count(sets, (set) => set['status']?.readyReplicas);
  const available = count(sets, (set) => set['status']?.availableReplicas);
  const old: readonly JsonObject[] = deployment['status']?.conditions ?? [];
  const isEnough = available >= wanted - limits(deployment).unavailable;
  const isComplete = updated === wanted && total === wanted && available === wanted && newSet !== undefined;
  const name = newSet?.metadata.name ?? '';
  const say = (type: string, status: string, reason: string, message: string): JsonObject =>
    condition(cluster, old, type, status, reason, message);
  const conditions = [
    isEnough
      ? say('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.')
      : say('Available', 'False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.'),
    deployment['spec'].paused === true
      ? say('Progressing', 'Unknown', 'DeploymentPaused', 'Deployment is paused')
      : isComplete
        ? say('Progressing', 'True', 'NewReplicaSetAvailable', `ReplicaSet "${name}" has successfully progressed.`)
        : say('Progressing', 'True', 'ReplicaSetUpdated', `ReplicaSet "${name}" is progressing.`),
  ];
  const numbers = {
    replicas: total,
    updatedReplicas: updated,
    readyReplicas: ready,
    availableReplicas: available,
    unavailableReplicas: Math.max(0, Math.max(wanted, total) - available),
  };
  setStatus(cluster, key, deployment, {
    observedGeneration: deployment.metadata.generation ?? 1,
    ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => value > 0)),
    terminatingReplicas: count(sets, (set) => set['status']?.terminatingReplicas),
    conditions,
  });
}

function prune(cluster: Cluster, deployment: KubeObject, oldSets: readonly KubeObject[]): void {
  const limit: number = deployment['spec'].revisionHistoryLimit ?? 10;
  const done = oldSets.filter((set) => (set['spec']?.replicas ?? 0) === 0 && (set['status']?.replicas ?? 0) === 0);
  for (const set of done.toSorted((a, b) => revisionOf(b) - revisionOf(a)).slice(limit))
    removeOwned(cluster, setKey, set);
}
