// RBAC as kube-apiserver evaluates it (kubernetes:plugin/pkg/auth/authorizer/rbac, pkg/registry/rbac/validation,
// pkg/apis/rbac/v1), as pure functions over Role and binding objects. Easy to get wrong: a rule without resourceNames
// allows every name and requests without one; a rule with them allows those names only, and "" among them is the
// request without a name.
import { randomUUID } from 'node:crypto';
import { accountUserName } from '../../auth/callers/reserved.ts';
import type { User } from '../../cache/model/user.ts';
import type { ResourceType } from '../types.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

/** rbac.authorization.k8s.io/v1 PolicyRule, as far as resources go. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Empty: every name. */
  readonly resourceNames: readonly string[];
}

/** A RoleBinding, or with namespace '' a ClusterRoleBinding. */
export interface Binding {
  readonly namespace: string;
  readonly role: RoleReference;
  /** A user with one of these keys ({@link subjectKeysOf}) is bound. */
  readonly subjects: readonly SubjectKey[];
}

/** `namespace` is '' for a ClusterRole. */
export interface RoleReference {
  readonly kind: 'Role' | 'ClusterRole';
  readonly namespace: string;
  readonly name: string;
}

/** `u:<user name>` or `g:<group>`; a ServiceAccount is its user name (serviceaccount.MatchesUsername). */
export type SubjectKey = string;

/** One question about resources (apiserver:pkg/authorization/authorizer.Attributes). */
export interface ResourceQuestion extends ResourceType {
  readonly verb: string;
  /** '' for none. */
  readonly subresource: string;
  readonly name: string;
}

/** rules.go RuleAllows for resource requests. */
export function ruleAllows(rule: PolicyRule, question: ResourceQuestion): boolean {
  return ruleConcerns(rule, question) && nameMatches(rule, question.name);
}

/** {@link ruleAllows} but for the name. */
export function ruleConcerns(rule: PolicyRule, { verb, group, resource, subresource }: Omit<ResourceQuestion, 'name'>) {
  return (
    matches(rule.verbs, verb) &&
    matches(rule.apiGroups, group) &&
    resourceMatches(rule.resources, resource, subresource)
  );
}

function nameMatches({ resourceNames }: PolicyRule, name: string): boolean {
  return resourceNames.length === 0 || resourceNames.includes(name);
}

function matches(items: readonly string[], value: string): boolean {
  return items.includes('*') || items.includes(value);
}

/** "*" covers subresources too; "pods" does not cover "pods/log"; a star before "/log" covers the log of everything. */
function resourceMatches(items: readonly string[], resource: string, subresource: string): boolean {
  if (subresource === '') return matches(items, resource);
  return matches(items, `${resource}/${subresource}`) || items.includes(`*/${subresource}`);
}

/**
 * A name that no object has, to ask whether a user may get objects of any name. A question without a name would also be
 * allowed by the resource name "", which allows no get. It is random in each process: a Role with a known name beside
 * "" would show everything.
 */
export const anyName = `portcullis:any:${randomUUID()}`;

/** What the rules of one role allow of a type: all objects, or objects of these names (none for nothing). */
export type RuleReach = 'all' | ReadonlySet<string>;

/**
 * @param verb for `list` and `watch` the request without a name is what allows everything, and resourceNames may hold
 *   the name "", which is that request; a `get` always has a name
 */
export function reachOfRules(rules: readonly PolicyRule[], verb: string, type: ResourceType): RuleReach {
  let names: Set<string> | undefined;
  for (const rule of rules) {
    if (!ruleConcerns(rule, { ...type, verb, subresource: '' })) continue;
    if (rule.resourceNames.length === 0) return 'all';
    for (const name of rule.resourceNames) {
      if (name !== '') (names ??= new Set()).add(name);
      else if (verb !== 'get') return 'all';
    }
  }
  return names ?? nothing;
}

const nothing: ReadonlySet<string> = new Set();

/** The keys by which a user's bindings are found. */
export function subjectKeysOf({ name, groups }: Pick<User, 'name' | 'groups'>): SubjectKey[] {
  return [`u:${name}`, ...new Set(groups.map((group) => `g:${group}`))];
}

/**
 * The rules of a Role or ClusterRole. Those of an aggregated ClusterRole are what its controller wrote, as for
 * kube-apiserver.
 */
export function readRules(role: unknown): readonly PolicyRule[] {
  return listOf(fieldOf(role, 'rules')).map((rule) => ({
    verbs: textsOf(fieldOf(rule, 'verbs')),
    apiGroups: textsOf(fieldOf(rule, 'apiGroups')),
    resources: textsOf(fieldOf(rule, 'resources')),
    resourceNames: namesOf(fieldOf(rule, 'resourceNames')),
  }));
}

/**
 * Reads a RoleBinding or (namespace '') a ClusterRoleBinding; undefined when it can never allow anything: a
 * ClusterRoleBinding to a Role, a reference into another API group, no known subject.
 */
export function readBinding(binding: unknown, namespace: string): Binding | undefined {
  const reference = fieldOf(binding, 'roleRef');
  const group = fieldOf(reference, 'apiGroup') ?? '';
  const kind = fieldOf(reference, 'kind');
  const name = fieldOf(reference, 'name');
  if ((group !== '' && group !== rbacGroup) || typeof name !== 'string') return undefined;
  if (kind !== 'ClusterRole' && (kind !== 'Role' || namespace === '')) return undefined;
  const subjects = listOf(fieldOf(binding, 'subjects')).flatMap((subject) => subjectKeyOf(subject, namespace) ?? []);
  if (subjects.length === 0) return undefined;
  const role: RoleReference = { kind, namespace: kind === 'Role' ? namespace : '', name };
  return { namespace, role, subjects: [...new Set(subjects)] };
}

/** rule.go appliesToUser: an account without a namespace is one of the binding's own. */
function subjectKeyOf(subject: unknown, bindingNamespace: string): SubjectKey | undefined {
  const name = fieldOf(subject, 'name');
  if (typeof name !== 'string') return undefined;
  switch (fieldOf(subject, 'kind')) {
    case 'User':
      return `u:${name}`;
    case 'Group':
      return `g:${name}`;
    case 'ServiceAccount': {
      const given = fieldOf(subject, 'namespace');
      const namespace = typeof given === 'string' && given !== '' ? given : bindingNamespace;
      return namespace === '' ? undefined : `u:${accountUserName({ namespace, name })}`;
    }
    default:
      return undefined;
  }
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((item) => typeof item === 'string');
}

/** A value that is no list of texts must not mean "every name". */
function namesOf(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  const names = textsOf(value);
  return Array.isArray(value) && names.length === value.length ? names : ['\u0000'];
}
