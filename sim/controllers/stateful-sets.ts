// Maintains StatefulSets: numbered pods with volume claims, created in ascending order and updated in descending order.
// With OrderedReady, a pod is created only when the pod before it is ready.
import type { Cluster } from '../call/cluster.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import { createOwned, isReady, ownedObjects, recordNormal, removeOwned, setStatus } from './objects.ts';
import { createPod } from './replica-sets.ts';
import { currentRevision } from './revisions.ts';

const key = 'apps/statefulsets';
const revisionLabel = 'controller-revision-hash';

/** Makes the next changes that bring the pods of a StatefulSet closer to its spec. */
export function reconcileStatefulSet(cluster: Cluster, set: KubeObject): void {
  if (set.metadata.deletionTimestamp !== undefined) return;
  const update = currentRevision(cluster, set);
  const wanted: number = set['spec'].replicas ?? 1;
  const first: number = set['spec'].ordinals?.start ?? 0;
  const isParallel = set['spec'].podManagementPolicy === 'Parallel';
  const pods = new Map(ownedObjects(cluster, '/pods', set).map((pod) => [ordinalOf(pod), pod]));
  for (let ordinal = first; ordinal < first + wanted; ordinal++) {
    const pod = pods.get(ordinal);
    if (pod === undefined) makePod(cluster, set, ordinal, update);
    if (!isParallel && (pod === undefined || !isReady(pod))) break;
  }
  const surplus = [...pods]
    .filter(([ordinal]) => ordinal < first || ordinal >= first + wanted)
    .sort((a, b) => b[0] - a[0]);
  for (const [, pod] of isParallel ? surplus : surplus.slice(0, 1))
    if (pod.metadata.deletionTimestamp === undefined) removePod(cluster, set, pod);
  const isSettled = pods.size === wanted && [...pods.values()].every(isReady);
  if (isSettled) replaceStale(cluster, set, pods, update.name);
  writeStatus(cluster, set, update.name);
}

/**
 * Deletes, of the pods that do not have the newest revision, the one with the highest ordinal. The next reconciliation
 * creates it anew.
 */
function replaceStale(cluster: Cluster, set: KubeObject, pods: ReadonlyMap<number, KubeObject>, newest: string): void {
  const first: number = set['spec'].ordinals?.start ?? 0;
  const isRolling = set['spec'].updateStrategy?.type !== 'OnDelete';
  const partition: number = set['spec'].updateStrategy?.rollingUpdate?.partition ?? 0;
  const stale = [...pods]
    .filter(([ordinal, pod]) => ordinal >= first + partition && pod.metadata.labels?.[revisionLabel] !== newest)
    .sort((a, b) => b[0] - a[0]);
  if (isRolling && stale[0] !== undefined) removePod(cluster, set, stale[0][1]);
}

function ordinalOf(pod: KubeObject): number {
  return Number(/-(\d+)$/.exec(pod.metadata.name)?.[1] ?? -1);
}

function removePod(cluster: Cluster, set: KubeObject, pod: KubeObject): void {
  removeOwned(cluster, '/pods', pod);
  const message = `delete Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} successful`;
  recordNormal(cluster, set, 'SuccessfulDelete', message);
}

function makePod(cluster: Cluster, set: KubeObject, ordinal: number, update: { readonly name: string }): void {
  const name = `${set.metadata.name}-${ordinal}`;
  const claims: readonly JsonObject[] = set['spec'].volumeClaimTemplates ?? [];
  for (const claim of claims)
    createOwned(cluster, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: `${claim['metadata'].name}-${name}`,
        namespace: set.metadata.namespace,
        labels: set['spec'].selector?.matchLabels,
      },
      spec: claim['spec'],
    });
  const pod = createPod(cluster, set, name, (next) => {
    delete next['metadata'].generateName;
    next['metadata'].labels = {
      ...next['metadata'].labels,
      'apps.kubernetes.io/pod-index': String(ordinal),
      'statefulset.kubernetes.io/pod-name': name,
      [revisionLabel]: update.name,
    };
    next['spec'].hostname = name;
    next['spec'].subdomain = set['spec'].serviceName;
    const mounts = claims.map((claim) => ({
      name: claim['metadata'].name,
      persistentVolumeClaim: { claimName: `${claim['metadata'].name}-${name}` },
    }));
    if (mounts.length > 0) next['spec'].volumes = [...(next['spec'].volumes ?? []), ...mounts];
  });
  if (pod !== undefined)
    recordNormal(cluster, set, 'SuccessfulCreate', `create Pod ${name} in StatefulSet ${set.metadata.name} successful`);
}

function writeStatus(cluster: Cluster, set: KubeObject, updateRevision: string): void {
  const pods = ownedObjects(cluster, '/pods', set).filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const ready = pods.filter(isReady).length;
  const updated = pods.filter((pod) => pod.metadata.labels?.[revisionLabel] === updateRevision).length;
  const isDone = updated === (set['spec'].replicas ?? 1) && ready === updated;
  const before: string | undefined = set['status']?.currentRevision;
  const current = isDone || before === undefined ? updateRevision : before;
  const onCurrent = pods.filter((pod) => pod.metadata.labels?.[revisionLabel] === current).length;
  setStatus(cluster, key, set, {
    observedGeneration: set.metadata.generation ?? 1,
    replicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
    currentReplicas: onCurrent,
    updatedReplicas: updated,
    currentRevision: current,
    updateRevision,
    collisionCount: 0,
  });
}
