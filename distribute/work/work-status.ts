// Makes the status of a ManifestWork: one entry for each manifest, and conditions that sum up the entries. Types,
// reasons and messages are those of OCM's agent, since programs on the hub read them.
import { isDeepStrictEqual } from 'node:util';
import { withConditions, type Condition, type ConditionStatus, type Finding } from '../../kube/objects/conditions.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import type { Readiness } from '../../lib/objects/readiness/readiness.ts';
import { completeType } from './manifest-config.ts';
import { ownPrefix, type ResourceMeta } from './manifest-work.ts';
import type { ReportedManifest, Work } from './work.ts';

/** Values and conditions that the feedback rules and condition rules of a ManifestWork give for one of its objects. */
export interface Observation {
  readonly feedback: Feedback;
  /** Conditions that the ManifestWork's `conditionRules` give for the object. */
  readonly rules: readonly Finding[];
  readonly readiness: Readiness;
}

export interface Feedback {
  /** Entries for `statusFeedback.values`. */
  readonly values: readonly JsonObject[];
  /**
   * The result for the condition StatusFeedbackSynced; undefined when the ManifestWork has no feedback rules for the
   * object.
   */
  readonly outcome: { readonly fault: string | undefined } | undefined;
}

/** The state in which the gateway found an object after applying its manifest. */
export type Seen =
  | { readonly state: 'present'; readonly uid: string; readonly observation: Observation }
  | { readonly state: 'absent' }
  | { readonly state: 'unreadable'; readonly message: string }
  /** The member does not serve the kind, so the object could not be read. */
  | { readonly state: 'unserved' };

/** The result of applying one manifest of a ManifestWork. */
export interface ManifestResult {
  readonly meta: ResourceMeta;
  /** `kept`: nothing was applied, because the ManifestWork is complete. */
  readonly applied: 'done' | 'kept' | { readonly reason: string; readonly message: string };
  readonly seen: Seen;
}

