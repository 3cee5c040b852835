// RBAC as kube-apiserver evaluates it (kubernetes:plugin/pkg/auth/authorizer/rbac, pkg/registry/rbac/validation,
// pkg/apis/rbac/v1), as pure functions over Role and binding objects. Easy to get wrong: a rule without resourceNames
// allows every name, and also requests without a name. A rule with resourceNames allows only these names, and the
// entry "" in it means a request without a name.
import { fieldOf, listAt, textsAt } from '../../lib/objects/json-object.ts';
import { rbacGroup } from '../../lib/objects/api-names.ts';
import { randomUUID } from 'node:crypto';
import { accountUserName } from '../../auth/callers/reserved.ts';
import type { User } from '../../model/user.ts';
import type { ResourceType } from '../../query/types.ts';

/** A rbac.authorization.k8s.io/v1 PolicyRule. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** The names of objects that the rule allows. When the list is empty, it allows every name. */
  readonly resourceNames: readonly string[];
  /**
   * URL paths that are no resources, such as `/healthz` or `/debug/*`. They are allowed only to subjects of a
   * ClusterRoleBinding.
   */
  readonly nonResourceURLs: readonly string[];
}

/** A RoleBinding, or a ClusterRoleBinding when `namespace` is ''. */
export interface Binding {
  readonly namespace: string;
  readonly name: string;
  readonly role: RoleReference;
  /** Keys of the users and groups that are bound; {@link subjectKeysOf} gives the keys of a user. */
  readonly subjects: readonly SubjectKey[];
}

/** The role that a binding refers to. `namespace` is '' for a ClusterRole. */
export interface RoleReference {
  readonly kind: 'Role' | 'ClusterRole';
  readonly namespace: string;
  readonly name: string;
}

/** `u:<user name>` or `g:<group>`. A ServiceAccount is written as its user name (serviceaccount.MatchesUsername). */
export type SubjectKey = string;

/** A request for a resource, as RBAC decides about it (apiserver:pkg/authorization/authorizer.Attributes). */
export interface ResourceQuestion extends ResourceType {
  readonly verb: string;
  /** The subresource of the request, such as `log`; '' when it has none. */
  readonly subresource: string;
  readonly name: string;
}

/** Whether the rule allows a request for a resource (RuleAllows in rules.go). */
export function ruleAllows(rule: PolicyRule, question: ResourceQuestion): boolean {
  return ruleConcerns(rule, question) && nameMatches(rule, question.name);
}

/** Whether the rule matches verb, group, resource and subresource, without looking at the name. */
export function ruleConcerns(rule: PolicyRule, { verb, group, resource, subresource }: Omit<ResourceQuestion, 'name'>) {
  return (
    matches(rule.verbs, verb) &&
    matches(rule.apiGroups, group) &&
    resourceMatches(rule.resources, resource, subresource)
  );
}

/**
 * Whether the rule allows a request for a path that is no resource (NonResourceURLMatches in evaluation_helpers.go).
 * All stars at the end of a rule's path together mean any rest.
 */
export function ruleAllowsPath({ verbs, nonResourceURLs }: PolicyRule, verb: string, path: string): boolean {
  const covers = (url: string): boolean =>
    url === '*' || url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, '')));
  return matches(verbs, verb) && nonResourceURLs.some(covers);
}

function nameMatches({ resourceNames }: PolicyRule, name: string): boolean {
  return resourceNames.length === 0 || resourceNames.includes(name);
}

function matches(items: readonly string[], value: string): boolean {
  return items.includes('*') || items.includes(value);
}

/**
 * Matches as RBAC does: "*" covers subresources too, "pods" does not cover "pods/log", and a star followed by "/log"
 * covers the log of every resource.
 */
function resourceMatches(items: readonly string[], resource: string, subresource: string): boolean {
  if (subresource === '') return matches(items, resource);
  return matches(items, `${resource}/${subresource}`) || items.includes(`*/${subresource}`);
}

