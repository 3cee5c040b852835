// The kinds of RBAC, and the kinds that RBAC objects refer to. Every member serves them in version v1, so discovery is
// not needed.
import { rbacGroup } from '../../lib/objects/api-names.ts';
import type { ServedKind } from '../../kube/discovery/documents.ts';

/** The kinds by their names. */
export const accessKinds = {
  Namespace: kindOf('', 'Namespace', 'namespaces', false),
  ServiceAccount: kindOf('', 'ServiceAccount', 'serviceaccounts', true),
  ClusterRole: kindOf(rbacGroup, 'ClusterRole', 'clusterroles', false),
  ClusterRoleBinding: kindOf(rbacGroup, 'ClusterRoleBinding', 'clusterrolebindings', false),
  Role: kindOf(rbacGroup, 'Role', 'roles', true),
  RoleBinding: kindOf(rbacGroup, 'RoleBinding', 'rolebindings', true),
} as const satisfies Readonly<Record<string, ServedKind>>;

function kindOf(group: string, kind: string, resource: string, namespaced: boolean): ServedKind {
  return { group, version: 'v1', kind, resource, namespaced, verbs: ['get', 'list', 'watch'] };
}
