// Answers pods/eviction: deletes the pod unless a PodDisruptionBudget forbids it. A forbidden eviction is answered 429
// with the cause DisruptionBudget, after which kubectl drain tries again.
import { sendObject } from '../call/answer.ts';
import { readKind } from '../call/body.ts';
import type { Call } from '../call/cluster.ts';
import { startDeletion } from './delete.ts';
import type { Resource } from '../store/resources.ts';
import { matchesSelectorObject } from '../store/selectors.ts';
import { StatusError, notFound } from '../model/status-error.ts';
import { isDryRun } from './dry-run.ts';

/** Answers POST to pods/eviction. */
export async function evictPod(call: Call, resource: Resource): Promise<void> {
  const { cluster, info } = call;
  const body = await readKind(call, { group: 'policy', version: 'v1', kind: 'Eviction' });
  const pod = cluster.store.get('/pods', info.namespace, info.name);
  if (pod === undefined) throw notFound(resource, info.name);
  const budget = cluster.store
    .list('policy/poddisruptionbudgets', info.namespace)
    .find((entry) => matchesSelectorObject(entry['spec']?.selector, pod.metadata.labels));
  if (budget !== undefined && (budget['status']?.disruptionsAllowed ?? 0) < 1) {
    const { currentHealthy = 0, desiredHealthy = 0 } = budget['status'] ?? {};
    const why = `The disruption budget ${budget.metadata.name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
    throw new StatusError(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
      causes: [{ reason: 'DisruptionBudget', message: why }],
    });
  }
  if (!isDryRun(call)) startDeletion(cluster, resource, pod, body['deleteOptions'] ?? {});
  await sendObject(call, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}
