// What a ManifestWork configures for single manifests: update strategy, rules, and whether the object is deleted with
// the work.
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
import { makeMatch } from '../../lib/text/star-pattern.ts';

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

/** A value that a feedback rule names. */
export interface NamedPath {
  readonly name: string;
  readonly path: string;
  /** API version of the objects to which the path applies; '' for all versions. */
  readonly version: string;
}

/** One of `feedbackRules`: which values of an object the status gets. */
export interface FeedbackRule {
  readonly type: string;
  readonly paths: readonly NamedPath[];
}

/** One of `conditionRules`: it gives a condition of an object. */
export interface ConditionRule {
  readonly type: string;
  readonly condition: string;
  readonly expressions: readonly string[];
  readonly message: string;
  readonly messageExpression: string;
}

/** The configuration of one manifest. Each field is from the first matching entry of `manifestConfigs` that has it. */
export interface ManifestConfig {
  readonly strategy: UpdateStrategy;
  readonly feedbackRules: readonly FeedbackRule[];
  readonly conditionRules: readonly ConditionRule[];
  /** Whether the work owns the object, so that the object is deleted with the work. */
  readonly isOwn: boolean;
}

/**
 * The field manager of the gateway's writes, as `metadata.managedFields` of objects shows it. OCM's agent uses the same
 * name.
 */
export const defaultFieldManager = 'work-agent';

/** One entry of `spec.manifestConfigs`. */
export interface ConfigEntry {
  /** The objects to which this entry applies; namespace and name may be patterns with `*`. */
  readonly identifier: ResourceIdentifier;
  /** The update strategy; undefined when the entry does not set one. */
  readonly strategy: UpdateStrategy | undefined;
  readonly feedbackRules: readonly FeedbackRule[];
  readonly conditionRules: readonly ConditionRule[];
}

/** Names an object of a cluster without the version of its kind. */
export type ResourceIdentifier = Pick<ResourceMeta, 'group' | 'resource' | 'namespace' | 'name'>;

/** The configuration of all manifests of a ManifestWork. */
export interface WorkConfig {
  readonly configs: readonly ConfigEntry[];
  readonly deleteOption: DeleteOption;
  /** Whether a condition rule of the work can give the condition Complete. */
  readonly completes: boolean;
}

/** Reads `manifestConfigs` and `deleteOption` of a ManifestWork's spec. */
export function readWorkConfig(spec: unknown): WorkConfig {
  const configs = listAt(spec, 'manifestConfigs').map(readConfig);
  return {
    configs,
    deleteOption: readDeleteOption(fieldOf(spec, 'deleteOption')),
    completes: configs.some(({ conditionRules }) => conditionRules.some(({ condition }) => condition === completeType)),
  };
}

function readConfig(entry: unknown): ConfigEntry {
  const strategy = fieldOf(entry, 'updateStrategy');
  return {
    identifier: readIdentifier(fieldOf(entry, 'resourceIdentifier')),
    strategy: isJsonObject(strategy) ? strategyOf(strategy) : undefined,
    feedbackRules: listAt(entry, 'feedbackRules').map(readFeedbackRule),
    conditionRules: listAt(entry, 'conditionRules').map(readConditionRule),
  };
}

/** Reads one of `feedbackRules`. */
export function readFeedbackRule(rule: unknown): FeedbackRule {
  const paths = listAt(rule, 'jsonPaths').map((each) => ({
    name: textAt(each, 'name'),
    path: textAt(each, 'path'),
    version: textAt(each, 'version'),
  }));
  return { type: textAt(rule, 'type'), paths };
}

/** Reads one of `conditionRules`. */
export function readConditionRule(rule: unknown): ConditionRule {
  return {
    type: textAt(rule, 'type'),
    condition: textAt(rule, 'condition'),
    expressions: textsAt(rule, 'celExpressions'),
    message: textAt(rule, 'message'),
    messageExpression: textAt(rule, 'messageExpression'),
  };
}

function readIdentifier(written: unknown): ResourceIdentifier {
  return {
    group: textAt(written, 'group'),
    resource: textAt(written, 'resource'),
    namespace: textAt(written, 'namespace'),
    name: textAt(written, 'name'),
  };
}

/** Returns the configuration for the manifest of this object. */
export type ConfigFinder = (object: ResourceIdentifier) => ManifestConfig;

interface PlacedEntry extends ConfigEntry {
  readonly position: number;
}

