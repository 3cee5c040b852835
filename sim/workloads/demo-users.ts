// The two users of the demo, and their RBAC in a simulated cluster. The roles are bound to user names, so a request is
// refused if the gateway forwards a wrong name.
import type { JsonObject } from '../model/types.ts';
import { sharedNamespace } from './workload-catalog.ts';

/** A user of the demo. */
export interface DemoUser {
  readonly name: string;
  readonly groups: readonly string[];
  /** The only namespace that the user may read; undefined for all. */
  readonly namespace: string | undefined;
}

/** The demo users: `ada` may view and edit all namespaces and read all roles, `ben` may view one namespace. */
export const demoUsers: readonly DemoUser[] = [
  { name: 'ada', groups: ['platform-team'], namespace: undefined },
  { name: 'ben', groups: ['storefront-team'], namespace: sharedNamespace.name },
];

const rbac = 'rbac.authorization.k8s.io';

function binding(name: string, role: string, user: string, namespace?: string): JsonObject {
  return {
    apiVersion: `${rbac}/v1`,
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', apiGroup: rbac, name: user }],
  };
}

/**
 * The roles and bindings of the demo users. The ClusterRole `demo:cluster-reader` permits nodes and other
 * cluster-scoped resources, which the ClusterRoles view and edit do not contain.
 */
export function demoRights(): readonly JsonObject[] {
  const verbs = ['get', 'list', 'watch'];
  const reader: JsonObject = {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'demo:cluster-reader' },
    rules: [
      { apiGroups: [''], resources: ['nodes', 'namespaces', 'persistentvolumes'], verbs },
      { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs },
      { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs },
      { apiGroups: ['metrics.k8s.io'], resources: ['nodes', 'pods'], verbs },
      // Lets the user read RBAC, so that the gateway's answers about who may do what include roles and bindings.
      { apiGroups: [rbac], resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'], verbs },
    ],
  };
  const bindings = demoUsers.flatMap(({ name, namespace }) =>
    namespace === undefined
      ? ['demo:cluster-reader', 'view', 'edit'].map((role) => binding(`demo:${name}:${role}`, role, name))
      : [binding(`demo:${name}:view`, 'view', name, namespace)],
  );
  return [reader, ...bindings];
}
