// Decides what happens to a request while audit events cannot be stored: the request is refused, or it goes on
// unrecorded and its events are counted as dropped. These rules have a file of their own and are not part of the audit
// policy: kube-apiserver must be able to read the same policy file, and audit.k8s.io/v1 Policy has no field for them.
// An exec counts as a change, even by GET.
import { z } from 'zod';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { isSelected, mixedKinds, mixesKinds, selectorFields } from './rule.ts';
import type { RequestSelector } from './rule.ts';
import type { AuditedRequest } from '../../request/audit-trail.ts';

/**
 * What happens to a request while audit events cannot be stored. `block` answers 503 before anything is sent to a
 * cluster; `drop` lets the request go on unrecorded.
 */
export type WhenFull = 'block' | 'drop';

/**
 * Rules in order: the first rule that matches a request decides. When none matches, {@link defaultWhenFull} decides.
 */
export interface OverflowPolicy {
  readonly rules: readonly (RequestSelector & { readonly whenFull: WhenFull })[];
}

/** The policy when the operator gave no file: no rules, so that {@link defaultWhenFull} decides. */
export const noOverflowPolicy: OverflowPolicy = { rules: [] };

const overflowFile = z.strictObject({
  apiVersion: z.literal('gateway.portcullis.io/v1alpha1'),
  kind: z.literal('AuditOverflowPolicy'),
  rules: z
    .array(
      z
        .strictObject({ whenFull: z.enum(['block', 'drop']), ...selectorFields })
        .refine((one) => !mixesKinds(one), { error: mixedKinds, path: ['nonResourceURLs'] }),
    )
    .min(1, 'has no rule; leave the flag out for what is done without one'),
});

/**
 * Reads an AuditOverflowPolicy.
 * @param file name of the file, for messages
 * @throws ConfigurationError that names every fault with its line
 */
export function readOverflowPolicy(source: string, file: string): OverflowPolicy {
  const read = readYaml(source, file, overflowFile);
  if ('faults' in read) throw new ConfigurationError(read.faults);
  return read.value;
}

/**
 * Decides whether a request is refused (`block`) or goes on unrecorded (`drop`) while audit events cannot be stored.
 */
export function whenFull(policy: OverflowPolicy, request: AuditedRequest, isUpgrade: boolean): WhenFull {
  const found = policy.rules.find((one) => isSelected(one, request));
  return found?.whenFull ?? defaultWhenFull(request, isUpgrade);
}

const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);

/** Without a matching rule, requests that could change something are refused, and reads go on unrecorded. */
function defaultWhenFull({ verb, subresource }: AuditedRequest, isUpgrade: boolean): WhenFull {
  if (!readVerbs.has(verb)) return 'block';
  return isUpgrade && verb !== 'watch' && subresource !== 'log' ? 'block' : 'drop';
}
