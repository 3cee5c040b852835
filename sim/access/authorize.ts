// Authorizes requests with RBAC, as kube-apiserver does, using the roles and bindings in the store. A rule with
// resourceNames does not permit requests without a name (list, create). `*` in `resources` also permits subresources.
import type { Store } from '../store/store.ts';
import { forbidden, type StatusError } from '../model/status-error.ts';
import type { JsonObject, KubeObject, SimUser } from '../model/types.ts';

/** A request to be authorized: for a resource, or for a non-resource path when `path` is set. */
export interface Attributes {
  readonly user: SimUser;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The path of a non-resource request; otherwise undefined. */
  readonly path?: string;
}

/** The attributes of a request for a resource. Fields that `more` does not set are ''. */
export function attributesOf(user: SimUser, verb: string, more: Partial<Attributes>): Attributes {
  return { user, verb, group: '', version: '', resource: '', subresource: '', namespace: '', name: '', ...more };
}

/**
 * The result of an authorization. `reason` of a refusal lists missing roles to which bindings of the user refer; it is
 * '' when there are none.
 */
export interface Decision {
  readonly isAllowed: boolean;
  readonly reason: string;
}

/** Decides whether a request is permitted. */
export type Authorize = (attributes: Attributes) => Decision;

const rbac = 'rbac.authorization.k8s.io';

/**
 * The RBAC rules that apply to a user in a namespace, and an error for each binding whose role is missing. With the
 * namespace '' only ClusterRoleBindings are used.
 */
export function rulesFor(store: Store, user: SimUser, namespace: string): { rules: JsonObject[]; errors: string[] } {
  const rules: JsonObject[] = [];
  const errors: string[] = [];
  const visit = (binding: KubeObject, inNamespace: string): void => {
    const isSubject = (binding['subjects'] ?? []).some((subject: JsonObject) =>
      matchesSubject(subject, user, inNamespace),
    );
    if (!isSubject) return;
    const { kind, name } = binding['roleRef'];
    const role =
      kind === 'ClusterRole'
        ? store.get(`${rbac}/clusterroles`, '', name)
        : store.get(`${rbac}/roles`, inNamespace, name);
    if (role === undefined) errors.push(`${kind.toLowerCase()}.${rbac} "${name}" not found`);
    else rules.push(...(role['rules'] ?? []));
  };
  for (const binding of store.list(`${rbac}/clusterrolebindings`)) visit(binding, '');
  if (namespace !== '') for (const binding of store.list(`${rbac}/rolebindings`, namespace)) visit(binding, namespace);
  return { rules, errors };
}

/** Makes an authorizer that uses the RBAC objects in a store. The group system:masters may do everything. */
export function createAuthorizer(store: Store): Authorize {
  return (attributes) => {
    if (attributes.user.groups.includes('system:masters')) return { isAllowed: true, reason: '' };
    const { rules, errors } = rulesFor(store, attributes.user, attributes.namespace);
    if (rules.some((rule) => ruleAllows(rule, attributes))) return { isAllowed: true, reason: '' };
    const reason =
      errors.length === 0 ? '' : `RBAC: ${errors.length === 1 ? errors[0] : `[${[...new Set(errors)].join(', ')}]`}`;
    return { isAllowed: false, reason };
  };
}

function matchesSubject(subject: JsonObject, user: SimUser, namespace: string): boolean {
  switch (subject['kind']) {
    case 'User':
      return subject['name'] === user.name;
    case 'Group':
      return user.groups.includes(subject['name']);
    case 'ServiceAccount': {
      const home = subject['namespace'] ?? namespace;
      return home !== '' && user.name === `system:serviceaccount:${home}:${subject['name']}`;
    }
    default:
      return false;
  }
}

/** Whether one PolicyRule permits the request (plugin/pkg/auth/authorizer/rbac/rbac.go RuleAllows). */
export function ruleAllows(rule: JsonObject, attributes: Attributes): boolean {
  const has = (list: unknown, value: string): boolean =>
    Array.isArray(list) && (list.includes('*') || list.includes(value));
  if (!has(rule['verbs'], attributes.verb)) return false;
  if (attributes.path !== undefined) {
    const path = attributes.path;
    return (rule['nonResourceURLs'] ?? []).some(
      (url: string) => url === '*' || url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, ''))),
    );
  }
  if (!has(rule['apiGroups'], attributes.group)) return false;
  const resource =
    attributes.subresource === '' ? attributes.resource : `${attributes.resource}/${attributes.subresource}`;
  const isResource =
    has(rule['resources'], resource) ||
    (attributes.subresource !== '' && (rule['resources'] ?? []).includes(`*/${attributes.subresource}`));
  if (!isResource) return false;
  const names: readonly string[] = rule['resourceNames'] ?? [];
  return names.length === 0 || names.includes(attributes.name);
}

/** The 403 error for a refused request, with kube-apiserver's message. */
export function forbiddenBy(attributes: Attributes, reason: string): StatusError {
  const who = JSON.stringify(attributes.user.name);
  const sanitize = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
  let message: string;
  if (attributes.path !== undefined) {
    message = `User ${who} cannot ${attributes.verb} path ${JSON.stringify(attributes.path)}`;
  } else {
    const resource = attributes.resource + (attributes.subresource === '' ? '' : `/${attributes.subresource}`);
    const scope = attributes.namespace === '' ? 'at the cluster scope' : `in the namespace "${attributes.namespace}"`;
    message = `User ${who} cannot ${attributes.verb} resource "${resource}" in API group "${attributes.group}" ${scope}`;
  }
  const why = sanitize(message) + (reason === '' ? '' : `: ${reason}`);
  return forbidden({ group: attributes.group, plural: attributes.resource }, attributes.name, why);
}
