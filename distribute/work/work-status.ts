// Makes the status of a ManifestWork: one entry for each manifest, and conditions that sum up the entries.
import { withConditions, type Condition, type ConditionStatus, type Finding } from '../../kube/objects/conditions.ts';
import { entriesOf, rulePrefix, type ManifestEntry, type ManifestResult } from './manifest-status.ts';
import { completeType } from './manifest-config.ts';
import { ownPrefix } from './manifest-work.ts';
import type { Work } from './work.ts';

/** `status` of a ManifestWork. */
export interface WorkStatus {
  readonly conditions: readonly Condition[];
  readonly resourceStatus: { readonly manifests: readonly ManifestEntry[] };
}

/**
 * Returns the status of a ManifestWork after its manifests were applied.
 * @param own conditions whose types begin with {@link ownPrefix}; those that are not in this list are removed
 */
export function statusOf(work: Work, results: readonly ManifestResult[], own: readonly Finding[]): WorkStatus {
  const { generation } = work;
  const manifests = entriesOf(work, results);
  const rules = ruleFindings(manifests);
  const isApplied = results.some(({ applied }) => applied !== 'kept');
  const kept = work.conditions.filter(
    ({ type, reason }) =>
      (!type.startsWith(ownPrefix) || own.some((each) => each.type === type)) &&
      (type !== completeType || rules.some((each) => each.type === type)) &&
      (type !== 'Degraded' || reason !== degradedReason) &&
      (!reason.startsWith(rulePrefix) || rules.some((each) => each.type === type)),
  );
  const progress = progressFindings(results).filter(({ type }) => !rules.some((each) => each.type === type));
  const found = [
    ...(isApplied ? [appliedFinding(results)] : []),
    availableFinding(manifests),
    ...rules,
    ...progress,
    ...own,
  ];
  return { conditions: withConditions(kept, found, generation), resourceStatus: { manifests } };
}

/**
 * Returns the conditions of a ManifestWork that was not applied now, since its cluster cannot be reached or another
 * agent executes the works.
 * @param own conditions whose types begin with {@link ownPrefix}; those that are not in this list are removed
 */
export function withOwnConditions({ conditions, generation }: Work, own: readonly Finding[]): readonly Condition[] {
  const kept = conditions.filter(({ type }) => !type.startsWith(ownPrefix) || own.some((each) => each.type === type));
  return withConditions(kept, own, generation);
}

export const deletingFinding: Finding = {
  type: 'Deleting',
  status: 'True',
  reason: 'WorkDeleting',
  message: 'ManifestWork is being deleted',
};

function appliedFinding(results: readonly ManifestResult[]): Finding {
  const type = 'Applied';
  if (results.some(({ applied }) => typeof applied === 'object'))
    return { type, status: 'False', reason: 'AppliedManifestWorkFailed', message: 'Failed to apply manifest work' };
  return { type, status: 'True', reason: 'AppliedManifestWorkComplete', message: 'Apply manifest work complete' };
}

/**
 * Reason of the condition Degraded. OCM's API names this reason; the rollout strategy of a ManifestWorkReplicaSet
 * decides what follows from it.
 */
const degradedReason = 'Failed';

/**
 * Makes the conditions Progressing and Degraded: whether the objects are ready (lib/objects/readiness/readiness.ts). A
 * ManifestWorkReplicaSet goes on with the next clusters once Progressing is no longer True.
 */
function progressFindings(results: readonly ManifestResult[]): readonly Finding[] {
  const unready = results.flatMap(({ meta, seen }) => {
    const name = `${meta.kind} ${meta.name}`;
    if (seen.state !== 'present') return [{ name, state: 'waiting', reason: 'is not there' }];
    const { readiness } = seen.observation;
    return readiness.state === 'ready' ? [] : [{ name, ...readiness }];
  });
  const tell = (which: typeof unready): string =>
    `${which.length} of ${results.length} objects: ${which[0]!.name}: ${which[0]!.reason}`;
  const failed = unready.filter(({ state }) => state === 'failed');
  const progressing: Finding =
    unready.length === 0
      ? { type: 'Progressing', status: 'False', reason: 'Completed', message: 'All objects are ready' }
      : { type: 'Progressing', status: 'True', reason: 'Applying', message: `not ready are ${tell(unready)}` };
  if (failed.length === 0) return [progressing];
  return [progressing, { type: 'Degraded', status: 'True', reason: degradedReason, message: tell(failed) }];
}

function availableFinding(manifests: readonly ManifestEntry[]): Finding {
  const type = 'Available';
  const counts = countsOf(manifests, (condition) => condition.type === 'Available');
  const of = `of ${manifests.length} resources`;
  if (counts.False > 0)
    return {
      type,
      status: 'False',
      reason: 'ResourcesNotAvailable',
      message: `${counts.False} ${of} are not available`,
    };
  const reason = 'ResourcesStatusUnknown';
  if (counts.Unknown > 0)
    return { type, status: 'Unknown', reason, message: `${counts.Unknown} ${of} have unknown status` };
  // The message of OCM's agent has a blank at its end, and so has this one.
  if (counts.True === 0) return { type, status: 'Unknown', reason, message: 'cannot get any available resource ' };
  return { type, status: 'True', reason: 'ResourcesAvailable', message: 'All resources are available' };
}

/**
 * Sums up the conditions that the condition rules gave for the manifests: one condition of the ManifestWork for each
 * type.
 */
function ruleFindings(manifests: readonly ManifestEntry[]): readonly Finding[] {
  const byRules = manifests.flatMap(({ conditions }) =>
    conditions.filter(({ reason }) => reason.startsWith(rulePrefix)),
  );
  const types = [...new Set(byRules.map(({ type }) => type))].toSorted();
  return types.map((type) => {
    const same = byRules.filter((each) => each.type === type);
    const counts = countsOf(manifests, (each) => each.type === type && each.reason.startsWith(rulePrefix));
    const alone = same.length === 1 ? same[0]!.message : '';
    const message = alone === '' ? `Aggregated from ${same.length} manifest conditions` : alone;
    return { type, status: worstOf(type, counts), reason: 'ConditionRulesAggregated', message };
  });
}

function worstOf(type: string, counts: Readonly<Record<ConditionStatus, number>>): ConditionStatus {
  // The ManifestWork is progressing if the object of one manifest is.
  if (type === 'Progressing') return counts.True > 0 ? 'True' : counts.Unknown > 0 ? 'Unknown' : 'False';
  return counts.False > 0 ? 'False' : counts.Unknown > 0 ? 'Unknown' : 'True';
}

function countsOf(
  manifests: readonly ManifestEntry[],
  isCounted: (condition: Condition) => boolean,
): Record<ConditionStatus, number> {
  const counts = { True: 0, False: 0, Unknown: 0 };
  for (const { conditions } of manifests) {
    for (const condition of conditions) if (isCounted(condition)) counts[condition.status] += 1;
  }
  return counts;
}
