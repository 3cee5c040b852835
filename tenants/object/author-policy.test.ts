import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import { authorValidation, policyFault } from './author-policy.ts';

const [policy, binding] = authorValidation.map((object) => structuredClone(object)) as unknown as [
  ApiObject,
  ApiObject,
];

/** The object with other fields in its spec. */
function changed(object: ApiObject, spec: object): ApiObject {
  return { ...object, spec: { ...(object['spec'] as object), ...spec } };
}

test('the policy is in force as it is installed, also with the defaults that an API server adds', () => {
  assert.equal(policyFault(policy, binding), undefined);
  const constraints = (policy['spec'] as { matchConstraints: object }).matchConstraints;
  const defaulted = { ...constraints, matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} };
  assert.equal(policyFault(changed(policy, { matchConstraints: defaulted }), binding), undefined);
});

test('a policy that is missing, or lets anything pass, is not in force', () => {
  const constraints = (policy['spec'] as { matchConstraints: object }).matchConstraints;
  const only = { matchLabels: { a: 'b' } };
  const cases: readonly (readonly [ApiObject | undefined, ApiObject | undefined])[] = [
    [undefined, binding],
    [policy, undefined],
    [changed(policy, { failurePolicy: 'Ignore' }), binding],
    [changed(policy, { validations: [{ expression: 'true' }] }), binding],
    [changed(policy, { matchConditions: [{ name: 'x', expression: 'false' }] }), binding],
    [changed(policy, { matchConstraints: { ...constraints, resourceRules: [] } }), binding],
    [changed(policy, { matchConstraints: { ...constraints, objectSelector: only } }), binding],
    [changed(policy, { matchConstraints: { ...constraints, excludeResourceRules: [{}] } }), binding],
    [policy, changed(binding, { validationActions: ['Audit'] })],
    [policy, changed(binding, { policyName: 'other' })],
    [policy, changed(binding, { matchResources: { namespaceSelector: only } })],
    [policy, changed(binding, { matchResources: { resourceRules: [{ resourceNames: ['x'] }] } })],
  ];
  for (const [one, other] of cases) assert.notEqual(policyFault(one, other), undefined, JSON.stringify([one, other]));
});
