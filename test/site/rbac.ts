// Objects of RBAC and their subjects, as tests make them in hubs and members.

/** The API group of roles and bindings. */
export const rbacGroup = 'rbac.authorization.k8s.io';
const apiVersion = `${rbacGroup}/v1`;

/** A role or a binding. */
export type RbacObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly object[];
  readonly roleRef?: object;
  readonly subjects?: readonly object[];
};

/** A user as the subject of a binding. */
export function userSubject(name: string): object {
  return { apiGroup: rbacGroup, kind: 'User', name };
}

/** A group as the subject of a binding. */
export function groupSubject(name: string): object {
  return { apiGroup: rbacGroup, kind: 'Group', name };
}

/** A ServiceAccount as the subject of a binding. */
export function accountSubject(namespace: string, name: string): object {
  return { kind: 'ServiceAccount', namespace, name };
}

/** A ClusterRole with these rules. */
export function clusterRole(name: string, rules: readonly object[]): RbacObject {
  return { apiVersion, kind: 'ClusterRole', metadata: { name }, rules };
}

/** A Role of a namespace. */
export function role(namespace: string, name: string, rules: readonly object[]): RbacObject {
  return { apiVersion, kind: 'Role', metadata: { name, namespace }, rules };
}

/** Binds a ClusterRole in the whole cluster. */
export function clusterRoleBinding(name: string, roleName: string, ...subjects: readonly object[]): RbacObject {
  const roleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name: roleName };
  return { apiVersion, kind: 'ClusterRoleBinding', metadata: { name }, roleRef, subjects };
}

/** Binds a role in one namespace. @param roleRef `Role/<name>` or `ClusterRole/<name>` */
export function roleBinding(
  namespace: string,
  name: string,
  roleRef: `Role/${string}` | `ClusterRole/${string}`,
  ...subjects: readonly object[]
): RbacObject {
  const [kind, roleName] = roleRef.split('/');
  return {
    apiVersion,
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: rbacGroup, kind, name: roleName },
    subjects,
  };
}

/** A ClusterRole and the binding of the same name that gives it to the subjects. */
export function grantedClusterRole(
  name: string,
  rules: readonly object[],
  ...subjects: readonly object[]
): readonly RbacObject[] {
  return [clusterRole(name, rules), clusterRoleBinding(name, name, ...subjects)];
}

/** A Role and the binding of the same name that gives it to the subjects. */
export function grantedRole(
  namespace: string,
  name: string,
  rules: readonly object[],
  ...subjects: readonly object[]
): readonly RbacObject[] {
  return [role(namespace, name, rules), roleBinding(namespace, name, `Role/${name}`, ...subjects)];
}

/** What a holder of these Leases may do with them, and with no other: it makes them and renews them. */
export function leaseRules(...names: readonly string[]): readonly object[] {
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
  return [
    { ...leases, verbs: ['create'] },
    { ...leases, resourceNames: names, verbs: ['get', 'update'] },
  ];
}
