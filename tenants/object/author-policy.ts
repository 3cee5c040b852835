// Admission policies for the hub. The mutating policy writes into each TenantBinding and ClusterPermission who changed
// its spec last; the validating policy refuses any other name there. The annotation is trusted only while the
// validating policy on the hub is exactly the one in this file.
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import { listAt, textAt } from '../../controllers/objects.ts';
import { modifierAnnotation } from '../../distribute/work/last-modifier.ts';
import { isJsonObject } from '../../lib/objects/json-object.ts';
import { clusterPermissions } from './cluster-permission.ts';
import { tenantBindings } from './tenant-binding.ts';

/** Name of the admission policies on the hub, and of their bindings. */
export const authorPolicyName = 'portcullis-tenant-author';
const apiVersion = 'admissionregistration.k8s.io/v1';
const metadata = { name: authorPolicyName };

const matchConstraints = {
  resourceRules: [tenantBindings, clusterPermissions].map(({ type }) => ({
    apiGroups: [type.group],
    apiVersions: ['*'],
    operations: ['CREATE', 'UPDATE'],
    resources: [type.resource],
  })),
};
const escaped = (text: string): string => `${text}.replace('\\\\', '\\\\\\\\').replace('"', '\\\\"')`;
const user = {
  name: 'user',
  expression: [
    `'{"user":"' + ${escaped('request.userInfo.username')} + '","groups":['`,
    `+ request.userInfo.?groups.orValue([]).map(g, '"' + ${escaped('g')} + '"').join(',') + ']}'`,
  ].join(' '),
};
const written = (of: string): string => `${of}.metadata.?annotations[?'${modifierAnnotation}'].orValue('')`;
const changes = "request.operation == 'CREATE' || object.?spec != oldObject.?spec";

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

/** Writes the annotation; a MutatingAdmissionPolicy of this version needs Kubernetes 1.36. */
export const authorMutation: readonly object[] = [
  {
    apiVersion,
    kind: 'MutatingAdmissionPolicy',
    metadata,
    spec: {
      failurePolicy: 'Fail',
      reinvocationPolicy: 'IfNeeded',
      matchConstraints,
      matchConditions: [{ name: 'changes-the-spec', expression: changes }],
      variables: [user],
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: {
            expression: `Object{metadata: Object.metadata{annotations: {"${modifierAnnotation}": variables.user}}}`,
          },
        },
      ],
    },
  },
  { apiVersion, kind: 'MutatingAdmissionPolicyBinding', metadata, spec: { policyName: authorPolicyName } },
];

/** Refuses a request whose annotation names anybody but the user of the request. */
export const authorValidation: readonly object[] = [
  { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata, spec: validation },
  {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: authorPolicyName, validationActions: ['Deny'] },
  },
];

/** Returns why the policy on the hub may let a forged annotation pass; undefined when it refuses every one. */
export function policyFault(policy: HubObject | undefined, binding: HubObject | undefined): string | undefined {
  if (policy === undefined || binding === undefined)
    return `the hub has no ValidatingAdmissionPolicy ${authorPolicyName} with a binding: install both`;
  const isWhole =
    includes(fieldOf(policy, 'spec'), validation) &&
    isEmpty(fieldOf(policy, 'spec', 'matchConditions')) &&
    isEmpty(fieldOf(policy, 'spec', 'paramKind')) &&
    isUnlimited(fieldOf(policy, 'spec', 'matchConstraints'));
  if (!isWhole) return `the ValidatingAdmissionPolicy ${authorPolicyName} of the hub was changed: install it again`;
  const isBound =
    textAt(binding, 'spec', 'policyName') === authorPolicyName &&
    listAt(binding, 'spec', 'validationActions').includes('Deny') &&
    isEmpty(fieldOf(binding, 'spec', 'paramRef')) &&
    isUnlimited(fieldOf(binding, 'spec', 'matchResources'));
  return isBound ? undefined : `the ValidatingAdmissionPolicyBinding ${authorPolicyName} of the hub was changed`;
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
