// The audit policy file, kube-apiserver's own format (audit.k8s.io/v1 Policy): what is recorded of which request. Easy
// to get wrong: no rule means no event, and levels that record bodies are refused rather than recorded as less than the
// operator thinks.
import { z } from 'zod';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { isSelected, mixedKinds, mixesKinds, selectorFields } from './rule.ts';
import type { AuditedRequest, RequestSelector } from './rule.ts';

/** When in the life of a request an event is made. */
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
    // Says something of bodies only, of which there are none.
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
 * @throws ConfigurationError with every fault at its line. Unlike kube-apiserver, which warns of unknown fields and
 *   goes on, a misspelt field refuses the file: a rule that lost its `namespaces` would silence everything.
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

/** The first rule that is for the request decides; undefined is level None. */
export function auditDecision(policy: AuditPolicy, request: AuditedRequest): AuditDecision | undefined {
  return policy.rules.find((one) => isSelected(one, request))?.decision;
}
