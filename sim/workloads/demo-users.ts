// The two users of the demo and their rights in a simulated cluster. The rights are bound to user names, so a
// gateway that forwarded another name would be refused.
import type { JsonObject } from '../types.ts';
import { sharedNamespace } from './workload-catalog.ts';

/** Somebody who uses the demo. */
export interface DemoUser {
  readonly name: string;
  readonly groups: readonly string[];
  /** The only namespace they may look into; undefined for everywhere. */
  readonly namespace: string | undefined;
}

/** `ada` may view and edit everywhere, `ben` may view one namespace. */
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

/** Their rights, to be applied to a cluster. Nodes and the like are in no aggregated role, hence the extra one. */
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
    ],
  };
  const bindings = demoUsers.flatMap(({ name, namespace }) =>
    namespace === undefined
      ? ['demo:cluster-reader', 'view', 'edit'].map((role) => binding(`demo:${name}:${role}`, role, name))
      : [binding(`demo:${name}:view`, 'view', name, namespace)],
  );
  return [reader, ...bindings];
}
