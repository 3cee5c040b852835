// Reads the audit policy file in kube-apiserver's format (audit.k8s.io/v1 Policy) and decides what is recorded of a
// request. Without a matching rule there is no event. Levels that record bodies are refused, because recording less
// than the operator asked for would mislead.
import { z } from 'zod';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { isSelected, mixedKinds, mixesKinds, selectorFields } from './rule.ts';
import type { AuditedRequest, RequestSelector } from './rule.ts';

/** When an event of a request is made. */
export type AuditStage = 'RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic';

/** How a request is audited: undefined is level None. */
export interface AuditDecision {
  readonly level: 'Metadata';
  readonly omitStages: ReadonlySet<AuditStage>;
}

interface PolicyRule extends RequestSelector {
  readonly decision: AuditDecision | undefined;
}

/** A policy that was read without faults. */
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
    // Concerns bodies only, which are never recorded.
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
 * Reads a policy.
 * @param file its name for messages
 * @throws ConfigurationError with every fault at its line. kube-apiserver only warns of unknown fields. Here a misspelt
 *   field refuses the file: a rule without its misspelt `namespaces` would match every request.
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

/** The first rule that matches the request decides; undefined is level None. */
export function auditDecision(policy: AuditPolicy, request: AuditedRequest): AuditDecision | undefined {
  return policy.rules.find((one) => isSelected(one, request))?.decision;
}
