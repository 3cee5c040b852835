// Reads the audit policy file in kube-apiserver's format (audit.k8s.io/v1 Policy) and decides how a request is audited.
// A request that no rule matches is not recorded. The levels Request and RequestResponse, which record bodies, are
// refused: the gateway cannot record bodies, and recording less than the operator asked for would mislead.
import type { AuditDecision, AuditStage, AuditedRequest } from '../../request/audit-trail.ts';
import { z } from 'zod';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { isSelected, mixedKinds, mixesKinds, selectorFields } from './rule.ts';
import type { RequestSelector } from './rule.ts';

interface PolicyRule extends RequestSelector {
  readonly decision: AuditDecision | undefined;
}

/** An audit policy that was read without faults. */
export interface AuditPolicy {
  readonly rules: readonly PolicyRule[];
}

const stages = z
  .array(z.enum(['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic']))
  .nullish()
  .transform((given): readonly AuditStage[] => given ?? []);

const bodyLevel =
  'records bodies, which the gateway streams and never keeps: use Metadata here, and record bodies by the policy of the cluster itself (its events have the same auditID)';

const rule = z
  .strictObject({
    level: z
      .enum(['None', 'Metadata', 'Request', 'RequestResponse'])
      .refine((level) => level === 'None' || level === 'Metadata', { error: bodyLevel }),
    ...selectorFields,
    omitStages: stages,
    // The field `omitManagedFields` is accepted and ignored: it is about recorded bodies, and bodies are never
    // recorded.
    omitManagedFields: z.boolean().nullish(),
  })
  .refine((one) => !mixesKinds(one), { error: mixedKinds, path: ['nonResourceURLs'] });

const policyFile = z.strictObject({
  apiVersion: z.literal('audit.k8s.io/v1'),
  kind: z.literal('Policy'),
  metadata: z.looseObject({}).nullish(),
  omitStages: stages,
  omitManagedFields: z.boolean().nullish(),
  rules: z.array(rule).min(1, 'has no rule, so that nothing would be recorded'),
});

/**
 * Reads an audit policy.
 * @param file name of the file, for messages
 * @throws ConfigurationError that names every fault with its line. An unknown field is a fault, although kube-apiserver
 * only warns of it: a rule with a misspelt `namespaces` would otherwise match every request
 */
export function readAuditPolicy(source: string, file: string): AuditPolicy {
  const read = readYaml(source, file, policyFile);
  if ('faults' in read) throw new ConfigurationError(read.faults);
  const { omitStages, rules } = read.value;
  return {
    rules: rules.map((one) => ({
      ...one,
      decision:
        one.level === 'None'
          ? undefined
          : { level: 'Metadata', omitStages: new Set([...omitStages, ...one.omitStages]) },
    })),
  };
}

/**
 * The decision of the first rule that matches the request; undefined when that rule has level None or no rule matches.
 */
export function auditDecision(policy: AuditPolicy, request: AuditedRequest): AuditDecision | undefined {
  return policy.rules.find((one) => isSelected(one, request))?.decision;
}