/** Entries of `manifestConfigs` with the same identifier: for each setting the first one that has it. */
interface SameEntries {
  readonly isFor: (object: ResourceIdentifier) => boolean;
  readonly entries: readonly PlacedEntry[];
}

/**
 * Indexes the configuration of a ManifestWork, so that each of thousands of manifests is compared only with the
 * patterns for its kind, and with each pattern once.
 */
export function makeConfigFinder({ configs, deleteOption }: WorkConfig): ConfigFinder {
  const named = new Map<string, readonly PlacedEntry[]>();
  const patterns: SameEntries[] = [];
  const placed = configs.map((entry, position): PlacedEntry => ({ ...entry, position }));
  for (const [key, same] of Map.groupBy(placed, ({ identifier }) => keyOf(identifier))) {
    const { identifier } = same[0]!;
    const entries = firstOfEach(same);
    if (identifier.namespace.includes('*') || identifier.name.includes('*'))
      patterns.push({ entries, isFor: makeMatchOf(identifier) });
    else named.set(key, entries);
  }
  const byKind = Map.groupBy(patterns, ({ entries }) => kindOf(entries[0]!.identifier));
  const owns = makeOwnership(deleteOption);
  return (object) => {
    const others = (byKind.get(kindOf(object)) ?? []).filter(({ isFor }) => isFor(object));
    const matching = [...(named.get(keyOf(object)) ?? []), ...others.flatMap(({ entries }) => entries)];
    matching.sort((one, other) => one.position - other.position);
    const strategy = matching.find(hasStrategy)?.strategy ?? strategyOf({});
    return {
      strategy,
      isOwn: strategy.type !== 'ReadOnly' && owns(object),
      feedbackRules: matching.find(hasFeedback)?.feedbackRules ?? [],
      conditionRules: matching.find(hasConditions)?.conditionRules ?? [],
    };
  };
}

const hasStrategy = ({ strategy }: ConfigEntry): boolean => strategy !== undefined;
const hasFeedback = ({ feedbackRules }: ConfigEntry): boolean => feedbackRules.length > 0;
const hasConditions = ({ conditionRules }: ConfigEntry): boolean => conditionRules.length > 0;

/** The first entry with each setting; the first of all in place of one that is missing. */
function firstOfEach(entries: readonly PlacedEntry[]): readonly PlacedEntry[] {
  const found = [hasStrategy, hasFeedback, hasConditions].map((has) => entries.find(has) ?? entries[0]!);
  return [...new Set(found)];
}

function keyOf({ group, resource, namespace, name }: ResourceIdentifier): string {
  return JSON.stringify([group, resource, namespace, name]);
}

function kindOf({ group, resource }: ResourceIdentifier): string {
  return JSON.stringify([group, resource]);
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

function makeMatchOf(wanted: ResourceIdentifier): (object: ResourceIdentifier) => boolean {
  const [isNamespace, isName] = [makeMatch(wanted.namespace), makeMatch(wanted.name)];
  return ({ namespace, name }) => isNamespace(namespace) && isName(name);
}

/**
 * Type of the condition that means that a work has finished, for example because its Jobs are done. Condition rules can
 * give it.
 */
export const completeType = 'Complete';

/** `spec.deleteOption` of a ManifestWork: what becomes of its objects and of itself. */
export interface DeleteOption {
  readonly orphans: 'none' | 'all' | readonly ResourceIdentifier[];
  /** Seconds after which a complete work is deleted; undefined: never. */
  readonly ttlSeconds: number | undefined;
}

function readDeleteOption(option: unknown): DeleteOption {
  const policy = textAt(option, 'propagationPolicy');
  const ttlSeconds = fieldOf(option, 'ttlSecondsAfterFinished');
  const rules = listAt(option, 'selectivelyOrphans', 'orphaningRules');
  return {
    orphans: policy === 'Orphan' ? 'all' : policy === 'SelectivelyOrphan' ? rules.map(readIdentifier) : 'none',
    ttlSeconds: typeof ttlSeconds === 'number' ? ttlSeconds : undefined,
  };
}

/**
 * Returns a function that tells whether the ManifestWork owns an object, so that the object is deleted with the work.
 */
export function makeOwnership({ orphans }: DeleteOption): (object: ResourceIdentifier) => boolean {
  if (typeof orphans === 'string') return () => orphans === 'none';
  const keys = new Set(orphans.map(keyOf));
  return (object) => !keys.has(keyOf(object));
}
