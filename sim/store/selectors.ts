// Parses and evaluates label and field selectors (apimachinery/pkg/labels, pkg/fields). `key!=value` and `key notin
// (…)` also match objects without the key.
import { badRequest } from '../model/status-error.ts';
import type { Resource } from './resources.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';

/** Whether a selector matches the object. */
export type Matcher = (object: KubeObject) => boolean;

/** One requirement of a label selector. `values` is empty for `exists` and `absent`. */
interface Requirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';
  readonly values: readonly string[];
}

const labelValue = /^(|[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)$/;
const labelKey = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** Parses a label selector. @throws StatusError 400 when it is invalid */
export function parseLabelSelector(text: string): readonly Requirement[] {
  const fail = (why: string): never => {
    throw badRequest(`unable to parse requirement: ${why}`);
  };
  const requirements: Requirement[] = [];
  for (const raw of splitTopLevel(text)) {
    const part = raw.trim();
    if (part === '') continue;
    const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part);
    const equal = /^([^=!<>\s]+)\s*(==|=|!=|<|>)\s*(\S*)$/.exec(part);
    const presence = /^(!?)\s*([^=!<>\s()]+)$/.exec(part);
    let requirement: Requirement;
    if (set) {
      const values = (set[3] ?? '').split(',').map((value) => value.trim());
      requirement = { key: set[1] ?? '', operator: set[2] as 'in' | 'notin', values };
    } else if (equal) {
      const operators = { '=': 'in', '==': 'in', '!=': 'notin', '<': 'lt', '>': 'gt' } as const;
      const operator = operators[equal[2] as keyof typeof operators];
      requirement = { key: equal[1] ?? '', operator, values: [equal[3] ?? ''] };
    } else if (presence) {
      requirement = { key: presence[2] ?? '', operator: presence[1] === '!' ? 'absent' : 'exists', values: [] };
    } else {
      return fail(`found '${part}', expected: an identifier, '!' or an operator`);
    }
    if (!labelKey.test(requirement.key))
      fail(`<nil>: Invalid value: "${requirement.key}": name part must consist of alphanumeric characters`);
    for (const value of requirement.values)
      if (!labelValue.test(value))
        fail(
          `values[0][${requirement.key}]: Invalid value: "${value}": a valid label must be an empty string or consist of alphanumeric characters`,
        );
    requirements.push(requirement);
  }
  return requirements;
}

function splitTopLevel(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') depth += 1;
    else if (text[i] === ')') depth -= 1;
    else if (text[i] === ',' && depth === 0) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

/** Whether labels satisfy all requirements. */
export function matchesLabels(
  requirements: readonly Requirement[],
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return requirements.every(({ key, operator, values }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    switch (operator) {
      case 'in':
        return value !== undefined && values.includes(value);
      case 'notin':
        return value === undefined || !values.includes(value);
      case 'exists':
        return value !== undefined;
      case 'absent':
        return value === undefined;
      case 'gt':
        return value !== undefined && Number(value) > Number(values[0]);
      case 'lt':
        return value !== undefined && Number(value) < Number(values[0]);
    }
  });
}

/**
 * Whether labels satisfy a `metav1.LabelSelector`. An undefined selector matches nothing, and an empty one everything.
 */
export function matchesSelectorObject(
  selector: JsonObject | undefined,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  if (selector === undefined) return false;
  const requirements: Requirement[] = [];
  for (const [key, value] of Object.entries((selector['matchLabels'] ?? {}) as Record<string, string>))
    requirements.push({ key, operator: 'in', values: [value] });
  const operators: Record<string, Requirement['operator']> = {
    In: 'in',
    NotIn: 'notin',
    Exists: 'exists',
    DoesNotExist: 'absent',
  };
  for (const expression of (selector['matchExpressions'] ?? []) as JsonObject[])
    requirements.push({
      key: expression['key'],
      operator: operators[expression['operator']] ?? 'exists',
      values: expression['values'] ?? [],
    });
  return matchesLabels(requirements, labels);
}

const referenceFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
const eventFields = (reference: string): string[] => [
  ...referenceFields.map((field) => `${reference}.${field}`),
  ...['reason', 'type', 'reportingComponent', 'source'],
];
const podFields = 'nodeName restartPolicy schedulerName serviceAccountName hostNetwork'.split(' ');
const podStatusFields = 'phase podIP podIPs nominatedNodeName'.split(' ');

/** The fields that selectors can use besides metadata.name and metadata.namespace, by storage key. */
const fieldsByKey: Readonly<Record<string, readonly string[]>> = {
  '/pods': [...podFields.map((field) => `spec.${field}`), ...podStatusFields.map((field) => `status.${field}`)],
  '/events': eventFields('involvedObject'),
  'events.k8s.io/events': eventFields('regarding'),
  '/namespaces': ['status.phase'],
  '/nodes': ['spec.unschedulable'],
  '/secrets': ['type'],
  '/services': ['spec.clusterIP', 'spec.type'],
  '/replicationcontrollers': ['status.replicas'],
  'apps/replicasets': ['status.replicas'],
  'batch/jobs': ['status.successful'],
};

/**
 * How to read fields of which selectors do not compare the value at the field's path, or which have a default value
 * when the object does not set them.
 */
const unusualFields: Readonly<Record<string, (object: KubeObject) => unknown>> = {
  'spec.hostNetwork': (o) => o['spec']?.hostNetwork ?? false,
  'spec.unschedulable': (o) => o['spec']?.unschedulable ?? false,
  'status.podIPs': (o) => o['status']?.podIPs?.[0]?.ip,
  'status.replicas': (o) => o['status']?.replicas ?? 0,
  'status.successful': (o) => o['status']?.succeeded ?? 0,
  reportingComponent: (o) => o['reportingComponent'] ?? o['source']?.component,
  source: (o) => o['source']?.component ?? o['reportingComponent'],
};

/** The value of a field as text; '' when the object does not have the field. */
function fieldText(object: KubeObject, field: string): string {
  const unusual = Object.hasOwn(unusualFields, field) ? unusualFields[field] : undefined;
  return String((unusual ? unusual(object) : field.split('.').reduce((at: any, step) => at?.[step], object)) ?? '');
}

/**
 * Parses a field selector for one resource.
 * @param key the storage key of the resource
 * @param more fields that selectors can use besides those of built-in resources
 * @throws StatusError 400 for a field that selectors of the resource cannot use
 */
export function parseFieldSelector(selector: string, key: string, more: readonly string[] = []): Matcher {
  const known = ['metadata.name', 'metadata.namespace', ...(fieldsByKey[key] ?? []), ...more];
  const tests: Matcher[] = [];
  for (const part of selector.split(/(?<!\\),/)) {
    if (part === '') continue;
    const match = /^(.*?)(!=|==|=)(.*)$/s.exec(part);
    if (!match) throw badRequest(`invalid selector: '${selector}'; can't understand '${part}'`);
    const [, field = '', operator, rawValue = ''] = match;
    if (!known.includes(field)) throw badRequest(`field label not supported: ${field}`);
    const value = rawValue.replace(/\\([\\,=])/g, '$1');
    tests.push((object) => (fieldText(object, field) === value) === (operator !== '!='));
  }
  return (object) => tests.every((test) => test(object));
}

/** Makes a matcher for objects that match both the label selector and the field selector of a request. */
export function matcherOf(query: URLSearchParams, { key, selectableFields = [] }: Resource): Matcher {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', key, selectableFields);
  return (object) => matchesLabels(labels, object.metadata.labels) && fields(object);
}
