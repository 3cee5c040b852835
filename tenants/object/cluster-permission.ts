// Reads OCM's ClusterPermissions (rbac.open-cluster-management.io/v1alpha1): roles and bindings for one cluster, whose
// name is the namespace of the object on the hub. Their status has no field for the objects that were made, so an
// annotation records these.
import { fieldOf, isJsonObject, listAt, textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import type { ApiObject } from '../../kube/types.ts';
import {
  GrantFault,
  readGranted,
  readNamespaces,
  readRoleRef,
  readSelector,
  readSubjects,
  type GrantKind,
  type RbacObject,
  type Where,
} from './grant.ts';

/**
 * Annotation with the objects that were made in the cluster. It does not say as whom they were made: everybody who may
 * change the ClusterPermission can write it, and could name any user. So a restarted gateway removes objects as the
 * present author, whom the hub's policy proves, and not as the one who had granted them.
 */
const objectsAnnotation = 'gateway.portcullis.io/tenant-objects';
/**
 * The namespace in which OCM's add-on makes the ServiceAccounts of ManagedServiceAccounts, unless it is configured
 * otherwise.
 */
const accountNamespace = 'open-cluster-management-agent-addon';

export const clusterPermissions: GrantKind = {
  type: { group: 'rbac.open-cluster-management.io', version: 'v1alpha1', resource: 'clusterpermissions' },
  kind: 'ClusterPermission',
  appliedType: 'AppliedRBACManifestWork',
  clustersOf: ({ metadata }) => ({
    ...{ all: false, selector: undefined, placements: [] },
    names: [metadata.namespace ?? ''],
  }),
  rbacObjectsOf(permission) {
    const spec = fieldOf(permission, 'spec');
    const single = fieldOf(spec, 'clusterRoleBinding');
    const bound = [...(single === undefined ? [] : [single]), ...listAt(spec, 'clusterRoleBindings')];
    const rbacObjects = [
      ...clusterRoleOf(permission),
      ...listAt(spec, 'roles').map((role) => roleOf(permission, role)),
      ...bound.map((each) => clusterBindingOf(permission, each)),
      ...listAt(spec, 'roleBindings').map((each) => bindingOf(permission, each)),
    ];
    if (!rbacObjects.some(({ kind }) => kind.endsWith('Binding'))) throw new GrantFault('no bindings are defined');
    return rbacObjects.map((rbacObject, grant) => ({ ...rbacObject, grant }));
  },
  prunes: () => true,
  expiresAtMs: () => undefined,
  resultsOf(permission) {
    const text = textAt(permission, 'metadata', 'annotations', objectsAnnotation);
    const recorded = text === '' ? undefined : parsed(text);
    if (recorded === undefined) return new Map();
    const objects = readGranted(listAt(recorded, 'objects'));
    const reported = { phase: 'Pending', reason: 'Restarted', message: '', since: '' } as const;
    return new Map([[permission.metadata.namespace ?? '', { ...reported, objects, writer: undefined }]]);
  },
  toldBy(results, conditions, permission) {
    const result = results.get(permission.metadata.namespace ?? '');
    const recorded =
      result === undefined || result.objects.length === 0 ? null : JSON.stringify({ objects: result.objects });
    return { annotations: { [objectsAnnotation]: recorded }, status: { conditions } };
  },
};

type Unnumbered = Omit<RbacObject, 'grant'>;

function clusterRoleOf({ metadata: { name }, ...permission }: ApiObject): readonly Unnumbered[] {
  const role = fieldOf(permission, 'spec', 'clusterRole');
  if (role === undefined) return [];
  return [{ kind: 'ClusterRole', name, where: undefined, content: { rules: listAt(role, 'rules') } }];
}

function roleOf({ metadata: { name } }: ApiObject, role: unknown): Unnumbered {
  return { kind: 'Role', name, where: whereOf(role), content: { rules: listAt(role, 'rules') } };
}

function clusterBindingOf({ metadata: { name } }: ApiObject, binding: unknown): Unnumbered {
  const roleRef = readRoleRef('ClusterRole', textAt(binding, 'roleRef', 'name') || name);
  const content = { roleRef, subjects: subjectsOf(binding) };
  return { kind: 'ClusterRoleBinding', name: textAt(binding, 'name') || name, where: undefined, content };
}

function bindingOf({ metadata: { name } }: ApiObject, binding: unknown): Unnumbered {
  const roleRef = readRoleRef(textAt(binding, 'roleRef', 'kind'), textAt(binding, 'roleRef', 'name') || name);
  const content = { roleRef, subjects: subjectsOf(binding) };
  return { kind: 'RoleBinding', name: textAt(binding, 'name') || name, where: whereOf(binding), content };
}

function whereOf(rbacObject: unknown): Where {
  const namespace = textAt(rbacObject, 'namespace');
  const selector = readSelector(fieldOf(rbacObject, 'namespaceSelector'));
  if ((namespace === '') === (selector === undefined))
    throw new GrantFault('a role or binding must have namespace or namespaceSelector, and not both');
  return selector === undefined ? readNamespaces([namespace], false) : { selector };
}

/**
 * The field `subjects`, or if it is empty, `subject`. A ManagedServiceAccount is replaced by its ServiceAccount in the
 * cluster.
 */
function subjectsOf(binding: unknown): readonly JsonObject[] {
  const listed = listAt(binding, 'subjects');
  const subjects = listed.length > 0 ? listed : [fieldOf(binding, 'subject')];
  return readSubjects(
    subjects.map((each) =>
      textAt(each, 'kind') === 'ManagedServiceAccount'
        ? { kind: 'ServiceAccount', name: textAt(each, 'name'), namespace: accountNamespace }
        : each,
    ),
  );
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
