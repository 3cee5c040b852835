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

/**
 * Most objects of one grant (TenantBinding or ClusterPermission) in one member. They are counted while they are made: a
 * small grant can ask for millions.
 */
const maxObjects = 5_000;
/** How often these may be asked for: many entries may ask for the same object, and each time takes a moment. */
const maxAsked = 10 * maxObjects;

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
 * Makes the manifests, in an order in which each needs only those before it: namespaces, roles, bindings. An object
 * that several entries ask for alike is made once.
 * @param namespaces the namespaces of the cluster; undefined when they cannot be listed: named ones are then assumed to
 * exist
 * @throws GrantFault for the namespace of the gateway's ServiceAccount, for too many objects, and for two entries that
 * want the same object with different contents
 */
export function render(
  rbacObjects: readonly RbacObject[],
  mark: Mark,
  namespaces: ReadonlyMap<string, ApiObject> | undefined,
): Rendering {
  const missing = new Set<string>();
  const made = new Map<string, Entry>();
  let asked = 0;
  const add = (rbacObject: RbacObject, object: ObjectName, make: () => Wanted): void => {
    const name = nameOf(object);
    const same = made.get(name);
    asked += 1;
    if (asked > maxAsked || (same === undefined && made.size === maxObjects))
      throw new GrantFault(`it asks for more than ${maxObjects} objects: narrow it`, 'TooManyObjects');
    if (same === undefined) {
      made.set(name, { wanted: make(), rbacObject });
    } else if (object.kind !== accessKinds.Namespace && !isSameContent(same.rbacObject, rbacObject)) {
      const advice = isRole(same.wanted) ? 'join their rules' : 'give each a name';
      throw new GrantFault(`two entries are the same ${name}: ${advice}`);
    }
  };
  const addIn = (rbacObject: RbacObject, namespace: string): void => {
    const object = { kind: accessKinds[rbacObject.kind], namespace, name: rbacObject.name };
    add(rbacObject, object, () => wantedFor(rbacObject, mark, object));
  };
  for (const rbacObject of rbacObjects) {
    const { where } = rbacObject;
    if (where === undefined) addIn(rbacObject, '');
    else if ('selector' in where) {
      for (const each of namespaces?.values() ?? [])
        if (isOpen(each) && selectorMatches(where.selector, each.metadata.labels ?? {}))
          addIn(rbacObject, each.metadata.name);
    } else
      for (const name of where.names) {
        const there = namespaces?.get(name);
        if (there !== undefined && isGatewayOwn(there))
          throw new GrantFault(`the namespace ${name} is the gateway's own`);
        if (namespaces !== undefined && (there === undefined || !isOpen(there))) {
          if (!where.create || there !== undefined) {
            missing.add(name);
            continue;
          }
          const object = { kind: accessKinds.Namespace, namespace: '', name };
          add(rbacObject, object, () => namespaceFor(rbacObject, mark, object));
        }
        addIn(rbacObject, name);
      }
  }
  const all = [...made.values()].map(({ wanted }) => wanted);
  const [created, rest] = [all.filter(({ granted }) => granted === undefined), all.filter(({ granted }) => granted)];
  return {
    wanted: [...created, ...rest.filter(isRole), ...rest.filter((each) => !isRole(each))],
    missing: [...missing],
  };
}

/** An object that is wanted, and the entry that asked for it first. */
interface Entry {
  readonly wanted: Wanted;
  readonly rbacObject: RbacObject;
}

/** Kind, namespace and name: no cluster has two objects of the same. */
function nameOf({ kind, namespace, name }: ObjectName): string {
  return `${kind.kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

export function titleOf(object: ObjectName): string {
  return `the ${nameOf(object)}`;
}

function isRole({ object }: Wanted): boolean {
  return object.kind.kind.endsWith('Role');
}

function isSameContent(one: RbacObject, other: RbacObject): boolean {
  return one === other || isDeepStrictEqual(one.content, other.content);
}

function isGatewayOwn({ metadata }: ApiObject): boolean {
  return metadata.labels?.[joinLabel] !== undefined;
}

/** Whether rights can be granted in the namespace: it is not being deleted, and it is not the gateway's own. */
function isOpen(namespace: ApiObject): boolean {
  return !isGatewayOwn(namespace) && fieldOf(namespace, 'metadata', 'deletionTimestamp') === undefined;
}

function wantedFor(rbacObject: RbacObject, mark: Mark, object: ObjectName): Wanted {
  const { kind } = rbacObject;
  const { namespace, name } = object;
  return {
    object,
    body: {
      apiVersion: `${rbacGroup}/v1`,
      kind,
      metadata: { name, ...(namespace === '' ? {} : { namespace }), ...marked(rbacObject, mark) },
      ...rbacObject.content,
    },
    granted: { kind, ...(namespace === '' ? {} : { namespace }), name, uid: '' },
  };
}

function namespaceFor(rbacObject: RbacObject, mark: Mark, object: ObjectName): Wanted {
  const { name } = object;
  return {
    object,
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
