// Seeded random users and RBAC for the tests of rights: Roles, ClusterRoles, aggregation, resourceNames, groups,
// ServiceAccounts, namespaces. Rights that are too wide or too narrow hide every mistake, so most rules name one verb
// list, one or two types and often names.
import { createHash } from 'node:crypto';
import { createRandom } from '../../../bench/figures/statistics.ts';
import { makeUser } from '../../../model/user.ts';
import type { User } from '../../../model/user.ts';
import { grantedRole, groupSubject, role } from '../../site/rbac.ts';

/** Draws one of them. */
export type Pick = <T>(items: readonly T[]) => T;

/** Makes draws that are the same for a seed everywhere. */
export function makePick(seed: number): Pick {
  const random = createRandom(seed);
  return (items) => items[(random() * 2 ** 32) % items.length]!;
}

/** Draws that depend on the seed and on what they are for, not on which answer came first. */
export function pickingFor(seed: number): (...what: readonly string[]) => Pick {
  return (...what) => {
    const digest = createHash('sha256').update(JSON.stringify([seed, ...what]));
    return makePick(digest.digest().readInt32LE());
  };
}

export interface WorldType {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Objects of it come from a controller. */
  readonly owned?: boolean;
}

/** What is listed. */
export const worldTypes: readonly WorldType[] = [
  { group: '', version: 'v1', resource: 'configmaps', kind: 'ConfigMap', namespaced: true },
  { group: '', version: 'v1', resource: 'secrets', kind: 'Secret', namespaced: true },
  { group: 'apps', version: 'v1', resource: 'deployments', kind: 'Deployment', namespaced: true },
  { group: 'apps', version: 'v1', resource: 'replicasets', kind: 'ReplicaSet', namespaced: true, owned: true },
  { group: '', version: 'v1', resource: 'namespaces', kind: 'Namespace', namespaced: false },
  { group: 'storage.k8s.io', version: 'v1', resource: 'storageclasses', kind: 'StorageClass', namespaced: false },
];

export const worldNamespaces = ['n0', 'n1', 'n2', 'n3'];
export const objectNames = ['a', 'b', 'c'];
const groups = ['g0', 'g1', 'g2', 'g3', 'g4'];
const rbac = 'rbac.authorization.k8s.io';
const aggregated = 'portcullis.test/aggregate-to';

export interface WorldObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> };
  readonly [field: string]: unknown;
}

/**
 * Callers as the gateway knows them; some come from a hub, where ServiceAccounts and `system:masters` are not what they
 * are here.
 */
export function randomUsers(pick: Pick, count: number): User[] {
  return Array.from({ length: count }, (_, index) => {
    const own = pick([[], [pick(groups)], [pick(groups), pick(groups)], ['someone-else']]);
    const origin = pick(['operator', 'operator', 'hub'] as const);
    const special = index % 20 === 7 ? ['system:masters'] : [];
    const isAccount = index % 6 === 5;
    const home = pick(worldNamespaces);
    const name = isAccount ? `system:serviceaccount:${home}:sa-${index}` : `user-${index}`;
    // With and without the groups a token of the account would bring: without any, the member adds them.
    const ofAccount = isAccount ? pick([[], ['system:serviceaccounts', `system:serviceaccounts:${home}`]]) : [];
    const all = [...own, ...special, ...ofAccount];
    const extra = pick([[], [['example.org/team', ['x']] as const]]);
    return makeUser({ name, groups: [...all, 'system:authenticated'], origin, extra, uid: pick(['', `uid-${index}`]) });
  });
}

/** What the objects are that rights are about. */
export function worldData(): WorldObject[] {
  const objects: WorldObject[] = worldNamespaces.map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  }));
  for (const { group, version, kind, namespaced, owned } of worldTypes) {
    if (kind === 'Namespace' || owned === true) continue;
    const apiVersion = group === '' ? version : `${group}/${version}`;
    for (const namespace of namespaced ? worldNamespaces : [undefined]) {
      for (const name of objectNames) {
        objects.push({
          apiVersion,
          kind,
          metadata: { name, labels: { tier: name === 'a' ? 'web' : 'data' }, ...(namespace && { namespace }) },
          ...bodyOf(kind),
        });
      }
    }
  }
  return objects;
}

function bodyOf(kind: string): object {
  if (kind === 'StorageClass') return { provisioner: 'example.org/none' };
  if (kind !== 'Deployment') return { data: {} };
  const labels = { app: 'x' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'x', image: 'x' }] } };
  return { spec: { replicas: 0, selector: { matchLabels: labels }, template } };
}

