// Kubernetes' own field selectors, such as `spec.nodeName=` or `source=kubelet`, as conditions on the objects. In
// kube-apiserver a missing field has its default, so that `spec.nodeName=` finds the pods without a node; for any other
// path nothing equals nothing (Clusterpedia's rule).
import { typeKey, type ResourceType, type TypeKey } from '../types.ts';
import type { FieldRequirement, ListQuery } from './list-query.ts';
import { parsePath, printPath } from './path.ts';

/** A field as kube-apiserver names it. */
interface NativeField {
  /** What a missing field counts as. */
  readonly missing: string;
  /** Its paths in the object, when its name is not its path; the first that exists counts. */
  readonly paths?: readonly string[];
}

const text: NativeField = { missing: '' };
const flag: NativeField = { missing: 'false' };
const count: NativeField = { missing: '0' };

/** pkg/registry/…/strategy.go (ToSelectableFields) and pkg/apis/…/conversion.go of Kubernetes v1.36. */
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

/** Conditions of a query that mean the same by the objects' own fields. */
export type Conditions = Pick<ListQuery, 'fields' | 'anyOf'>;

/**
 * Turns the requirements of a field selector into what kube-apiserver means by them; those that are no native fields
 * are unchanged.
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

/** Clauses that must all hold, each by one of its conditions. */
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
  // One of the paths is there and is none of the values: `(a and b) or (c and d)`, multiplied out.
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
