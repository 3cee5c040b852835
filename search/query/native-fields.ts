// Turns Kubernetes' own field selectors, such as `spec.nodeName=` or `source=kubelet`, into conditions on objects.
// kube-apiserver treats a missing field as its default, so `spec.nodeName=` matches pods without a node. For all other
// paths Clusterpedia's rule applies: a missing value equals nothing, not even ''.
import { typeKey, type ResourceType, type TypeKey } from '../types.ts';
import type { FieldRequirement, ListQuery } from './list-query.ts';
import { parsePath, printPath } from './path.ts';

/** A field that kube-apiserver supports in field selectors. */
interface NativeField {
  /** The value that a missing field is treated as. */
  readonly missing: string;
  /** The paths of the field in the object, when they differ from its name. The first path that exists counts. */
  readonly paths?: readonly string[];
}

const text: NativeField = { missing: '' };
const flag: NativeField = { missing: 'false' };
const count: NativeField = { missing: '0' };

/**
 * Supported fields by type: pkg/registry/…/strategy.go (ToSelectableFields) and pkg/apis/…/conversion.go of Kubernetes
 * v1.36.
 */
const fieldsOf: Readonly<Record<TypeKey, Readonly<Record<string, NativeField>>>> = {
  'pods.': {
    'spec.nodeName': text,
    'spec.host': { missing: '', paths: ['spec.nodeName'] },
    'spec.hostNetwork': flag,
    'status.podIP': text,
    'status.nominatedNodeName': text,
    'status.phase': text,
  },
  'events.': {
    'involvedObject.kind': text,
    'involvedObject.namespace': text,
    'involvedObject.name': text,
    'involvedObject.uid': text,
    'involvedObject.apiVersion': text,
    'involvedObject.resourceVersion': text,
    'involvedObject.fieldPath': text,
    reason: text,
    reportingComponent: text,
    source: { missing: '', paths: ['source.component', 'reportingComponent'] },
    type: text,
  },
  'nodes.': { 'spec.unschedulable': flag },
  'secrets.': { type: text },
  'namespaces.': { 'status.phase': text },
  'services.': { 'spec.clusterIP': text, 'spec.type': text },
  'replicationcontrollers.': { 'status.replicas': count },
  'replicasets.apps': { 'status.replicas': count },
  'jobs.batch': { 'status.successful': { missing: '0', paths: ['status.succeeded'] } },
};

/** The conditions of a query on fields. Each of `fields` must match, and of each list in `anyOf` at least one. */
export type Conditions = Pick<ListQuery, 'fields' | 'anyOf'>;

/**
 * Turns a field selector into conditions that mean the same as in kube-apiserver. A requirement on any other path stays
 * as it is.
 */
export function nativeConditions(
  types: readonly ResourceType[],
  requirements: readonly FieldRequirement[],
): Conditions {
  const known = types.length === 1 ? fieldsOf[typeKey(types[0]!)] : undefined;
  const clauses = requirements.flatMap((requirement) => {
    const name = printPath(requirement.path);
    const native = known !== undefined && Object.hasOwn(known, name) ? known[name]! : undefined;
    return native === undefined ? [[requirement]] : meaning(native, requirement);
  });
  return {
    fields: clauses.filter(({ length }) => length === 1).flat(),
    anyOf: clauses.filter(({ length }) => length > 1),
  };
}

/**
 * Turns a requirement on a native field into groups of conditions. All groups must match, and a group matches when one
 * of its conditions does.
 */
function meaning(
  { missing, paths }: NativeField,
  requirement: FieldRequirement,
): readonly (readonly FieldRequirement[])[] {
  const { operator, values } = requirement;
  const all = paths?.map((written) => ({ ...requirement, path: parsePath(written) })) ?? [requirement];
  const isNegative = operator === 'NotEquals' || operator === 'NotIn';
  const isPositive = operator === 'Equals' || operator === 'In';
  const isAboutMissing = (isNegative || isPositive) && values.includes(missing);
  if (!isAboutMissing) return isNegative ? all.map((one) => [one]) : [all];
  if (isPositive) return all.map((one) => [one, { path: one.path, operator: 'DoesNotExist', values: [] }]);
  // An object matches when one of the paths exists and has a different value: `(a and b) or (c and d)`. The result must
  // be an AND of ORs, so the formula becomes `(a or c) and (a or d) and (b or c) and (b or d)`.
  return all.reduce<readonly (readonly FieldRequirement[])[]>(
    (clauses, one) => {
      const there: FieldRequirement = { path: one.path, operator: 'Exists', values: [] };
      return clauses.flatMap((clause) => [
        [...clause, one],
        [...clause, there],
      ]);
    },
    [[]],
  );
}
