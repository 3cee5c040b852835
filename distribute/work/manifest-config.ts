// Reads what a ManifestWork configures for single manifests: update strategy, feedback rules, and whether the object is
// deleted with the work.
import {
  fieldOf,
  isJsonObject,
  listAt,
  objectAt,
  textAt,
  textsAt,
  type JsonObject,
} from '../../lib/objects/json-object.ts';
import type { ResourceMeta } from './manifest-work.ts';
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

/** One entry of `spec.manifestConfigs`. */
export interface ConfigEntry {
  /** Which objects it is for; namespace and name may be patterns with `*`. */
  readonly identifier: ResourceIdentifier;
  /** Undefined when the entry says nothing of the strategy. */
  readonly strategy: UpdateStrategy | undefined;
  readonly feedbackRules: readonly unknown[];
  readonly conditionRules: readonly unknown[];
  /** Whether one of its rules says when the work is complete. */
  readonly completes: boolean;
}

/** Names an object of a cluster without the version of its kind. */
export type ResourceIdentifier = Pick<ResourceMeta, 'group' | 'resource' | 'namespace' | 'name'>;

/** Reads `spec.manifestConfigs`. */
export function readConfigs(list: readonly unknown[]): readonly ConfigEntry[] {
  return list.map((entry) => {
    const strategy = fieldOf(entry, 'updateStrategy');
    const conditionRules = listAt(entry, 'conditionRules');
    return {
      identifier: readIdentifier(fieldOf(entry, 'resourceIdentifier')),
      strategy: isJsonObject(strategy) ? strategyOf(strategy) : undefined,
      feedbackRules: listAt(entry, 'feedbackRules'),
      conditionRules,
      completes: conditionRules.some((rule) => textAt(rule, 'condition') === completeType),
    };
  });
}

function readIdentifier(written: unknown): ResourceIdentifier {
  return {
    group: textAt(written, 'group'),
    resource: textAt(written, 'resource'),
    namespace: textAt(written, 'namespace'),
    name: textAt(written, 'name'),
  };
}

/** The configuration of the manifest of this object. */
export function configOf(configs: readonly ConfigEntry[], object: ResourceIdentifier): ManifestConfig {
  const matching = configs.filter(({ identifier }) => isFor(identifier, object));
  return {
    strategy: matching.find(({ strategy }) => strategy !== undefined)?.strategy ?? strategyOf({}),
    feedbackRules: matching.find(({ feedbackRules }) => feedbackRules.length > 0)?.feedbackRules ?? [],
    conditionRules: matching.find(({ conditionRules }) => conditionRules.length > 0)?.conditionRules ?? [],
  };
}

function strategyOf(written: JsonObject): UpdateStrategy {
  const type = textAt(written, 'type');
  const options = objectAt(written, 'serverSideApply');
  return {
    type: type === 'CreateOnly' || type === 'ServerSideApply' || type === 'ReadOnly' ? type : 'Update',
    force: options['force'] === true,
    fieldManager: textAt(options, 'fieldManager') || defaultFieldManager,
    ignoreFields: listAt(options, 'ignoreFields').map((each) => ({
      condition: textAt(each, 'condition') === 'OnSpokeChange' ? 'OnSpokeChange' : 'OnSpokePresent',
      jsonPaths: textsAt(each, 'jsonPaths'),
      jsonPointers: textsAt(each, 'jsonPointers'),
      jqPathExpressions: textsAt(each, 'jqPathExpressions'),
    })),
  };
}

function isFor(wanted: ResourceIdentifier, object: ResourceIdentifier): boolean {
  return (
    wanted.group === object.group &&
    wanted.resource === object.resource &&
    matches(wanted.namespace, object.namespace) &&
    matches(wanted.name, object.name)
  );
}

/** Type of the condition of a work whose objects have done what they were made for. Condition rules give it. */
export const completeType = 'Complete';

/** `spec.deleteOption` of a ManifestWork: what becomes of its objects and of itself. */
export interface DeleteOption {
  readonly orphans: 'none' | 'all' | readonly ResourceIdentifier[];
  /** Seconds after which a complete work is deleted; undefined: never. */
  readonly ttlSeconds: number | undefined;
}

/** Reads `spec.deleteOption`. */
export function readDeleteOption(option: unknown): DeleteOption {
  const policy = textAt(option, 'propagationPolicy');
  const ttlSeconds = fieldOf(option, 'ttlSecondsAfterFinished');
  const rules = listAt(option, 'selectivelyOrphans', 'orphaningRules');
  return {
    orphans: policy === 'Orphan' ? 'all' : policy === 'SelectivelyOrphan' ? rules.map(readIdentifier) : 'none',
    ttlSeconds: typeof ttlSeconds === 'number' ? ttlSeconds : undefined,
  };
}

/** Whether the ManifestWork owns the object, so that the object is deleted with the work. */
export function isOwned({ orphans }: DeleteOption, object: ResourceIdentifier): boolean {
  if (typeof orphans === 'string') return orphans === 'none';
  return !orphans.some(
    ({ group, resource, namespace, name }) =>
      group === object.group && resource === object.resource && namespace === object.namespace && name === object.name,
  );
}
