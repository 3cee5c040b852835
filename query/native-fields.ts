// Turns Kubernetes' own field selectors, such as `spec.nodeName=` or `source=kubelet`, into conditions on objects.
// kube-apiserver treats a missing field as its default, so `spec.nodeName=` matches pods without a node. For fields
// that are not listed here Clusterpedia's rule applies: `=` never matches a missing field, not even `field=`.
import { typeKey, type ResourceType, type TypeKey } from './types.ts';
import type { FieldRequirement, ListQuery } from './list-query.ts';
import { parsePath, printPath } from './path.ts';

/** A field that kube-apiserver supports in field selectors. */
interface NativeField {
  /** The value that kube-apiserver compares when the object lacks the field. */
  readonly missing: string;
  /**
   * The path of the field in the object when it differs from its name. A second path counts in objects that lack the
   * first.
   */
  readonly paths?: readonly [string, string?];
}

const text: NativeField = { missing: '' };
const flag: NativeField = { missing: 'false' };
const count: NativeField = { missing: '0' };

/**
 * Supported fields by type, from pkg/registry/…/strategy.go (ToSelectableFields) and pkg/apis/…/conversion.go of
 * Kubernetes v1.36.
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

/** Conditions on fields. An object must match each of `fields`, and at least one condition of each list in `anyOf`. */
export type Conditions = Pick<ListQuery, 'fields' | 'anyOf'>;

/**
 * Turns a field selector into conditions that mean the same as in kube-apiserver. A requirement on a path that is not a
 * native field of the type stays as it is. So does every requirement when there are several types.
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
 * Turns a requirement on a native field into groups of conditions. An object must match all groups, and it matches a
 * group when it matches one of the group's conditions.
 */
function meaning(
  { missing, paths }: NativeField,
  requirement: FieldRequirement,
): readonly (readonly FieldRequirement[])[] {
  const { operator, values } = requirement;
  const all = paths?.map((written) => ({ ...requirement, path: parsePath(written!) })) ?? [requirement];
  const isNegative = operator === 'NotEquals' || operator === 'NotIn';
  const isPositive = operator === 'Equals' || operator === 'In';
  const isAboutMissing = (isNegative || isPositive) && values.includes(missing);
  if (!isAboutMissing) return withSecond(all, isNegative);
  if (isPositive) return all.map((one) => [one, { path: one.path, operator: 'DoesNotExist', values: [] }]);
  // An object matches when one of the paths exists and has a different value. With two paths: `(differs1 and exists1)
  // or (differs2 and exists2)`. The result must be an AND of ORs, so it becomes `(differs1 or differs2) and (differs1
  // or exists2) and (exists1 or differs2) and (exists1 or exists2)`.
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

/**
 * Makes the groups of conditions for a requirement that the default value of a missing field does not meet. The second
 * path of the field counts only in objects that lack the first.
 */
function withSecond(
  [first, second]: readonly FieldRequirement[],
  isNegative: boolean,
): readonly (readonly FieldRequirement[])[] {
  if (second === undefined) return [[first!]];
  const { path } = first!;
  return isNegative
    ? [[first!], [{ path, operator: 'Exists', values: [] }, second]]
    : [
        [first!, second],
        [first!, { path, operator: 'DoesNotExist', values: [] }],
      ];
}
