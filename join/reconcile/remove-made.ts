// Removes objects of a ClusterJoin from the member: those that its spec no longer asks for, or all of them. The list in
// the status may be forged, so made-objects.ts decides which objects may be removed.
import { textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import type { ApiObject } from '../../kube/types.ts';
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import type { MemberObjects } from '../../distribute/member/member-objects.ts';
import { nameOf } from '../member/access-objects.ts';
import { isDenied, isSame, madeObject, possibleObjects } from '../member/made-objects.ts';
import type { InstalledObject } from '../object/cluster-join.ts';
import type { JoinStatus } from './join-status.ts';

/** Removes objects that an earlier spec asked for and the present one does not, such as the rights of the index. */
export async function removeUnwanted(
  objects: MemberObjects,
  join: ApiObject,
  status: JoinStatus,
  access: readonly JsonObject[],
): Promise<void> {
  const wanted = new Set(access.map((each) => `${textAt(each, 'kind')}/${textAt(each, 'metadata', 'name')}`));
  const possible = possibleObjects(join);
  for (const each of status.memory.installed.toReversed()) {
    const own = possible.find((other) => isSame(each, other));
    if (own !== undefined && wanted.has(`${own.kind}/${own.name}`)) continue;
    const made = own && (await madeObject(objects, join, own));
    if (made !== undefined) await objects.remove(nameOf(made), made.uid);
    status.recordRemoved(each);
  }
}

/**
 * Removes the objects of the ClusterJoin, those made last first. The last ClusterRoleBinding takes with it the right to
 * remove cluster-scoped objects. Only the Namespace is left then, and a Role in the Namespace permits its deletion.
 */
export async function removeInOrder(
  objects: MemberObjects,
  writer: ObjectWriter,
  join: ApiObject,
  status: JoinStatus,
): Promise<void> {
  const removed = await madeInOrder(objects, join, status);
  for (const each of removed.filter((other) => !isLast(other))) {
    await objects.remove(nameOf(each), each.uid);
    status.recordRemoved(each);
  }
  status.setCondition(
    'Left',
    'False',
    'RemovingAccess',
    'the last objects are removed, by which the gateway had access',
  );
  await status.save(writer);
  for (const each of removed.filter(isLast)) {
    try {
      await objects.remove(nameOf(each), each.uid);
    } catch (error) {
      // An earlier attempt has removed the object, and with it the right to read or remove it.
      if (!isDenied(error)) throw error;
    }
    status.recordRemoved(each);
  }
  status.set({ installed: [] });
}

/** The objects that the ClusterJoin has made and the gateway removes itself, in the order of their removal. */
async function madeInOrder(
  objects: MemberObjects,
  join: ApiObject,
  status: JoinStatus,
): Promise<readonly InstalledObject[]> {
  const made: InstalledObject[] = [];
  for (const each of possibleObjects(join).toReversed()) {
    if (isCollected(each)) continue;
    const isListed = status.memory.installed.some((other) => isSame(each, other));
    try {
      const found = await madeObject(objects, join, each);
      if (found !== undefined) made.push(found);
    } catch (error) {
      // 403 is expected only for objects that the ClusterJoin did not make, or after the objects are removed that grant
      // the right to read. Otherwise it is an error.
      if (!isDenied(error) || (isListed && !isLast(each))) throw error;
    }
  }
  const removesNamespace = made.some(({ kind }) => kind === 'Namespace');
  return made.filter(({ kind }) => kind !== 'ServiceAccount' || !removesNamespace);
}

/** Whether the object is removed last, since the gateway needs it to remove the others. */
export function isLast(each: InstalledObject): boolean {
  return each.namespace !== undefined || each.kind === 'Namespace' || isLeave(each);
}

function isLeave({ kind, name }: InstalledObject): boolean {
  return kind.startsWith('ClusterRole') && name.startsWith('portcullis:leave');
}

/**
 * Whether Kubernetes' garbage collector removes the object, so that the gateway need not: the `leave` ClusterRole is
 * deleted with its binding, a Role and its binding with the ServiceAccount or the Namespace. The ServiceAccount is
 * deleted with the Namespace, unless the Namespace was made by somebody else.
 */
function isCollected(each: InstalledObject): boolean {
  return each.kind === 'Role' || each.kind === 'RoleBinding' || (isLeave(each) && each.kind === 'ClusterRole');
}
