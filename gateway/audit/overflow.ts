// What happens to a request whose events cannot be stored: it is refused, or it goes on and its events are dropped and
// counted. The choice stands in a small file of its own, because audit.k8s.io/v1 Policy has no field for it and
// kube-apiserver must be able to read the same policy. Easy to get wrong: an exec by GET is no read.
import { z } from 'zod';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { isSelected, mixedKinds, mixesKinds, selectorFields } from './rule.ts';
import type { AuditedRequest, RequestSelector } from './rule.ts';

/** `block`: 503 before anything is sent to a cluster. */
export type WhenFull = 'block' | 'drop';

/** Rules in order; the first that is for a request decides, and {@link defaultWhenFull} where none is. */
export interface OverflowPolicy {
  readonly rules: readonly (RequestSelector & { readonly whenFull: WhenFull })[];
}

/** Without a file. */
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

/** What is done with this request while a sink takes nothing. */
export function whenFull(policy: OverflowPolicy, request: AuditedRequest, isUpgrade: boolean): WhenFull {
  const found = policy.rules.find((one) => isSelected(one, request));
  return found?.whenFull ?? defaultWhenFull(request, isUpgrade);
}

const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);

/** Whatever could change something is refused; reads go on. */
function defaultWhenFull({ verb, subresource }: AuditedRequest, isUpgrade: boolean): WhenFull {
  if (!readVerbs.has(verb)) return 'block';
  return isUpgrade && verb !== 'watch' && subresource !== 'log' ? 'block' : 'drop';
}
