// Decides in which clusters a TenantBinding or ClusterPermission grants rights: by names, by labels, or by the
// PlacementDecisions of OCM.
import { listAt, textAt } from '../../lib/objects/json-object.ts';
import type { ApiObject } from '../../kube/types.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { selectorMatches } from '../../lib/objects/label-selector.ts';
import type { ClusterChoice } from '../object/grant.ts';

/** Label of the Secret that registers a cluster which has joined. It is set while the cluster leaves. */
export const leavingLabel = 'gateway.portcullis.io/leaving';
const placementLabel = 'cluster.open-cluster-management.io/placement';

export interface Selection {
  readonly names: ReadonlySet<string>;
  /**
   * `NAMESPACE/NAME` of Placements without any PlacementDecision. While there are any, nothing is removed from any
   * cluster: which clusters they choose is not known.
   */
  readonly undecided: readonly string[];
}

/** Returns the chosen clusters. @param decisions the PlacementDecisions of the hub */
export function selectClusters(
  choice: ClusterChoice,
  records: readonly ClusterRecord[],
  decisions: readonly ApiObject[],
): Selection {
  const { all, selector, placements } = choice;
  const names = new Set(choice.names);
  for (const { spec } of records) {
    // `sameAs` is set for a second record of a cluster that is registered twice. The first record is enough.
    if (spec.sameAs !== undefined) continue;
    if (all || (selector !== undefined && selectorMatches(selector, spec.labels))) names.add(spec.name);
  }
  const undecided: string[] = [];
  for (const { namespace, name } of placements) {
    const own = decisions.filter(
      ({ metadata }) => metadata.namespace === namespace && metadata.labels?.[placementLabel] === name,
    );
    if (own.length === 0) undecided.push(`${namespace}/${name}`);
    for (const decision of own)
      for (const each of listAt(decision, 'status', 'decisions')) names.add(textAt(each, 'clusterName'));
  }
  for (const { spec } of records) if (isLeaving(spec)) names.delete(spec.name);
  return { names, undecided };
}

function isLeaving({ clusterGateway }: ClusterRecord['spec']): boolean {
  return clusterGateway?.metadata.labels[leavingLabel] === 'true';
}
