// Who may do something, and what somebody may do, by the RBAC objects of one cluster. Security: a binding counts only
// when the caller may read both the binding and its role, so the answer names nothing that the caller could not list.
import { splitAccountName } from '../../auth/callers/reserved.ts';
import type { User } from '../../model/user.ts';
import type { ResourceType } from '../../query/types.ts';
import { ruleAllows, ruleAllowsPath, subjectKeysOf } from '../rbac/rbac.ts';
import type { Binding, PolicyRule, SubjectKey } from '../rbac/rbac.ts';
import type { RbacKind, RbacView } from '../rbac/rbac-view.ts';
import type { LabelMatcher } from '../../query/selectors/label-matcher.ts';

/** Which of the clusters that the caller may reach a question is about; without both it is about all. */
export interface AskedClusters {
  /** Their names. */
  readonly clusters: readonly string[] | undefined;
  /** Tests a cluster's labels in the gateway. */
  readonly clusterSelector: LabelMatcher | undefined;
}

/** A request for a resource. */
export interface ResourceAccess extends ResourceType {
  readonly verb: string;
  /** The subresource of the request, such as `log`; '' for the resource itself. */
  readonly subresource: string;
  /** The name in the request; '' for a request without one, undefined for any name. */
  readonly name: string | undefined;
  /** The namespace of the request; '' for a request outside of namespaces, undefined for any namespace. */
  readonly namespace: string | undefined;
}

/** A request for a path that is no resource, such as `/healthz`. */
export interface PathAccess {
  readonly verb: string;
  readonly path: string;
}

export type AccessQuestion = ResourceAccess | PathAccess;

/** A user, group or ServiceAccount, with the fields of a rbac.authorization.k8s.io/v1 Subject. */
export interface Subject {
  readonly kind: 'User' | 'Group' | 'ServiceAccount';
  readonly name: string;
  /** Set for a ServiceAccount. */
  readonly namespace?: string;
}

/** One rule that some subjects have by one binding. */
export interface Finding {
  readonly subjects: readonly SubjectKey[];
  readonly binding: Binding;
  readonly rule: PolicyRule;
}

/** What a caller knows of the RBAC of one cluster. */
export interface KnownRbac {
  readonly view: Pick<RbacView, 'bindings'>;
  /** Whether the caller may read this object. `namespace` is '' for cluster-scoped objects. */
  readonly isReadable: (kind: RbacKind, namespace: string, name: string) => boolean;
  /** Whether objects of the type are in namespaces; undefined when that is unknown. */
  readonly isNamespaced: (type: ResourceType) => boolean | undefined;
  /**
   * Called before rules, names or subjects are compared with each other, with the number of comparisons. A tenant can
   * make this number large with few objects. Throws when there were too many. Security: only what the caller may read
   * counts.
   */
  readonly spend?: (comparisons: number) => void;
}

/**
 * The rules that allow a request. A binding that allows it in general gives one rule; one that allows it for some
 * names gives each of its rules that fits.
 */
export function* whoCan(known: KnownRbac, question: AccessQuestion): Generator<Finding> {
  const { view, isReadable, isNamespaced, spend } = known;
  // Many bindings may refer to one role, so its rules are compared once.
  const fittingOf = new Map<readonly PolicyRule[], readonly PolicyRule[]>();
  for (const { binding, rules } of view.bindings()) {
    const { namespace } = binding;
    if (!mayConcern(namespace, question, isNamespaced) || !isBindingReadable(isReadable, binding)) continue;
    const isAlike = namespace === '' || 'path' in question || !isNamespace(question);
    let fitting = isAlike ? fittingOf.get(rules) : undefined;
    if (fitting === undefined) {
      if (!isAlike) spend?.(rules.length);
      fitting = rules.filter((rule) => isAllowedBy(rule, question, namespace));
      if (isAlike) fittingOf.set(rules, fitting);
    }
    const general = fitting.find(({ resourceNames }) => resourceNames.length === 0);
    for (const rule of general === undefined ? fitting : [general]) {
      yield { subjects: binding.subjects, binding, rule };
    }
  }
}

