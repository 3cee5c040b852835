// Makes the admission policies of the hub that record in an object which user changed it last. The mutating policy
// writes the user of the request into an annotation; the validating policy refuses any other name there. The annotation
// is trusted only while the validating policy on the hub is exactly the one that is made here.
import { fieldOf, isJsonObject, listAt, textAt } from '../../lib/objects/json-object.ts';
import type { ApiObject } from '../../kube/types.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import { ownPrefix } from '../work/manifest-work.ts';

const apiVersion = 'admissionregistration.k8s.io/v1';

/**
 * Annotation with JSON `{"user": …, "groups": […]}`. The hub's admission policy refuses every value that does not name
 * the user who sends the request.
 */
export const modifierAnnotation = `${ownPrefix}last-modifier`;

export interface StampRules {
  /** Name of the policies on the hub, and of their bindings. */
  readonly name: string;
  readonly types: readonly ResourceType[];
  /**
   * CEL expression: whether an update changes a part of the object whose author the annotation names. For a create the
   * annotation is always written.
   */
  readonly changes: string;
}

export interface StampPolicy {
  readonly name: string;
  /**
   * MutatingAdmissionPolicy and its binding, which write the annotation; a MutatingAdmissionPolicy of this version
   * needs Kubernetes 1.36.
   */
  readonly mutation: readonly object[];
  /** ValidatingAdmissionPolicy and its binding, which refuse the name of anybody but the user of the request. */
  readonly validation: readonly object[];
  /** Returns why the policy on the hub may let a forged annotation pass; undefined when it refuses every one. */
  fault(policy: ApiObject | undefined, binding: ApiObject | undefined): string | undefined;
}

const escaped = (text: string): string => `${text}.replace('\\\\', '\\\\\\\\').replace('"', '\\\\"')`;
const user = {
  name: 'user',
  expression: [
    `'{"user":"' + ${escaped('request.userInfo.username')} + '","groups":['`,
    `+ request.userInfo.?groups.orValue([]).map(g, '"' + ${escaped('g')} + '"').join(',') + ']}'`,
  ].join(' '),
};
const written = (of: string): string => `${of}.metadata.?annotations[?'${modifierAnnotation}'].orValue('')`;

export function makeStampPolicy({ name, types, changes: updates }: StampRules): StampPolicy {
  const matchConstraints = {
    resourceRules: types.map((type) => ({
      apiGroups: [type.group],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE'],
      resources: [type.resource],
    })),
  };
  const changes = `request.operation == 'CREATE' || ${updates}`;
  const validation = {
    failurePolicy: 'Fail',
    matchConstraints,
    variables: [
      { name: 'changes', expression: changes },
      { name: 'before', expression: `request.operation == 'CREATE' ? '' : ${written('oldObject')}` },
      { name: 'after', expression: written('object') },
      user,
    ],
    validations: [
      {
        expression: 'variables.after == (variables.changes ? variables.user : variables.before)',
        message: `the annotation ${modifierAnnotation} is written by the hub and names the user of the request`,
        reason: 'Forbidden',
      },
    ],
  };
  const bound = { policyName: name, validationActions: ['Deny'] };
  return {
    name,
    mutation: mutationOf(name, matchConstraints, changes),
    validation: [
      { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata: { name }, spec: validation },
      { apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name }, spec: bound },
    ],
    fault: (policy, binding) => faultOf(name, validation, policy, binding),
  };
}

function mutationOf(name: string, matchConstraints: object, changes: string): readonly object[] {
  const expression = `Object{metadata: Object.metadata{annotations: {"${modifierAnnotation}": variables.user}}}`;
  return [
    {
      apiVersion,
      kind: 'MutatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'IfNeeded',
        matchConstraints,
        matchConditions: [{ name: 'changes-the-spec', expression: changes }],
        variables: [user],
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
      },
    },
    { apiVersion, kind: 'MutatingAdmissionPolicyBinding', metadata: { name }, spec: { policyName: name } },
  ];
}

function faultOf(
  name: string,
  validation: object,
  policy: ApiObject | undefined,
  binding: ApiObject | undefined,
): string | undefined {
  if (policy === undefined || binding === undefined)
    return `the hub has no ValidatingAdmissionPolicy ${name} with a binding: install both`;
  const isWhole =
    includes(fieldOf(policy, 'spec'), validation) &&
    isEmpty(fieldOf(policy, 'spec', 'matchConditions')) &&
    isEmpty(fieldOf(policy, 'spec', 'paramKind')) &&
    isUnlimited(fieldOf(policy, 'spec', 'matchConstraints'));
  if (!isWhole) return `the ValidatingAdmissionPolicy ${name} of the hub was changed: install it again`;
  const isBound =
    textAt(binding, 'spec', 'policyName') === name &&
    listAt(binding, 'spec', 'validationActions').includes('Deny') &&
    isEmpty(fieldOf(binding, 'spec', 'paramRef')) &&
    isUnlimited(fieldOf(binding, 'spec', 'matchResources'));
  return isBound ? undefined : `the ValidatingAdmissionPolicyBinding ${name} of the hub was changed`;
}

/**
 * Whether a `matchConstraints` or `matchResources` excludes nothing, apart from what its `resourceRules` do not name.
 */
function isUnlimited(match: unknown): boolean {
  const limits = ['namespaceSelector', 'objectSelector', 'excludeResourceRules'];
  const isBinding = limits.every((limit) => isEmpty(fieldOf(match, limit)));
  return isBinding && listAt(match, 'resourceRules').every((rule) => isEmpty(fieldOf(rule, 'resourceNames')));
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || Object.keys(value).length === 0;
}

/** Whether `whole` has every field of `part` with the same value. It may have more, since API servers add defaults. */
function includes(whole: unknown, part: unknown): boolean {
  if (Array.isArray(part))
    return (
      Array.isArray(whole) && whole.length === part.length && part.every((item, index) => includes(whole[index], item))
    );
  if (!isJsonObject(part)) return whole === part;
  return isJsonObject(whole) && Object.entries(part).every(([key, value]) => includes(whole[key], value));
}
