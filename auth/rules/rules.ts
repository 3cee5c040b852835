// Reads the authorization rules file. Easy to get wrong: an empty list or a misspelt field must never make a rule allow
// more. So an unknown field, an empty list or a pattern that RBAC does not have is a fault, and one fault makes the
// whole file invalid.
import { listed } from '../../lib/text/listed.ts';
import { rbacGroup } from '../../lib/objects/api-names.ts';
import type { LabelSelector } from '../../lib/objects/label-selector.ts';
import { z } from 'zod';
import { faultText } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../model/errors.ts';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';

/** A subject of a rule, as in rbac.authorization.k8s.io. */
export type RuleSubject =
  | { readonly kind: 'User' | 'Group'; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly namespace: string; readonly name: string };

/** One rule: RBAC's PolicyRule with its subjects and clusters. Fields missing in the file are empty lists. */
export interface Rule {
  readonly subjects: readonly RuleSubject[];
  /**
   * Cluster names or "*". If empty and there is no selector, the rule covers every cluster and the gateway's own API.
   * With a selector, a cluster must match this list and the selector.
   */
  readonly clusters: readonly string[];
  readonly clusterSelector: LabelSelector | undefined;
  /** "*" stands for the verbs in knownVerbs, including `impersonate` as in RBAC. */
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  /**
   * Each is a resource such as "pods", a subresource such as "pods/exec", "*" + "/scale" for a subresource of every
   * resource, or "*" for everything.
   */
  readonly resources: readonly string[];
  /** Object names. Empty covers all names, and requests without a name. */
  readonly resourceNames: readonly string[];
  /**
   * Namespaces. Empty covers all namespaces, requests across namespaces, and cluster-scoped resources. Otherwise only
   * requests in one of these namespaces are covered.
   */
  readonly namespaces: readonly string[];
  /** Paths of non-resource requests: "*" for all, exact paths, or prefixes that end in "*". */
  readonly nonResourceURLs: readonly string[];
}

/** The content of a rules file without faults. */
export interface AuthorizationRules {
  /** Name of the file for messages. */
  readonly file: string;
  readonly rules: readonly Rule[];
}

const labelText = '[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?';
const text = z.string().min(1, 'must not be empty');

/**
 * Schema of a list that restricts a rule. A missing list means "all". An empty list is refused, because its author may
 * have meant "all" or "none".
 */
function narrowing(item: z.ZodType<string>) {
  return z.array(item).min(1, 'must not be empty; leave the field out to mean all').default([]);
}

function pattern(expression: RegExp, message: string) {
  return z.string().regex(expression, message);
}

const principalName = text.refine((name) => name !== '*', {
  error: '"*" matches nobody; name the group system:authenticated to mean every user',
});
const subject = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({
      kind: z.enum(['User', 'Group']),
      name: principalName,
      apiGroup: z.literal(rbacGroup).optional(),
    }),
    z.strictObject({
      kind: z.literal('ServiceAccount'),
      name: principalName,
      namespace: text,
      apiGroup: z.literal('').optional(),
    }),
  ],
  { error: (issue) => (issue.code === 'invalid_union' ? 'must be User, Group or ServiceAccount' : undefined) },
);

const labelKey = pattern(new RegExp(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?${labelText}$`), 'is not a label key');
const labelValue = pattern(new RegExp(`^(${labelText})?$`), 'is not a label value');
const expression = z
  .strictObject({
    key: labelKey,
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: z.array(labelValue).default([]),
  })
  .refine(({ operator, values }) => operator.endsWith('In') === values.length > 0, {
    path: ['values'],
    error: 'In and NotIn need values, Exists and DoesNotExist take none',
  });
const selector = z
  .strictObject({
    matchLabels: z.record(labelKey, labelValue).default({}),
    matchExpressions: z.array(expression).default([]),
  })
  .refine((given) => Object.keys(given.matchLabels).length + given.matchExpressions.length > 0, {
    error: 'names no label; leave the field out to mean every cluster',
  });

const rule = z
  .strictObject({
    subjects: z.array(subject).min(1, 'must name at least one subject'),
    clusters: narrowing(
      pattern(/^(\*|[a-z0-9]([-a-z0-9.]*[a-z0-9])?)$/, 'is not a cluster name; patterns are not supported, use labels'),
    ),
    clusterSelector: selector.optional(),
    verbs: z
      .array(pattern(/^(\*|[a-z][-a-z:]*)$/, 'is not a verb; verbs are lower case, such as get, list, watch'))
      .min(1, 'must contain at least one verb'),
    apiGroups: narrowing(
      pattern(/^(\*|[^/*\s]*)$/, 'is not an API group; write it without version, "" is the core group'),
    ),
    resources: narrowing(
      pattern(/^(\*|[^/*\s]+)(\/[^*\s]+)?$/, 'is not a resource; write "pods", "pods/log", "*/scale" or "*"'),
    ),
    resourceNames: narrowing(text.refine((name) => name !== '*', { error: 'leave the field out to mean every name' })),
    namespaces: narrowing(
      pattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'is not a namespace; leave the field out to mean all of them'),
    ),
    nonResourceURLs: narrowing(pattern(/^(\*|\/[^*]*\*?)$/, 'must be "*" or begin with "/", with "*" only at its end')),
  })
  .superRefine((given, issues) => {
    const fault = (field: string, message: string) => issues.addIssue({ code: 'custom', path: [field], message });
    const forResources = given.apiGroups.length + given.resources.length > 0;
    if (!forResources && given.nonResourceURLs.length === 0) {
      fault('resources', 'a rule needs apiGroups and resources, or nonResourceURLs');
    }
    if (forResources && given.apiGroups.length === 0)
      fault('apiGroups', 'must be given with resources; "" is the core group');
    if (forResources && given.resources.length === 0) fault('resources', 'must be given with apiGroups');
    for (const field of ['resourceNames', 'namespaces'] as const) {
      if (given[field].length > 0 && given.nonResourceURLs.length > 0) {
        fault(field, 'cannot be combined with nonResourceURLs; write two rules');
      }
    }
  });

const rulesFile = z.strictObject({
  apiVersion: z.literal('gateway.portcullis.io/v1alpha1'),
  kind: z.literal('AuthorizationRules'),
  rules: z.array(rule),
});

/**
 * Reads a rules file.
 * @param source the file, decoded from UTF-8
 * @param file name of the file for messages
 * @throws GatewayError INVALID with every fault: file, line, column and path
 */
export function parseRules(source: string, file: string): AuthorizationRules {
  const read = readYaml(source, file, rulesFile);
  if ('faults' in read) throw invalid(read.faults.map(faultText));
  return Object.freeze({ file, rules: Object.freeze(read.value.rules.map(toRule)) });
}

function toRule(given: z.infer<typeof rule>): Rule {
  const { clusterSelector } = given;
  return Object.freeze({
    ...given,
    subjects: given.subjects.map((one) =>
      one.kind === 'ServiceAccount'
        ? { kind: one.kind, namespace: one.namespace, name: one.name }
        : { kind: one.kind, name: one.name },
    ),
    clusterSelector: clusterSelector && {
      matchLabels: Object.entries(clusterSelector.matchLabels),
      matchExpressions: clusterSelector.matchExpressions,
    },
  });
}

function invalid(faults: readonly string[]): GatewayError {
  return new GatewayError('INVALID', `the authorization rules are not valid:\n  ${listed(faults, 50, '\n  ')}`);
}
