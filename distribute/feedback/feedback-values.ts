// Reads the values of an object that the `feedbackRules` of its ManifestWork name: by JSONPath, or by paths that OCM
// defines for some kinds (well-known statuses).
import { textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { parsePrinterPath, ValueBudget } from '../../tables/printer-path.ts';
import { goNumber } from '../../lib/json/exact-json.ts';
import type { FeedbackRule, NamedPath } from '../work/manifest-config.ts';
import { groupKindIn, splitApiVersion } from '../work/manifest-work.ts';
import type { Feedback } from '../work/work-status.ts';
import { goJson } from './go-json.ts';

const wellKnown: Readonly<Record<string, readonly (readonly [name: string, path: string])[]>> = {
  'v1 Deployment.apps': [
    ['ReadyReplicas', '.status.readyReplicas'],
    ['Replicas', '.status.replicas'],
    ['AvailableReplicas', '.status.availableReplicas'],
  ],
  'v1 DaemonSet.apps': [
    ['NumberReady', '.status.numberReady'],
    ['DesiredNumberScheduled', '.status.desiredNumberScheduled'],
    ['NumberAvailable', '.status.numberAvailable'],
  ],
  'v1 Job.batch': [
    ['JobComplete', '.status.conditions[?(@.type=="Complete")].status'],
    ['JobSucceeded', '.status.succeeded'],
  ],
  'v1 Pod': [
    ['PodReady', '.status.conditions[?(@.type=="Ready")].status'],
    ['PodPhase', '.status.phase'],
  ],
};

/**
 * Maximum number of bytes of UTF-8 in `jsonRaw`, as in OCM's agent. (The hub's schema limits the same field by
 * characters.) A longer value is reported as an error.
 */
const maxJsonLength = 1024;

/**
 * Reads the values that the rules name. @param rawJson whether values that are objects or lists are reported as JSON
 * text
 */
export function readFeedback(object: JsonObject, rules: readonly FeedbackRule[], rawJson: boolean): Feedback {
  if (rules.length === 0) return { values: [], outcome: undefined };
  const values: JsonObject[] = [];
  const faults: string[] = [];
  const budget = ValueBudget.ofAllPaths();
  for (const rule of rules) {
    const paths = pathsOf(object, rule);
    if (paths.length === 0 && rule.type === 'WellKnownStatus')
      faults.push(`cannot find the wellknown statuses for resource with gvk ${gvkText(object)}`);
    for (const path of paths) {
      const found = valueAt(object, path, rawJson, budget);
      if (typeof found === 'string') faults.push(found);
      else if (found !== undefined) values.push({ name: path.name, fieldValue: found });
    }
  }
  const fault = faults.length === 0 ? undefined : faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`;
  return { values, outcome: { fault } };
}

function pathsOf(object: JsonObject, { type, paths }: FeedbackRule): readonly NamedPath[] {
  if (type !== 'WellKnownStatus') return paths;
  const [, version] = splitApiVersion(textAt(object, 'apiVersion'));
  const known = wellKnown[`${version} ${groupKindIn(object)}`] ?? [];
  return known.map(([name, path]) => ({ name, path, version: '' }));
}

/**
 * Returns the first value at the path; undefined when there is none. If the value cannot be written into the
 * ManifestWork's status, returns the reason as a text.
 */
function valueAt(
  object: JsonObject,
  { name, path, version }: NamedPath,
  rawJson: boolean,
  budget: ValueBudget,
): JsonObject | string | undefined {
  const [, served] = splitApiVersion(textAt(object, 'apiVersion'));
  if (version !== '' && version !== served)
    return `version set in the path ${name} is not matched for the related resource`;
  let found: readonly unknown[];
  try {
    found = parsePrinterPath(path, budget)(object, budget);
  } catch (error) {
    const words = error instanceof Error ? error.message : 'unknown fault';
    if (error instanceof SyntaxError) return `failed to parse json path ${path} of ${name} with error: ${words}`;
    return `failed to find value for ${name} with error: ${words}`;
  }
  const value = rawJson && found.length > 1 ? found : found[0];
  return fieldValue(name, value, rawJson);
}

function fieldValue(name: string, value: unknown, rawJson: boolean): JsonObject | string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return { type: 'String', string: value };
  if (typeof value === 'boolean') return { type: 'Boolean', boolean: value };
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  // The hub's schema of ManifestWork accepts only 64-bit integers in `integer`.
  if (isNumber && typeof goNumber(value) === 'bigint') return { type: 'Integer', integer: value };
  if (!rawJson) {
    const type = Array.isArray(value) ? '[]interface {}' : isNumber ? 'float64' : 'map[string]interface {}';
    return `the type ${type} of the value for ${name} is not found`;
  }
  const jsonRaw = goJson(value, maxJsonLength);
  if (jsonRaw !== undefined) return { type: 'JsonRaw', jsonRaw };
  return `the length of returned json raw string for name ${name} is larger than the maximum length ${maxJsonLength}`;
}

function gvkText(object: JsonObject): string {
  const [group, version] = splitApiVersion(textAt(object, 'apiVersion'));
  return `${group}/${version}, Kind=${textAt(object, 'kind')}`;
}
