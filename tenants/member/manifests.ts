// Makes the manifests of one cluster from the RBAC objects of a grant (TenantBinding or ClusterPermission), and
// compares objects in the cluster with them.
import { fieldOf, listAt, textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from '../../kube/types.ts';
import { selectorMatches } from '../../lib/objects/label-selector.ts';
import { accessKinds } from '../../distribute/member/rbac-kinds.ts';
import { rbacGroup } from '../../lib/objects/api-names.ts';
import type { ObjectName } from '../../distribute/member/member-objects.ts';
import {
  GrantFault,
  grantLabel,
  sourceAnnotation,
  uidLabel,
  type GrantedObject,
  type RbacObject,
} from '../object/grant.ts';

/** Label of the namespace in a member that holds the gateway's own ServiceAccount. */
const joinLabel = 'gateway.portcullis.io/cluster';

/** An object that a cluster should have. */
export interface Wanted {
  readonly object: ObjectName;
  readonly body: JsonObject;
  /**
   * The object as the grant's status records it. Undefined for a Namespace: it is not removed with the grant, since
   * others may have objects in it.
   */
  readonly granted: GrantedObject | undefined;
}

/** All objects that a grant (TenantBinding or ClusterPermission) asks for in one cluster. */
export interface Rendering {
  readonly wanted: readonly Wanted[];
  /**
   * Namespaces that the grant (TenantBinding or ClusterPermission) names and that do not exist or are being deleted.
   */
  readonly missing: readonly string[];
}

/**
 * The values in the labels and annotations of every object that is made for one grant (TenantBinding or
 * ClusterPermission).
 */
export interface Mark {
  readonly uid: string;
  /** Kind and name of the TenantBinding or ClusterPermission, for people. */
  readonly title: string;
}

/**
 * Makes the manifests, in an order in which each needs only those before it: namespaces, roles, bindings.
 * @param namespaces the namespaces of the cluster; undefined when they cannot be listed: named ones are then assumed to
 * exist
 * @throws GrantFault for the namespace of the gateway's ServiceAccount
 */
export function render(
  rbacObjects: readonly RbacObject[],
  mark: Mark,
  namespaces: ReadonlyMap<string, ApiObject> | undefined,
): Rendering {
  const missing = new Set<string>();
  const made = new Map<string, Wanted>();
  const wanted = rbacObjects.flatMap((rbacObject) => {
    if (rbacObject.where === undefined) return [wantedFor(rbacObject, mark)];
    const { where } = rbacObject;
    if ('selector' in where)
      return [...(namespaces ?? new Map<string, ApiObject>()).values()]
        .filter((each) => isOpen(each) && selectorMatches(where.selector, each.metadata.labels ?? {}))
        .map(({ metadata }) => wantedFor(rbacObject, mark, metadata.name));
    return where.names.flatMap((name) => {
      const there = namespaces?.get(name);
      if (there !== undefined && isGatewayOwn(there))
        throw new GrantFault(`the namespace ${name} is the gateway's own`);
      if (namespaces !== undefined && (there === undefined || !isOpen(there))) {
        if (!where.create || there !== undefined) {
          missing.add(name);
          return [];
        }
        made.set(name, namespaceFor(rbacObject, mark, name));
      }
      return [wantedFor(rbacObject, mark, name)];
    });
  });
  const isRole = ({ object }: Wanted): boolean => object.kind.kind.endsWith('Role');
  const roles = wanted.filter(isRole);
  return { wanted: [...made.values(), ...roles, ...wanted.filter((each) => !isRole(each))], missing: [...missing] };
}

function isGatewayOwn({ metadata }: ApiObject): boolean {
  return metadata.labels?.[joinLabel] !== undefined;
}

/** Whether rights can be granted in the namespace: it is not being deleted, and it is not the gateway's own. */
function isOpen(namespace: ApiObject): boolean {
  return !isGatewayOwn(namespace) && fieldOf(namespace, 'metadata', 'deletionTimestamp') === undefined;
}

function wantedFor(rbacObject: RbacObject, mark: Mark, namespace = ''): Wanted {
  const { kind, name } = rbacObject;
  return {
    object: { kind: accessKinds[kind], namespace, name },
    body: {
      apiVersion: `${rbacGroup}/v1`,
      kind,
      metadata: { name, ...(namespace === '' ? {} : { namespace }), ...marked(rbacObject, mark) },
      ...rbacObject.content,
    },
    granted: { kind, ...(namespace === '' ? {} : { namespace }), name, uid: '' },
  };
}

function namespaceFor(rbacObject: RbacObject, mark: Mark, name: string): Wanted {
  return {
    object: { kind: accessKinds.Namespace, namespace: '', name },
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...marked(rbacObject, mark) } },
    granted: undefined,
  };
}

function marked({ grant }: RbacObject, { uid, title }: Mark): JsonObject {
  return { labels: { [uidLabel]: uid, [grantLabel]: String(grant) }, annotations: { [sourceAnnotation]: title } };
}

/** Whether an object was made for the TenantBinding or ClusterPermission with this UID. */
export function isMarked(live: unknown, uid: string): boolean {
  return textAt(live, 'metadata', 'labels', uidLabel) === uid;
}

/** Whether the object in the cluster has the labels, rules, subjects and role that it should have. */
export function isAsWanted(live: unknown, { body }: Wanted): boolean {
  const labels = Object.entries(fieldOf(body, 'metadata', 'labels') as Record<string, string>);
  return (
    labels.every(([key, value]) => textAt(live, 'metadata', 'labels', key) === value) &&
    isDeepStrictEqual(listAt(live, 'rules').map(plainRule), listAt(body, 'rules').map(plainRule)) &&
    isDeepStrictEqual(listAt(live, 'subjects'), listAt(body, 'subjects')) &&
    !hasOtherRole(live, body)
  );
}

/**
 * Whether the binding in the cluster refers to another role than wanted. `roleRef` cannot be changed, so the binding
 * must then be deleted and created again.
 */
export function hasOtherRole(live: unknown, body: unknown): boolean {
  return ['apiGroup', 'kind', 'name'].some(
    (field) => textAt(live, 'roleRef', field) !== textAt(body, 'roleRef', field),
  );
}

/** A rule without empty lists: an API server leaves them out when it stores the rule. */
function plainRule(rule: unknown): JsonObject {
  const lists = ['apiGroups', 'nonResourceURLs', 'resourceNames', 'resources', 'verbs'];
  return Object.fromEntries(lists.map((field) => [field, listAt(rule, field)]).filter(([, list]) => list!.length > 0));
}