/** An entry of `status.resourceStatus.manifests` in a ManifestWork. */
interface ManifestEntry {
  readonly resourceMeta: ResourceMeta;
  readonly statusFeedback: { readonly values?: readonly JsonObject[] };
  readonly conditions: readonly Condition[];
}

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
  const ruled = new Set(rules.map(({ type }) => type));
  const isApplied = results.some(({ applied }) => applied !== 'kept');
  const kept = work.conditions.filter(
    ({ type, reason }) =>
      (!type.startsWith(ownPrefix) || own.some((each) => each.type === type)) &&
      (type !== completeType || ruled.has(type)) &&
      (type !== 'Degraded' || reason !== degradedReason) &&
      (!reason.startsWith(rulePrefix) || ruled.has(type)),
  );
  const progress = progressFindings(results).filter(({ type }) => !ruled.has(type));
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
  const counts = countsOf(manifests.flatMap(({ conditions }) => conditions.filter((each) => each.type === type)));
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
  const byType = Map.groupBy(byRules, ({ type }) => type);
  const types = [...byType.keys()].toSorted();
  return types.map((type) => {
    const same = byType.get(type)!;
    const counts = countsOf(same);
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

function countsOf(conditions: readonly Condition[]): Record<ConditionStatus, number> {
  const counts = { True: 0, False: 0, Unknown: 0 };
  for (const { status } of conditions) counts[status] += 1;
  return counts;
}

/** The reasons of all conditions that come from `conditionRules` begin with this text. */
const rulePrefix = 'ConditionRule';

/**
 * Makes the entries of the ManifestWork's status, in the order of the manifests. A condition that is unchanged keeps
 * its `lastTransitionTime` from the old status.
 */
function entriesOf({ reported, generation }: Work, results: readonly ManifestResult[]): readonly ManifestEntry[] {
  const before = makeReportFinder(reported);
  return results
    .toSorted((one, other) => one.meta.ordinal - other.meta.ordinal)
    .map((result) => entryOf(before(result.meta), result, generation));
}

function entryOf(
  before: ReportedManifest | undefined,
  { meta, applied, seen }: ManifestResult,
  generation: number | undefined,
): ManifestEntry {
  const oldValues = before?.values ?? [];
  let conditions = before?.conditions ?? [];
  if (applied !== 'kept') {
    // When the generation of the ManifestWork has changed, the condition Applied gets a new `lastTransitionTime`, even
    // if its status stays.
    const current = conditions.filter((each) => each.type !== 'Applied' || each.observedGeneration === generation);
    conditions = withConditions(current, [appliedOfManifest(applied)], generation);
  }
  conditions = withConditions(conditions, [availableOfManifest(seen)], undefined);
  if (seen.state !== 'present') return { resourceMeta: meta, statusFeedback: feedbackField(oldValues), conditions };
  const { feedback, rules } = seen.observation;
  if (!isDeepStrictEqual(feedback.values, oldValues))
    conditions = conditions.filter(({ type }) => type !== 'StatusFeedbackSynced');
  conditions = withConditions(conditions, [feedbackFinding(feedback)], undefined);
  const ruled = new Set(rules.map(({ type }) => type));
  conditions = withConditions(conditions, rules, generation).filter(
    ({ reason, type }) => !reason.startsWith(rulePrefix) || ruled.has(type),
  );
  return { resourceMeta: meta, statusFeedback: feedbackField(feedback.values), conditions };
}

function feedbackField(values: readonly JsonObject[]): ManifestEntry['statusFeedback'] {
  return values.length === 0 ? {} : { values };
}

/**
 * Returns a function that finds the entry of a manifest in the old status: the entry with the same ordinal, or else the
 * only entry for the same object.
 */
function makeReportFinder(reported: readonly ReportedManifest[]): (meta: ResourceMeta) => ReportedManifest | undefined {
  const exact = new Map<string, ReportedManifest>();
  const alone = new Map<string, ReportedManifest>();
  const repeated = new Set<string>();
  for (const entry of reported) {
    const { meta } = entry;
    exact.set(keyOf(meta, meta.ordinal), entry);
    const key = keyOf(meta, 0);
    if (alone.has(key)) repeated.add(key);
    alone.set(key, entry);
  }
  return (meta) => {
    const key = keyOf(meta, 0);
    return exact.get(keyOf(meta, meta.ordinal)) ?? (repeated.has(key) ? undefined : alone.get(key));
  };
}

function keyOf({ group, version, kind, resource, name, namespace }: ResourceMeta, ordinal: number): string {
  return JSON.stringify([group, version, kind, resource, name, namespace, ordinal]);
}

function appliedOfManifest(applied: Exclude<ManifestResult['applied'], 'kept'>): Finding {
  if (applied !== 'done') return { type: 'Applied', status: 'False', ...applied };
  return { type: 'Applied', status: 'True', reason: 'AppliedManifestComplete', message: 'Apply manifest complete' };
}

function availableOfManifest(seen: Seen): Finding {
  const type = 'Available';
  switch (seen.state) {
    case 'present':
      return { type, status: 'True', reason: 'ResourceAvailable', message: 'Resource is available' };
    case 'absent':
      return { type, status: 'False', reason: 'ResourceNotAvailable', message: 'Resource is not available' };
    case 'unreadable':
      return {
        type,
        status: 'Unknown',
        reason: 'FetchingResourceFailed',
        message: `Failed to fetch resource: ${seen.message}`,
      };
    case 'unserved':
      return { type, status: 'Unknown', reason: 'IncompleteResourceMeta', message: 'Resource meta is incomplete' };
  }
}

function feedbackFinding({ outcome }: Feedback): Finding {
  const type = 'StatusFeedbackSynced';
  if (outcome === undefined) return { type, status: 'True', reason: 'NoStatusFeedbackSynced', message: '' };
  if (outcome.fault === undefined) return { type, status: 'True', reason: 'StatusFeedbackSynced', message: '' };
  const message = `Sync status feedback failed with error ${outcome.fault}`;
  return { type, status: 'False', reason: 'StatusFeedbackSyncFailed', message };
}
