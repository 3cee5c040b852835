// Reads what a ManifestWork configures for single manifests: update strategy, feedback rules, and whether the object is
// deleted with the work.
import type { ApiObject } from '../../kube/types.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import { conditionsOf, findCondition } from '../../kube/objects/conditions.ts';
import { listAt, textAt } from '../../kube/objects/objects.ts';
import { objectAt, type ResourceMeta } from './manifest-work.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { matches } from '../../lib/text/star-pattern.ts';

/** A rule in `ignoreFields`: fields of an object that server-side apply leaves to other field managers. */
export interface IgnoredFields {
  /**
   * `OnSpokePresent`: the fields are left alone once the object exists. `OnSpokeChange`: the fields are left alone
   * until the ManifestWork changes.
   */
  readonly condition: 'OnSpokePresent' | 'OnSpokeChange';
  readonly jsonPaths: readonly string[];
  readonly jsonPointers: readonly string[];
  readonly jqPathExpressions: readonly string[];
}

/** The update strategy of a manifest: how its object is created and kept up to date. */
export interface UpdateStrategy {
  readonly type: 'Update' | 'CreateOnly' | 'ServerSideApply' | 'ReadOnly';
  readonly force: boolean;
  readonly fieldManager: string;
  readonly ignoreFields: readonly IgnoredFields[];
}

/** The configuration of one manifest. Each field is from the first matching entry of `manifestConfigs` that has it. */
export interface ManifestConfig {
  readonly strategy: UpdateStrategy;
  readonly feedbackRules: readonly unknown[];
  readonly conditionRules: readonly unknown[];
}

/**
 * The field manager of the gateway's writes, as `metadata.managedFields` of objects shows it. OCM's agent uses the same
 * name.
 */
export const defaultFieldManager = 'work-agent';

export function configOf(work: ApiObject, meta: ResourceMeta): ManifestConfig {
  const matching = listAt(work, 'spec', 'manifestConfigs').filter((entry) => isFor(entry, meta));
  const firstList = (field: string): readonly unknown[] =>
    matching.map((entry) => listAt(entry, field)).find((list) => list.length > 0) ?? [];
  return {
    strategy: strategyOf(matching.map((entry) => fieldOf(entry, 'updateStrategy')).find(isJsonObject)),
    feedbackRules: firstList('feedbackRules'),
    conditionRules: firstList('conditionRules'),
  };
}

function strategyOf(written: JsonObject | undefined): UpdateStrategy {
  const type = textAt(written, 'type');
  const options = objectAt(written, 'serverSideApply');
  return {
    type: type === 'CreateOnly' || type === 'ServerSideApply' || type === 'ReadOnly' ? type : 'Update',
    force: options['force'] === true,
    fieldManager: textAt(options, 'fieldManager') || defaultFieldManager,
    ignoreFields: listAt(options, 'ignoreFields').map((each) => ({
      condition: textAt(each, 'condition') === 'OnSpokeChange' ? 'OnSpokeChange' : 'OnSpokePresent',
      jsonPaths: textsOf(each, 'jsonPaths'),
      jsonPointers: textsOf(each, 'jsonPointers'),
      jqPathExpressions: textsOf(each, 'jqPathExpressions'),
    })),
  };
}

function textsOf(value: unknown, field: string): readonly string[] {
  return listAt(value, field).filter((each) => typeof each === 'string');
}

function isFor(entry: unknown, meta: ResourceMeta): boolean {
  const wanted = objectAt(entry, 'resourceIdentifier');
  return (
    textAt(wanted, 'group') === meta.group &&
    textAt(wanted, 'resource') === meta.resource &&
    matches(textAt(wanted, 'namespace'), meta.namespace) &&
    matches(textAt(wanted, 'name'), meta.name)
  );
}

/** Type of the condition of a work whose objects have done what they were made for. Condition rules give it. */
export const completeType = 'Complete';

/**
 * Whether the ManifestWork is complete: its status says so, and its rules ask for it. Without such rules somebody else
 * wrote the condition.
 */
export function isComplete(work: ApiObject): boolean {
  const hasRule = listAt(work, 'spec', 'manifestConfigs').some((entry) =>
    listAt(entry, 'conditionRules').some((rule) => textAt(rule, 'condition') === completeType),
  );
  return hasRule && findCondition(conditionsOf(work), completeType)?.status === 'True';
}

/** Whether the ManifestWork owns the object, so that the object is deleted with the work. */
export function isOwned(work: ApiObject, meta: Omit<ResourceMeta, 'ordinal' | 'kind' | 'version'>): boolean {
  const policy = textAt(work, 'spec', 'deleteOption', 'propagationPolicy');
  if (policy === 'Orphan') return false;
  if (policy !== 'SelectivelyOrphan') return true;
  const rules = listAt(work, 'spec', 'deleteOption', 'selectivelyOrphans', 'orphaningRules');
  return !rules.some(
    (rule) =>
      textAt(rule, 'group') === meta.group &&
      textAt(rule, 'resource') === meta.resource &&
      textAt(rule, 'name') === meta.name &&
      textAt(rule, 'namespace') === meta.namespace,
  );
}
