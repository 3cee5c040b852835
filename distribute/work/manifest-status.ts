// Makes the entry of one manifest in the status of its ManifestWork. Types, reasons and messages are those of OCM's
// agent, since programs on the hub read them.
import { isDeepStrictEqual } from 'node:util';
import { withConditions, type Condition, type Finding } from '../../kube/objects/conditions.ts';
import type { Readiness } from '../../lib/objects/readiness/readiness.ts';
import type { ResourceMeta } from './manifest-work.ts';
import type { ReportedManifest, Work } from './work.ts';
import { type JsonObject } from '../../lib/objects/json-object.ts';

/** What the gateway read from an object, by the feedback rules and condition rules of its ManifestWork. */
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
export interface ManifestEntry {
  readonly resourceMeta: ResourceMeta;
  readonly statusFeedback: { readonly values?: readonly JsonObject[] };
  readonly conditions: readonly Condition[];
}

/** The reasons of all conditions that come from `conditionRules` begin with this text. */
export const rulePrefix = 'ConditionRule';

/**
 * Makes the entries of the ManifestWork's status, in the order of the manifests. A condition that is unchanged keeps
 * its `lastTransitionTime` from the old status.
 */
export function entriesOf(
  { reported, generation }: Work,
  results: readonly ManifestResult[],
): readonly ManifestEntry[] {
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
    conditions = withConditions(current, [appliedFinding(applied)], generation);
  }
  conditions = withConditions(conditions, [availableFinding(seen)], undefined);
  if (seen.state !== 'present') return { resourceMeta: meta, statusFeedback: feedbackField(oldValues), conditions };
  const { feedback, rules } = seen.observation;
  if (!isDeepStrictEqual(feedback.values, oldValues))
    conditions = conditions.filter(({ type }) => type !== 'StatusFeedbackSynced');
  conditions = withConditions(conditions, [feedbackFinding(feedback)], undefined);
  conditions = withConditions(conditions, rules, generation).filter(
    (each) => !each.reason.startsWith(rulePrefix) || rules.some(({ type }) => type === each.type),
  );
  return { resourceMeta: meta, statusFeedback: feedbackField(feedback.values), conditions };
}

function feedbackField(values: readonly JsonObject[]): ManifestEntry['statusFeedback'] {
  return values.length === 0 ? {} : { values };
}

/**
 * Returns a function that finds what was reported of a manifest: the entry with the same ordinal, or else the only one
 * for the same object.
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

function appliedFinding(applied: Exclude<ManifestResult['applied'], 'kept'>): Finding {
  if (applied !== 'done') return { type: 'Applied', status: 'False', ...applied };
  return { type: 'Applied', status: 'True', reason: 'AppliedManifestComplete', message: 'Apply manifest complete' };
}

function availableFinding(seen: Seen): Finding {
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
