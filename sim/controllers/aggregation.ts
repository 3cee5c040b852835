// Maintains aggregated ClusterRoles: the rules of an aggregated ClusterRole are those of all ClusterRoles that its
// aggregationRule selects. They are computed several times in a row, because an aggregated role can be part of another
// one (edit is part of admin).
import type { Cluster } from '../call/cluster.ts';
import { matchesSelectorObject } from '../store/selectors.ts';
import { canonical } from '../store/store.ts';
import type { JsonObject } from '../model/types.ts';

const key = 'rbac.authorization.k8s.io/clusterroles';

/** Computes the rules of all aggregated ClusterRoles again and again until nothing changes, at most five times. */
export function syncAggregatedRoles(cluster: Cluster): void {
  const { store } = cluster;
  for (let pass = 0; pass < 5; pass++) {
    let hasChanged = false;
    for (const role of store.list(key)) {
      const selectors: JsonObject[] | undefined = role['aggregationRule']?.clusterRoleSelectors;
      if (selectors === undefined) continue;
      const rules: JsonObject[] = [];
      const seen = new Set<string>();
      for (const part of store.list(key)) {
        if (part === role || !selectors.some((selector) => matchesSelectorObject(selector, part.metadata.labels)))
          continue;
        for (const rule of part['rules'] ?? []) {
          const text = canonical(rule);
          if (!seen.has(text)) rules.push(rule);
          seen.add(text);
        }
      }
      if (canonical(role['rules'] ?? []) === canonical(rules)) continue;
      store.replace(key, { ...role, rules });
      hasChanged = true;
    }
    if (!hasChanged) return;
  }
}

/** Computes the rules of aggregated roles again after each change of a ClusterRole. */
export function watchAggregatedRoles(cluster: Cluster): void {
  let isScheduled = false;
  cluster.store.subscribe(key, () => {
    if (isScheduled) return;
    isScheduled = true;
    cluster.timers.after(2, () => {
      isScheduled = false;
      syncAggregatedRoles(cluster);
    });
  });
}
