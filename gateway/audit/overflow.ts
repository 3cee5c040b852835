// Decides about a request whose events cannot be stored: it is refused, or it goes on and its events are dropped and
// counted. The rules have a file of their own, because audit.k8s.io/v1 Policy has no field for them and kube-apiserver
// must be able to read the same policy. An exec by GET does not count as a read.
import { z } from 'zod';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { isSelected, mixedKinds, mixesKinds, selectorFields } from './rule.ts';
import type { AuditedRequest, RequestSelector } from './rule.ts';

/** `block` answers 503 before anything is sent to a cluster. */
export type WhenFull = 'block' | 'drop';

/** Rules in order. The first that matches a request decides; without one {@link defaultWhenFull} does. */
export interface OverflowPolicy {
  readonly rules: readonly (RequestSelector & { readonly whenFull: WhenFull })[];
}

/** The policy without a file. */
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

/** @throws ConfigurationError with every fault at its line */
export function readOverflowPolicy(source: string, file: string): OverflowPolicy {
  const read = readYaml(source, file, overflowFile);
  if ('faults' in read) throw new ConfigurationError(read.faults);
  return read.value;
}

/** Decides about this request while a sink is full. */
export function whenFull(policy: OverflowPolicy, request: AuditedRequest, isUpgrade: boolean): WhenFull {
  const found = policy.rules.find((one) => isSelected(one, request));
  return found?.whenFull ?? defaultWhenFull(request, isUpgrade);
}

const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);

/** Requests that could change something are refused; reads go on. */
function defaultWhenFull({ verb, subresource }: AuditedRequest, isUpgrade: boolean): WhenFull {
  if (!readVerbs.has(verb)) return 'block';
  return isUpgrade && verb !== 'watch' && subresource !== 'log' ? 'block' : 'drop';
}
