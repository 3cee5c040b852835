// The order in which the manifests of a ManifestWork are applied. As in OCM's agent, kinds that other kinds need come
// first.
const ranks: readonly (readonly string[])[] = [
  ['PriorityClass', 'Namespace', 'CustomResourceDefinition', 'StorageClass', 'PersistentVolume', 'PodSecurityPolicy'],
  ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
  ['NetworkPolicy', 'ResourceQuota', 'LimitRange', 'PodDisruptionBudget', 'ServiceAccount'],
  ['Secret', 'ConfigMap', 'PersistentVolumeClaim'],
  ['Service'],
  [
    'DaemonSet',
    'Pod',
    'ReplicationController',
    'ReplicaSet',
    'Deployment',
    'HorizontalPodAutoscaler',
    'StatefulSet',
    'Job',
    'CronJob',
  ],
  [
    'APIService',
    'MutatingWebhookConfiguration',
    'ValidatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
  ],
];

const rankOf = new Map(ranks.flatMap((kinds, rank) => kinds.map((kind) => [kind, rank] as const)));

/**
 * Groups of manifests, to be applied one group after the other. The manifests in a group do not depend on each other.
 * Kinds that `ranks` does not list come last, each manifest in a group of its own, in the order of the ManifestWork.
 */
export function inApplyOrder<T extends { readonly meta: { readonly kind: string } }>(
  manifests: readonly T[],
): readonly (readonly T[])[] {
  const groups = ranks.map((): T[] => []);
  const others: T[][] = [];
  for (const manifest of manifests) {
    const rank = rankOf.get(manifest.meta.kind);
    if (rank === undefined) others.push([manifest]);
    else groups[rank]!.push(manifest);
  }
  return [...groups.filter((members) => members.length > 0), ...others];
}
