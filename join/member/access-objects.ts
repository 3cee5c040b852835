// The objects that a ClusterJoin makes in the member: the gateway's ServiceAccount, with the rights to impersonate
// users, to check the cluster's health, to renew its own token, and to remove these objects again.
import { isJsonObject, textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { impersonationRules } from '../../lib/rights/impersonation-rules.ts';
import { indexRules, reviewRules } from '../../lib/rights/index-rules.ts';
import type { PolicyRule } from '../../lib/rights/policy-rule.ts';
import { accessKinds } from '../../distribute/member/rbac-kinds.ts';
import { rbacGroup as rbac } from '../../lib/objects/api-names.ts';
import type { ObjectName } from '../../distribute/member/member-objects.ts';
import { defaultMemberNamespace, type InstalledObject, type JoinSpec } from '../object/cluster-join.ts';

export const accountName = 'portcullis-gateway';
const probeUser = 'portcullis:probe';
const indexUser = 'portcullis:index';
/** The ConfigMap with the member's certificate authority. Kubernetes writes it into every namespace. */
export const authorityConfigMap = 'kube-root-ca.crt';

/** Returns kind, namespace and name of an object of a ClusterJoin, for requests to the member. */
export function nameOf(object: JsonObject | InstalledObject): ObjectName {
  const at = isJsonObject((object as JsonObject)['metadata']) ? (object as JsonObject)['metadata'] : object;
  return {
    kind: accessKinds[textAt(object, 'kind') as keyof typeof accessKinds],
    namespace: textAt(at, 'namespace'),
    name: textAt(at, 'name'),
  };
}

/** The settings on which the objects of one ClusterJoin depend. */
export interface AccessSettings extends Pick<JoinSpec, 'memberNamespace' | 'impersonate' | 'index' | 'executeWorks'> {
  /** Whether the namespace is made by this ClusterJoin, and then deleted with it. */
  readonly ownsNamespace: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Name of a ClusterRole, and of its ClusterRoleBinding. A second hub may let the same member join, with another
 * namespace. So a namespace other than the default one is part of the name, and the cluster-scoped objects of the two
 * hubs have different names.
 */
function roleName(purpose: string, memberNamespace: string): string {
  return `portcullis:${purpose}${memberNamespace === defaultMemberNamespace ? '' : `:${memberNamespace}`}`;
}

/**
 * Returns the objects in the order in which they are applied. They are removed in reverse order, so that each removal
 * finds the right that it needs: the right to remove cluster-scoped objects is in the cluster-scoped object that is
 * removed last, and the right to remove the namespace is in the namespace itself.
 */
export function accessObjects(settings: AccessSettings): readonly JsonObject[] {
  const { memberNamespace: namespace, ownsNamespace, impersonate, index, executeWorks } = settings;
  const { users, groups, extras } = impersonate;
  const account = { kind: 'ServiceAccount', name: accountName, namespace };
  const user = (name: string): JsonObject => ({ kind: 'User', apiGroup: rbac, name });
  const ownUsers = [probeUser, ...(index ? [indexUser] : [])];
  const rules = impersonationRules({
    usernameOnly: false,
    extra: extras,
    users: users && [...users, ...ownUsers],
    groups,
  });
  const roles: readonly (readonly [string, readonly PolicyRule[], readonly JsonObject[]])[] = [
    ['impersonator', rules, [account]],
    ['probe', probeRules, [account, user(probeUser)]],
    ...(index
      ? ([
          ['index', indexRules(), [user(indexUser)]],
          ['index-review', reviewRules, [account]],
        ] as const)
      : []),
    ...(executeWorks ? ([['works', workRules, [account]]] as const) : []),
  ];
  const names = ['leave', ...roles.map(([purpose]) => purpose)].map((purpose) => roleName(purpose, namespace));
  const made = [
    ...(ownsNamespace ? [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }] : []),
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: accountName, namespace } },
    namespacedRole(namespace, ownsNamespace),
    bindingOf('Role', { name: accountName, namespace }, [account]),
    clusterRole(roleName('leave', namespace), removalRules(names)),
    bindingOf('ClusterRole', { name: roleName('leave', namespace) }, [account]),
    ...roles.flatMap(([purpose, granted, subjects]) => [
      clusterRole(roleName(purpose, namespace), granted),
      bindingOf('ClusterRole', { name: roleName(purpose, namespace) }, subjects),
    ]),
  ];
  const { labels, annotations } = settings;
  return made.map((object) => ({ ...object, metadata: { ...object.metadata, labels, annotations } }));
}

/**
 * Rights for health checks. By default every authenticated user has them, but a hardened cluster may have removed them.
 */
const probeRules: readonly PolicyRule[] = [
  {
    apiGroups: ['authorization.k8s.io'],
    resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
    verbs: ['create'],
  },
  { apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'], verbs: ['create'] },
  { nonResourceURLs: ['/livez', '/readyz', '/version'], verbs: ['get'] },
];

/**
 * Rights for the AppliedManifestWorks, in which the executor of ManifestWorks records what it has applied in the
 * member, as OCM's agent does.
 */
const workRules: readonly PolicyRule[] = [
  {
    apiGroups: ['work.open-cluster-management.io'],
    resources: ['appliedmanifestworks'],
    verbs: ['create', 'delete', 'list', 'patch', 'watch'],
  },
  {
    apiGroups: ['work.open-cluster-management.io'],
    resources: ['appliedmanifestworks/status'],
    verbs: ['patch'],
  },
];

function removalRules(names: readonly string[]): readonly PolicyRule[] {
  const verbs = ['delete', 'get'];
  return [
    { apiGroups: [rbac], resources: ['clusterrolebindings', 'clusterroles'], resourceNames: names, verbs },
    // The UID of this Namespace identifies the cluster.
    { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
  ];
}

function namespacedRole(namespace: string, ownsNamespace: boolean): JsonObject & { readonly metadata: JsonObject } {
  const core = { apiGroups: [''] };
  const rules: readonly PolicyRule[] = [
    { ...core, resources: ['serviceaccounts/token'], resourceNames: [accountName], verbs: ['create'] },
    { ...core, resources: ['configmaps'], resourceNames: [authorityConfigMap], verbs: ['get', 'list', 'watch'] },
    // RBAC treats a Namespace as an object in that namespace, so a Role in it can permit its deletion.
    ...(ownsNamespace
      ? [{ ...core, resources: ['namespaces'], resourceNames: [namespace], verbs: ['delete', 'get'] }]
      : [{ ...core, resources: ['serviceaccounts'], resourceNames: [accountName], verbs: ['delete', 'get'] }]),
  ];
  return { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name: accountName, namespace }, rules };
}

function clusterRole(name: string, rules: readonly PolicyRule[]): JsonObject & { readonly metadata: JsonObject } {
  return { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules };
}

function bindingOf(
  role: 'Role' | 'ClusterRole',
  metadata: { readonly name: string; readonly namespace?: string },
  subjects: readonly JsonObject[],
): JsonObject & { readonly metadata: JsonObject } {
  return {
    apiVersion: `${rbac}/v1`,
    kind: `${role}Binding`,
    metadata,
    roleRef: { apiGroup: rbac, kind: role, name: metadata.name },
    subjects,
  };
}
