// Computes how many pods may be evicted at this moment under each PodDisruptionBudget. Percentages are rounded up.
import type { Cluster } from '../call/cluster.ts';
import { matchesSelectorObject } from '../store/selectors.ts';
import type { KubeObject } from '../model/types.ts';
import { share } from './deployments.ts';
import { condition, isOver, isReady, setStatus } from './objects.ts';

/** Updates the status of one PodDisruptionBudget. */
export function reconcileBudget(cluster: Cluster, budget: KubeObject): void {
  const pods = cluster.store
    .list('/pods', budget.metadata.namespace)
    .filter((pod) => !isOver(pod) && matchesSelectorObject(budget['spec']?.selector, pod.metadata.labels));
  const { minAvailable, maxUnavailable } = budget['spec'] ?? {};
  const expected = pods.length;
  const desired =
    maxUnavailable === undefined
      ? share(minAvailable ?? 1, expected, Math.ceil)
      : Math.max(0, expected - share(maxUnavailable, expected, Math.ceil));
  const healthy = pods.filter(isReady).length;
  const allowed = Math.max(0, healthy - desired);
  const [status, reason] = allowed > 0 ? ['True', 'SufficientPods'] : ['False', 'InsufficientPods'];
  const { lastUpdateTime: _update, ...disruption } = condition(
    cluster,
    budget['status']?.conditions ?? [],
    'DisruptionAllowed',
    status ?? '',
    reason ?? '',
    '',
  );
  setStatus(cluster, 'policy/poddisruptionbudgets', budget, {
    observedGeneration: budget.metadata.generation ?? 1,
    disruptionsAllowed: allowed,
    currentHealthy: healthy,
    desiredHealthy: desired,
    expectedPods: expected,
    conditions: [{ ...disruption, observedGeneration: budget.metadata.generation ?? 1 }],
  });
}
