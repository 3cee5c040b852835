// Maintains the pods of DaemonSets: one on each node that the node selector matches. Unlike other pods, pods of
// DaemonSets are also placed on cordoned nodes.
import type { Cluster } from '../call/cluster.ts';
import { randomSuffix } from '../store/names.ts';
import { matchesSelectorObject } from '../store/selectors.ts';
import type { KubeObject } from '../model/types.ts';
import { isOver, isReady, ownedObjects, recordNormal, removeOwned, setStatus } from './objects.ts';
import { createPod } from './replica-sets.ts';
import { currentRevision } from './revisions.ts';

const revisionLabel = 'controller-revision-hash';

/** Creates or deletes pods of a DaemonSet, so that each matching node gets one pod of the current template. */
export function reconcileDaemonSet(cluster: Cluster, set: KubeObject): void {
  if (set.metadata.deletionTimestamp !== undefined) return;
  const { hash } = currentRevision(cluster, set);
  const nodeSelector = set['spec'].template?.spec?.nodeSelector ?? {};
  const nodes = cluster.store
    .list('/nodes')
    .filter((node) => matchesSelectorObject({ matchLabels: nodeSelector }, node.metadata.labels));
  const names = new Set(nodes.map((node) => node.metadata.name));
  const pods = ownedObjects(cluster, '/pods', set);
  for (const node of names) {
    const here = pods.filter((pod) => pod['spec']?.nodeName === node && !isOver(pod));
    if (here.length > 0) continue;
    const pod = createPod(cluster, set, `${set.metadata.name}-${randomSuffix()}`, (next) => {
      next['spec'].nodeName = node;
      next['metadata'].labels = { ...next['metadata'].labels, [revisionLabel]: hash };
    });
    if (pod !== undefined) recordNormal(cluster, set, 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
  }
  for (const pod of pods)
    if (!names.has(pod['spec']?.nodeName) && pod.metadata.deletionTimestamp === undefined)
      removeOwned(cluster, '/pods', pod);
  const stale = pods.find(
    (pod) => pod.metadata.labels?.[revisionLabel] !== hash && pod.metadata.deletionTimestamp === undefined,
  );
  const isSettled = pods.length === names.size && pods.every(isReady);
  if (stale !== undefined && isSettled && set['spec'].updateStrategy?.type !== 'OnDelete')
    removeOwned(cluster, '/pods', stale);

  writeStatus(cluster, set, names.size, hash);
}

function writeStatus(cluster: Cluster, set: KubeObject, desired: number, hash: string): void {
  const left = ownedObjects(cluster, '/pods', set).filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const ready = left.filter(isReady).length;
  setStatus(cluster, 'apps/daemonsets', set, {
    currentNumberScheduled: left.length,
    numberMisscheduled: 0,
    desiredNumberScheduled: desired,
    numberReady: ready,
    observedGeneration: set.metadata.generation ?? 1,
    updatedNumberScheduled: left.filter((pod) => pod.metadata.labels?.[revisionLabel] === hash).length,
    ...(ready === 0 ? {} : { numberAvailable: ready }),
    ...(ready === desired ? {} : { numberUnavailable: desired - ready }),
  });
}
