// Which manifests of a ManifestWork one reconcile applies, and in which order. As in OCM's agent, kinds that other
// kinds need come first.
import type { RestMapper } from '../../kube/discovery/rest-mapper.ts';
import { faultOfMeta } from './manifest-work.ts';
import type { Manifest, Work } from './work.ts';

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

/** The manifests that one reconcile applies, and their order. */
export interface Plan {
  /** The manifests, to be applied one group after the other. */
  readonly groups: readonly (readonly Manifest[])[];
  /**
   * The manifests that are not applied because a later manifest is of the same object. Each is mapped to the last such
   * manifest, which is applied.
   */
  readonly instead: ReadonlyMap<Manifest, Manifest>;
}

/**
 * Plans one reconcile. For a complete work, whose manifests may have changed since, the objects that its status lists
 * are only read. The status may be forged, so only those objects are read that the AppliedManifestWork records too.
 * @throws as {@link RestMapper.find}
 */
export async function planOf(work: Work, kinds: Pick<RestMapper, 'find'>): Promise<Plan> {
  if (work.isComplete) {
    // The plural name in the status is not trusted; it is looked up in the member's discovery.
    const reported = work.reported.map(({ meta }) => ({ meta: { ...meta, resource: '' }, object: undefined }));
    const manifests = reported.map((each) => ({ ...each, fault: faultOfMeta(each.meta) }));
    return { groups: inApplyOrder(manifests), instead: new Map() };
  }
  const instead = await repeatedIn(work.manifests, kinds);
  return { groups: inApplyOrder(work.manifests.filter((each) => !instead.has(each))), instead };
}

/**
 * Finds manifests of an object for which a later manifest exists too, each with the last one. As with OCM's agent, only
 * the last one is applied; if all were, each would overwrite the other again and again.
 * @throws as {@link RestMapper.find}
 */
async function repeatedIn(
  manifests: readonly Manifest[],
  kinds: Pick<RestMapper, 'find'>,
): Promise<ReadonlyMap<Manifest, Manifest>> {
  const instead = new Map<Manifest, Manifest>();
  const usable = manifests.filter(({ fault }) => fault === undefined);
  const byName = Map.groupBy(usable, ({ meta: { group, kind, name } }) => [group, kind, name].join('/'));
  for (const [last, ...others] of [...byName.values()].map((each) => each.toReversed())) {
    if (others.length === 0) continue;
    const { group, version, kind } = last!.meta;
    // Discovery is read only when several manifests could be of one object, because a CustomResourceDefinition in the
    // same work may define the kind.
    const namespaced = (await kinds.find(group, version, kind))?.namespaced !== false;
    const lasts = new Map([[namespaced ? last!.meta.namespace : '', last!]]);
    for (const manifest of others) {
      const place = namespaced ? manifest.meta.namespace : '';
      const other = lasts.get(place);
      if (other === undefined) lasts.set(place, manifest);
      else instead.set(manifest, other);
    }
  }
  return instead;
}
