// Who could come to do something that RBAC does not give them directly: by acting as somebody who may, by a token or
// a pod of a ServiceAccount that may, or by giving the right to themselves. One step only: who could become somebody
// who could become somebody else is not followed.
import { rbacGroup } from '../../lib/objects/api-names.ts';
import { mastersGroup } from '../../auth/callers/reserved.ts';
import type { SubjectKey } from '../rbac/rbac.ts';
import { subjectOf, whoCan } from './who-can.ts';
import type { AccessQuestion, Finding, KnownRbac, ResourceAccess, Subject } from './who-can.ts';

/**
 * How somebody comes to a right. `Impersonate`: by a request as somebody else. `CreateToken`: by a token for a
 * ServiceAccount. `CreatePod`: by a pod, or a workload that makes one, that runs as a ServiceAccount. `Bind`: by a
 * binding to a role that they do not hold. `Escalate`: by more rules in a role.
 */
export type Way = 'Impersonate' | 'CreateToken' | 'CreatePod' | 'Bind' | 'Escalate';

/** A binding by which its subjects could come to the right. */
export interface Becoming extends Finding {
  readonly way: Way;
  /** The subjects as whom those of the binding could act; empty for `Bind` and `Escalate`. */
  readonly becomes: readonly Subject[];
}

type Asked = Pick<ResourceAccess, 'verb' | 'group' | 'resource' | 'subresource'>;
/** Makes a test for a binding's rule: whether it gives a way to act as a certain subject that has the right. */
type Reaches = (finding: Finding) => (subject: Subject) => boolean;

interface WayOf extends Asked {
  readonly way: Way;
  readonly reaches: Reaches | undefined;
  /** True when the request is outside of namespaces, so that no RoleBinding allows it. */
  readonly isClusterWide?: true;
}

const ways: readonly WayOf[] = [
  { way: 'Impersonate', ...asked('impersonate', 'users'), reaches: reachesName('User'), isClusterWide: true },
  { way: 'Impersonate', ...asked('impersonate', 'groups'), reaches: reachesName('Group'), isClusterWide: true },
  { way: 'Impersonate', ...asked('impersonate', 'serviceaccounts'), reaches: reachesAccount },
  { way: 'CreateToken', ...asked('create', 'serviceaccounts', '', 'token'), reaches: reachesAccount },
  ...['pods', 'replicationcontrollers'].map((resource) => createsPods(resource, '')),
  ...['deployments', 'daemonsets', 'statefulsets', 'replicasets'].map((resource) => createsPods(resource, 'apps')),
  ...['jobs', 'cronjobs'].map((resource) => createsPods(resource, 'batch')),
  { way: 'Bind', ...asked('bind', 'clusterroles', rbacGroup), reaches: undefined },
  { way: 'Bind', ...asked('bind', 'roles', rbacGroup), reaches: undefined },
  { way: 'Escalate', ...asked('escalate', 'clusterroles', rbacGroup), reaches: undefined, isClusterWide: true },
  { way: 'Escalate', ...asked('escalate', 'roles', rbacGroup), reaches: undefined },
];

function asked(verb: string, resource: string, group = '', subresource = ''): Asked {
  return { verb, group, resource, subresource };
}

function createsPods(resource: string, group: string) {
  return { way: 'CreatePod' as const, ...asked('create', resource, group), reaches: reachesAccount };
}

/**
 * The bindings by which somebody could come to a right, for subjects that do not have it already.
 * @param having what {@link whoCan} found for the question in the same cluster
 */
export function* mayBecome(
  known: KnownRbac,
  question: AccessQuestion,
  having: readonly Finding[],
): Generator<Becoming> {
  const namespace = 'path' in question ? '' : question.namespace;
  const have = new Set(
    having
      .filter(({ binding }) => binding.namespace === '' || namespace !== undefined)
      .flatMap(({ subjects }) => subjects),
  );
  const targets = [...new Set(['g:' + mastersGroup, ...having.flatMap(({ subjects }) => subjects)])].map(subjectOf);
  for (const { way, reaches, isClusterWide, ...each } of ways) {
    // A role in one namespace gives rights in that namespace only, whoever binds it or adds rules to it.
    const where = isClusterWide === true ? '' : reaches === undefined ? namespace : undefined;
    for (const finding of whoCan(known, { ...each, name: undefined, namespace: where })) {
      const subjects = finding.subjects.filter((key) => !isIdle(key, have));
      if (subjects.length === 0) continue;
      known.spend?.(reaches === undefined ? 0 : targets.length + finding.rule.resourceNames.length);
      const becomes = reaches === undefined ? [] : targets.filter(reaches(finding));
      if (reaches === undefined || becomes.length > 0) yield { ...finding, subjects, way, becomes };
    }
  }
}

/**
 * Whether a subject is left out of the answer, because it has this right already, or every right (`system:masters`).
 */
function isIdle(key: SubjectKey, have: ReadonlySet<SubjectKey>): boolean {
  return have.has(key) || key === `g:${mastersGroup}`;
}

function reachesName(kind: Subject['kind']): Reaches {
  return ({ rule }) => {
    const isNamed = namedBy(rule.resourceNames);
    return (subject) => subject.kind === kind && isNamed(subject.name);
  };
}

/**
 * Whether a rule about ServiceAccounts, or about pods that run as them, covers a ServiceAccount (or a group of them)
 * that has the right.
 */
function reachesAccount({ rule, binding }: Finding): (subject: Subject) => boolean {
  const isNamed = namedBy(rule.resourceNames);
  const isIn = (namespace: string): boolean => binding.namespace === '' || binding.namespace === namespace;
  return (subject) => {
    if (subject.kind === 'ServiceAccount') return isIn(subject.namespace!) && isNamed(subject.name);
    // The groups below contain ServiceAccounts of any name, so the names in the rule do not matter.
    if (subject.kind !== 'Group') return false;
    if (subject.name === 'system:serviceaccounts') return true;
    return subject.name.startsWith('system:serviceaccounts:') && isIn(subject.name.slice(23));
  };
}

function namedBy(resourceNames: readonly string[]): (name: string) => boolean {
  const names = new Set(resourceNames);
  return (name) => names.size === 0 || names.has(name);
}
