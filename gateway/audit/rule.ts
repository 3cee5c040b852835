// Decides which requests a rule of an audit policy matches, as kube-apiserver does
// (k8s.io/apiserver/pkg/audit/policy/checker.go). Easy to get wrong: `users` of a rule are compared with the
// authenticated caller, not with the user whom the caller impersonates, and `resources: [pods]` does not match
// `pods/log`.
import type { AuditedRequest } from '../../request/audit-trail.ts';
import { z } from 'zod';

/**
 * The fields of an audit.k8s.io/v1 PolicyRule that say which requests the rule is for. An empty list matches
 * everything.
 */
export interface RequestSelector {
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  /** The namespaces that the rule matches. The entry '' matches resources without a namespace. */
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** The type GroupResources of audit.k8s.io/v1. */
export interface GroupResources {
  /** API group; '' is the core group, `*` is any group. */
  readonly group: string;
  /**
   * Resources and subresources of the group, for example `pods`, `pods/log`, `*`, `pods/*` or `*` + `/scale`. An empty
   * list means every resource of the group.
   */
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** Whether the selector of a rule matches a request. */
export function isSelected(selector: RequestSelector, request: AuditedRequest): boolean {
  const { caller } = request;
  if (selector.users.length > 0 && (caller === undefined || !selector.users.includes(caller.name))) return false;
  if (selector.userGroups.length > 0) {
    if (caller === undefined || !caller.groups.some((group) => selector.userGroups.includes(group))) return false;
  }
  if (selector.verbs.length > 0 && !selector.verbs.includes(request.verb)) return false;
  if (selector.namespaces.length > 0 || selector.resources.length > 0) return isResourceSelected(selector, request);
  if (selector.nonResourceURLs.length > 0) {
    return !request.isResource && selector.nonResourceURLs.some((url) => isPathMatched(url, request.path));
  }
  return true;
}

function isResourceSelected({ namespaces, resources }: RequestSelector, request: AuditedRequest): boolean {
  if (!request.isResource) return false;
  if (namespaces.length > 0 && !namespaces.includes(request.namespace)) return false;
  return resources.length === 0 || resources.some((each) => isGroupSelected(each, request));
}

function isGroupSelected(chosen: GroupResources, request: AuditedRequest): boolean {
  const { apiGroup, resource, subresource, name } = request;
  if (chosen.group !== apiGroup && chosen.group !== '*') return false;
  if (chosen.resources.length === 0) return true;
  if (chosen.resourceNames.length > 0 && !chosen.resourceNames.includes(name)) return false;
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return chosen.resources.some(
    (one) =>
      one === combined ||
      one === '*' ||
      (subresource !== '' && one === `*/${subresource}`) ||
      (one.endsWith('/*') && one.slice(0, -2) === resource),
  );
}

/**
 * Whether an entry of nonResourceURLs matches a path. It does when it is `*`, is the same path, or ends in `*` and the
 * part before `*` is a prefix of the path.
 */
function isPathMatched(url: string, path: string): boolean {
  return url === '*' || url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, '')));
}

const group = z
  .string()
  .regex(
    /^(?:\*|[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)?$/,
    'must be the name of an API group without its version, "" for the core group, or "*"',
  );
const url = z.string().regex(/^(?:\*|\/[^*]*\*?)$/, 'must begin with "/" and may have one "*", at its end');

/**
 * Schema of a list in an audit policy. An absent list and null become an empty list, which matches everything, as in
 * kube-apiserver.
 */
function list<T>(item: z.ZodType<T>) {
  return z
    .array(item)
    .nullish()
    .transform((given): readonly T[] => given ?? []);
}

/** Schema of the fields of {@link RequestSelector} in a policy file. */
export const selectorFields = {
  users: list(z.string()),
  userGroups: list(z.string()),
  verbs: list(z.string()),
  resources: list(
    z
      .strictObject({
        group: group.nullish().transform((given) => given ?? ''),
        resources: list(z.string()),
        resourceNames: list(z.string()),
      })
      .refine(({ resources, resourceNames }) => resources.length > 0 || resourceNames.length === 0, {
        error: 'resourceNames need at least one resource',
      }),
  ),
  namespaces: list(z.string()),
  nonResourceURLs: list(url),
};

/**
 * Whether a rule names both resources and non-resource URLs. kube-apiserver refuses such a rule
 * (apis/audit/validation).
 */
export function mixesKinds({ nonResourceURLs, resources, namespaces }: RequestSelector): boolean {
  return nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0);
}

/** The message for a rule to which {@link mixesKinds} applies. */
export const mixedKinds = 'a rule is for resources or for nonResourceURLs, not for both';