/** Whether a rule that somebody has by a binding allows a request. */
export function isAllowed({ binding, rule }: Finding, question: AccessQuestion): boolean {
  return isAllowedBy(rule, question, binding.namespace) && mayConcern(binding.namespace, question, () => undefined);
}

/**
 * Everything that bindings give a user: each rule of each role that is bound to the user or one of the groups.
 * @param user as the cluster sees the user, with the groups that an API server adds
 */
export function* whatCan(
  { view, isReadable }: Pick<KnownRbac, 'view' | 'isReadable'>,
  user: Pick<User, 'name' | 'groups'>,
): Generator<Finding> {
  const keys = new Set(subjectKeysOf(user));
  for (const { binding, rules } of view.bindings()) {
    const subjects = binding.subjects.filter((subject) => keys.has(subject));
    if (subjects.length === 0 || !isBindingReadable(isReadable, binding)) continue;
    for (const rule of rules) yield { subjects, binding, rule };
  }
}

/** Whether the caller may read a binding and the role that it refers to. */
export function isBindingReadable(isReadable: KnownRbac['isReadable'], { namespace, name, role }: Binding): boolean {
  return (
    isReadable(namespace === '' ? 'clusterrolebindings' : 'rolebindings', namespace, name) &&
    isReadable(role.kind === 'Role' ? 'roles' : 'clusterroles', role.namespace, role.name)
  );
}

/** The subject that a key of `subjectKeysOf` stands for. */
export function subjectOf(key: SubjectKey): Subject {
  const name = key.slice(2);
  if (key.startsWith('g:')) return { kind: 'Group', name };
  const account = splitAccountName(name);
  return account === undefined ? { kind: 'User', name } : { kind: 'ServiceAccount', ...account };
}

/** Whether a binding in this namespace ('' for a ClusterRoleBinding) is looked at for such a request at all. */
function mayConcern(bound: string, question: AccessQuestion, isNamespaced: KnownRbac['isNamespaced']): boolean {
  if (bound === '') return true;
  if ('path' in question) return false;
  if (question.namespace !== undefined) return question.namespace === bound;
  // A request for one Namespace counts as a request inside of it (apiserver:pkg/endpoints/request), so a RoleBinding
  // can allow it. For other cluster-scoped types it cannot.
  return isNamespace(question) || isNamespaced(question) !== false;
}

function isAllowedBy(rule: PolicyRule, question: AccessQuestion, bound: string): boolean {
  if ('path' in question) return ruleAllowsPath(rule, question.verb, question.path);
  if (question.name !== undefined) return isNameAllowed(rule, question, question.name, bound);
  if (bound !== '' && question.namespace === undefined && isNamespace(question))
    return !isNameless(question) && ruleAllows(rule, { ...question, name: bound });
  const names = isNameless(question) || rule.resourceNames.length === 0 ? [''] : rule.resourceNames;
  return names.some((name) => ruleAllows(rule, { ...question, name }));
}

function isNameAllowed(rule: PolicyRule, question: ResourceAccess, name: string, bound: string): boolean {
  const isElsewhere = bound !== '' && question.namespace === undefined && isNamespace(question) && bound !== name;
  return !isElsewhere && ruleAllows(rule, { ...question, name });
}

function isNamespace({ group, resource }: ResourceType): boolean {
  return group === '' && resource === 'namespaces';
}

/** Whether requests with this verb never have a name, so that a rule for some names cannot allow them. */
function isNameless({ verb, subresource, ...type }: ResourceAccess): boolean {
  if (verb === 'deletecollection') return true;
  return (verb === 'create' && subresource === '') || (isNamespace(type) && (verb === 'list' || verb === 'watch'));
}
