// Finds the objects in the member that a ClusterJoin has made. The status of the ClusterJoin lists them, but anyone who
// may write the status could add other objects to the list. So an object counts only if its kind, namespace and name
// are those of an object that a ClusterJoin makes, and if its annotation has the UID of this ClusterJoin.
import { textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import type { ApiObject } from '../../kube/types.ts';
import { MemberRefusal, type MemberObjects } from '../../distribute/member/member-objects.ts';
import { isMadeFor, joinSpecOf, type InstalledObject } from '../object/cluster-join.ts';
import { accessObjects, nameOf } from './access-objects.ts';

/** All objects that a ClusterJoin may make, whatever its spec asks for, in the order in which they are applied. */
export function possibleObjects(join: ApiObject): readonly InstalledObject[] {
  const { memberNamespace } = joinSpecOf(join);
  return accessObjects({
    ...{ memberNamespace, ownsNamespace: true, index: true, executeWorks: true, labels: {}, annotations: {} },
    impersonate: { users: undefined, groups: undefined, extras: [] },
  }).map(identityOf);
}

function identityOf(object: JsonObject): InstalledObject {
  const namespace = textAt(object, 'metadata', 'namespace');
  return {
    apiVersion: textAt(object, 'apiVersion'),
    kind: textAt(object, 'kind'),
    ...(namespace === '' ? {} : { namespace }),
    name: textAt(object, 'metadata', 'name'),
    uid: '',
  };
}

/** Whether two entries name the same object of a member. */
export function isSame(one: InstalledObject, other: InstalledObject): boolean {
  return one.kind === other.kind && (one.namespace ?? '') === (other.namespace ?? '') && one.name === other.name;
}

/**
 * Returns the object with the UID that it has now; undefined when it is gone, or was made by somebody else.
 * @throws MemberRefusal, GatewayError
 */
export async function madeObject(
  objects: MemberObjects,
  join: ApiObject,
  each: InstalledObject,
): Promise<InstalledObject | undefined> {
  const live = await objects.get(nameOf(each));
  if (live === undefined || !isMadeFor(live, join)) return undefined;
  return { ...each, uid: textAt(live, 'metadata', 'uid') };
}

/** Whether the member no longer lets its caller in, or lacks the right. */
export function isDenied(error: unknown): boolean {
  return error instanceof MemberRefusal && [401, 403].includes(error.status);
}
