// Makes the first pods of a new simulated cluster look old: created days ago, and some of them restarted. The
// simulator's controllers create the pods, so each pod is changed after its creation, once, when it runs.
import type { Random } from '../model/random.ts';
import { timestamp, type JsonObject, type KubeObject } from '../model/types.ts';
import type { SimObjects } from '../api/objects.ts';

const dayMs = 86_400_000;

/**
 * Changes age and restarts of the first `podCount` pods in the namespaces `names` when they run. Returns a function
 * that stops this.
 */
export function ageFirstPods(
  store: SimObjects,
  scope: {
    readonly names: ReadonlySet<string>;
    readonly podCount: number;
    readonly random: Random;
    readonly now: Date;
  },
): () => void {
  const { random, now } = scope;
  const seen = new Set<string>();
  const age = (pod: KubeObject): void => {
    const { namespace = '', name, uid } = pod.metadata;
    if (!scope.names.has(namespace) || pod['status']?.phase !== 'Running' || seen.has(uid)) return;
    seen.add(uid);
    if (seen.size >= scope.podCount) stop();
    const createdAtMs = now.getTime() - random.between(10 * 60_000, 20 * dayMs);
    const restarts = random.next() < 0.2 ? random.between(1, 4) : 0;
    store.update('Pod', namespace, name, (next) => agePod(next, createdAtMs, now.getTime(), restarts, random));
    for (const owner of pod.metadata.ownerReferences ?? []) {
      if (owner.kind !== 'ReplicaSet') continue;
      store.update('ReplicaSet', namespace, owner.name, ({ metadata }) => {
        const before = timestamp(new Date(createdAtMs - 1_000));
        if (before < metadata.creationTimestamp) metadata.creationTimestamp = before;
      });
    }
  };
  const end = store.subscribe('Pod', (type, pod) => {
    // The change is made after the listener has returned, so that other listeners see changes in the right order.
    if (type !== 'DELETED') queueMicrotask(() => age(pod));
  });
  const stop = (): void => end();
  return stop;
}

function agePod(pod: KubeObject, createdAtMs: number, nowMs: number, restarts: number, random: Random): void {
  const startedAt = timestamp(new Date(createdAtMs + 3_000));
  pod.metadata.creationTimestamp = timestamp(new Date(createdAtMs));
  const status = pod['status'] as JsonObject;
  status['startTime'] = timestamp(new Date(createdAtMs));
  for (const condition of (status['conditions'] ?? []) as JsonObject[]) condition['lastTransitionTime'] = startedAt;
  for (const entry of (status['containerStatuses'] ?? []) as JsonObject[]) {
    entry['state'] = { running: { startedAt } };
    if (restarts === 0) continue;
    const againMs = createdAtMs + Math.floor(random.next() * (nowMs - createdAtMs));
    const finishedAt = timestamp(new Date(againMs));
    entry['restartCount'] = restarts;
    entry['lastState'] = { terminated: { exitCode: 137, reason: 'OOMKilled', startedAt, finishedAt } };
    entry['state'] = { running: { startedAt: finishedAt } };
  }
}