/**
 * A name that no object has, to ask whether a user may get objects of any name. Asking without a name would not do:
 * resourceNames with "" would allow that question, although it allows no get. The name is random in each process,
 * because a Role could list a known name and so appear to allow every name.
 */
export const anyName = `portcullis:any:${randomUUID()}`;

/**
 * What the rules of one role allow of a type: all objects, or only objects with these names. An empty set allows
 * nothing. `many`: more names than were asked for.
 */
export type RuleReach = 'all' | 'many' | ReadonlySet<string>;

/**
 * Computes what the rules of one role allow of a type.
 * @param verb `list` and `watch` requests have no name: a rule with the name "" in resourceNames allows them
 *   completely. A `get` always has a name
 * @param mostNames with more names than this the result is `many`
 */
export function reachOfRules(
  rules: readonly PolicyRule[],
  verb: string,
  type: ResourceType,
  mostNames = Infinity,
): RuleReach {
  const names = new Set<string>();
  let isMany = false;
  for (const rule of rules) {
    if (!ruleConcerns(rule, { ...type, verb, subresource: '' })) continue;
    const { resourceNames } = rule;
    if (resourceNames.length === 0 || (verb !== 'get' && resourceNames.includes(''))) return 'all';
    for (const name of resourceNames) {
      isMany ||= names.size >= mostNames && name !== '' && !names.has(name);
      if (isMany) break;
      if (name !== '') names.add(name);
    }
  }
  if (isMany) return 'many';
  return names.size === 0 ? nothing : names;
}

const nothing: ReadonlySet<string> = new Set();

/** The keys of a user and of the user's groups, by which bindings are found. */
export function subjectKeysOf({ name, groups }: Pick<User, 'name' | 'groups'>): SubjectKey[] {
  return [`u:${name}`, ...new Set(groups.map((group) => `g:${group}`))];
}

/**
 * The rules of a Role or ClusterRole. For an aggregated ClusterRole these are the rules that Kubernetes' controller
 * has written into it, as in kube-apiserver.
 */
export function readRules(role: unknown): readonly PolicyRule[] {
  return listAt(role, 'rules').map((rule) => ({
    verbs: textsAt(rule, 'verbs'),
    apiGroups: textsAt(rule, 'apiGroups'),
    resources: textsAt(rule, 'resources'),
    resourceNames: namesOf(fieldOf(rule, 'resourceNames')),
    nonResourceURLs: textsAt(rule, 'nonResourceURLs'),
  }));
}

/**
 * Reads a RoleBinding, or a ClusterRoleBinding when `namespace` is ''. Undefined when the binding can never allow
 * anything: it binds a Role cluster-wide, refers to another API group, or has no known subject.
 */
export function readBinding(
  binding: unknown,
  { namespace, name: own }: Pick<Binding, 'namespace' | 'name'>,
): Binding | undefined {
  const reference = fieldOf(binding, 'roleRef');
  const group = fieldOf(reference, 'apiGroup') ?? '';
  const kind = fieldOf(reference, 'kind');
  const name = fieldOf(reference, 'name');
  if ((group !== '' && group !== rbacGroup) || typeof name !== 'string') return undefined;
  if (kind !== 'ClusterRole' && (kind !== 'Role' || namespace === '')) return undefined;
  const subjects = listAt(binding, 'subjects').flatMap((subject) => subjectKeyOf(subject, namespace) ?? []);
  if (subjects.length === 0) return undefined;
  const role: RoleReference = { kind, namespace: kind === 'Role' ? namespace : '', name };
  return { namespace, name: own, role, subjects: [...new Set(subjects)] };
}

/**
 * The key of one subject; undefined for a subject that is not valid. A ServiceAccount without a namespace is in the
 * namespace of the binding (appliesToUser in rule.go).
 */
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

/**
 * Reads resourceNames. A value that is not a list of texts becomes a name that no object has: an empty list would
 * allow every name.
 */
function namesOf(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  const names = textsAt(value);
  return Array.isArray(value) && names.length === value.length ? names : ['\u0000'];
}
