// Maintains ReplicaSets: creates or deletes pods until there are `spec.replicas` of them. Pods that have ended or are
// being deleted do not count.
import type { Cluster } from '../call/cluster.ts';
import { randomSuffix } from '../store/names.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import { createOwned, isOver, isReady, ownedBy, podsOf, recordNormal, removeOwned, setStatus } from './objects.ts';

/** The most pods that one reconciliation creates, as in kube-controller-manager. */
const burst = 500;

/** Creates or deletes pods of a ReplicaSet, and updates its status. */
export function reconcileReplicaSet(cluster: Cluster, set: KubeObject): void {
  const active = podsOf(cluster, set).filter((pod) => pod.metadata.deletionTimestamp === undefined && !isOver(pod));
  const wanted: number = set['spec']?.replicas ?? 1;
  const isGoing = set.metadata.deletionTimestamp !== undefined;
  if (!isGoing) {
    for (let i = active.length; i < Math.min(wanted, active.length + burst); i++) {
      const pod = createPod(cluster, set, `${set.metadata.name}-${randomSuffix()}`);
      if (pod !== undefined) recordNormal(cluster, set, 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
    }
    const surplus = [...active]
      .sort((a, b) => Number(isReady(a)) - Number(isReady(b)) || youngestFirst(a, b))
      .slice(0, Math.max(0, active.length - wanted));
    for (const pod of surplus) {
      removeOwned(cluster, '/pods', pod);
      recordNormal(cluster, set, 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`);
    }
  }
  const left = podsOf(cluster, set).filter((pod) => pod.metadata.deletionTimestamp === undefined && !isOver(pod));
  const ready = left.filter(isReady).length;
  setStatus(cluster, 'apps/replicasets', set, {
    replicas: left.length,
    ...(left.length === 0 ? {} : { fullyLabeledReplicas: left.length }),
    ...(ready === 0 ? {} : { readyReplicas: ready, availableReplicas: ready }),
    terminatingReplicas: podsOf(cluster, set).filter((pod) => pod.metadata.deletionTimestamp !== undefined).length,
    observedGeneration: set.metadata.generation ?? 1,
  });
}

function youngestFirst(a: KubeObject, b: KubeObject): number {
  return b.metadata.creationTimestamp < a.metadata.creationTimestamp ? -1 : 1;
}

/** Creates a pod from the owner's pod template. `more` can edit the pod before it is stored. */
export function createPod(
  cluster: Cluster,
  owner: KubeObject,
  name: string,
  more: (pod: JsonObject) => void = () => {},
): KubeObject | undefined {
  const template: JsonObject = structuredClone(owner['spec']?.template ?? {});
  const { labels, annotations, finalizers } = template['metadata'] ?? {};
  const generateName = name.replace(/[^-]*$/, '');
  const pod: JsonObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      ...(generateName === '' ? {} : { generateName }),
      namespace: owner.metadata.namespace,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ownerReferences: [ownedBy(owner)],
    },
    spec: template['spec'] ?? {},
  };
  more(pod);
  return createOwned(cluster, pod);
}