const roleNames = ['r0', 'r1', 'r2', 'r3'];
const clusterRoleNames = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'aggregate-0', 'aggregate-1', 'view', 'missing'];

/** Draws a rule of a Role or ClusterRole. */
export type DrawRule = (pick: Pick, kind: 'Role' | 'ClusterRole') => object;

/**
 * RBAC of one member for these users (as the member will see them), in the order in which it must be made.
 * @param prefix of the names of bindings, since a binding's role cannot be changed
 */
export function randomRbac(
  pick: Pick,
  users: readonly { readonly name: string }[],
  prefix: string,
  drawRule: DrawRule = randomRule,
): WorldObject[] {
  const randomRules = (kind: 'Role' | 'ClusterRole'): object[] =>
    Array.from({ length: pick([1, 1, 2, 3]) }, () => drawRule(pick, kind));
  const objects: WorldObject[] = [];
  for (const name of clusterRoleNames.filter((each) => each.startsWith('c'))) {
    const part = pick([undefined, undefined, '0', '1']);
    const labels: Record<string, string> = part === undefined ? {} : { [aggregated]: part };
    objects.push({
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name, labels },
      rules: randomRules('ClusterRole'),
    });
  }
  for (const index of ['0', '1']) {
    const clusterRoleSelectors = [{ matchLabels: { [aggregated]: index } }];
    objects.push(
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRole',
        metadata: { name: `aggregate-${index}` },
        aggregationRule: { clusterRoleSelectors },
      },
      // At least one each, so that the controller has something to write.
      {
        apiVersion: `${rbac}/v1`,
        kind: 'ClusterRole',
        metadata: { name: `part-${index}`, labels: { [aggregated]: index } },
        rules: [drawRule(pick, 'ClusterRole')],
      },
    );
  }
  for (const namespace of worldNamespaces) {
    for (const name of roleNames) {
      objects.push(role(namespace, name, randomRules('Role')));
    }
  }
  const bind = (index: number, subject: object, wide: boolean): void => {
    const namespace = wide ? undefined : pick(worldNamespaces);
    const useRole = namespace !== undefined && pick([true, false]);
    objects.push({
      apiVersion: `${rbac}/v1`,
      kind: wide ? 'ClusterRoleBinding' : 'RoleBinding',
      metadata: { name: `${prefix}-${index}-${objects.length}`, ...(namespace && { namespace }) },
      roleRef: {
        apiGroup: rbac,
        kind: useRole ? 'Role' : 'ClusterRole',
        name: pick(useRole ? roleNames : clusterRoleNames),
      },
      subjects: [subject],
    });
  };
  for (const [index, user] of users.entries()) {
    for (let count = pick([0, 1, 2, 3]); count > 0; count--)
      bind(index, subjectOf(pick, user.name), pick([true, false, false]));
  }
  const groupSubjects = [
    ...groups,
    'system:serviceaccounts',
    'system:serviceaccounts:n1',
    'cluster:hub:system:serviceaccounts:n2',
  ];
  for (const [index, name] of groupSubjects.entries()) {
    bind(10_000 + index, { kind: 'Group', apiGroup: rbac, name }, pick([true, false, false]));
    bind(20_000 + index, { kind: 'Group', apiGroup: rbac, name }, false);
  }
  // To everybody, and narrow: one name in one namespace.
  objects.push(
    ...grantedRole(
      'n3',
      'public',
      [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['c'] }],
      groupSubject('system:authenticated'),
    ),
  );
  return objects;
}

/** Accounts as accounts where the name is one, and as users of that name, which is the same. */
function subjectOf(pick: Pick, name: string): object {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name) ?? [];
  if (namespace !== undefined && pick([true, false])) return { kind: 'ServiceAccount', namespace, name: account };
  return { kind: 'User', apiGroup: rbac, name };
}

function randomRule(pick: Pick): object {
  const type = pick(worldTypes);
  const other = pick(worldTypes);
  const names = pick([undefined, undefined, [pick(objectNames)], ['a', 'b'], [''], worldNamespaces.slice(0, 2)]);
  return {
    verbs: pick([['get', 'list', 'watch'], ['list'], ['get'], ['list', 'watch'], ['watch'], ['*'], ['create', 'get']]),
    apiGroups: pick([[type.group], [type.group, other.group], ['*']]),
    resources: pick([
      [type.resource],
      [type.resource, other.resource],
      [`${type.resource}/status`, other.resource],
      pick([['*'], ['*/status']]),
    ]),
    ...(names === undefined ? {} : { resourceNames: names }),
  };
}
