// Deletes objects that an AppliedManifestWork records: only the very object by its UID, and only while that work alone
// owns it.
import { GatewayError } from '../../cache/model/errors.ts';
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import type { OwnerReference } from '../../controllers/objects.ts';
import { hasOtherWork, isOwnedBy, setOwner, uidOf } from '../apply/owners.ts';
import type { Kinds, ServedKind } from '../member/kinds.ts';
import { MemberRefusal, type MemberObjects, type ObjectName } from '../member/member-objects.ts';
import { defaultFieldManager } from '../work/manifest-config.ts';
import type { AppliedResource } from './inventory.ts';

export interface RemoveParts {
  readonly kinds: Kinds;
  /** As whom the objects were written. */
  readonly objects: MemberObjects;
  /**
   * With the gateway's own credential: for objects whose executor has lost its rights since. Undefined when they are to
   * wait for the executor's rights.
   */
  readonly ownObjects: MemberObjects | undefined;
  readonly owner: OwnerReference;
}

/** What is left after a round. */
export interface Remaining {
  /** Being deleted, or refused; the rest is gone, or not ours. */
  readonly resources: readonly AppliedResource[];
  /** Why some could not be deleted. */
  readonly faults: readonly string[];
}

/** @throws GatewayError when the member cannot be reached */
export async function removeObjects(parts: RemoveParts, resources: readonly AppliedResource[]): Promise<Remaining> {
  const left: AppliedResource[] = [];
  const faults: string[] = [];
  for (const resource of resources) {
    try {
      if (await removeOne(parts, resource)) left.push(resource);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      left.push(resource);
      faults.push(`${resource.resource} ${resource.namespace}/${resource.name}: ${(error as Error).message}`);
    }
  }
  return { resources: left, faults };
}

/** Whether the object is still there, and is to go. */
async function removeOne(parts: RemoveParts, resource: AppliedResource): Promise<boolean> {
  const kind = await kindOf(parts.kinds, resource);
  // With a definition that is gone, all of its objects are.
  if (kind === undefined) return false;
  const object: ObjectName = { kind, namespace: resource.namespace, name: resource.name };
  try {
    return await removeAs(parts.objects, object, parts.owner, resource.uid);
  } catch (error) {
    if (parts.ownObjects === undefined || !isDenied(error)) throw error;
    return await removeAs(parts.ownObjects, object, parts.owner, resource.uid);
  }
}

async function removeAs(
  objects: MemberObjects,
  object: ObjectName,
  owner: OwnerReference,
  recordedUid: string,
): Promise<boolean> {
  const live = await objects.get(object);
  if (live === undefined || !isOwnedBy(live, owner.uid)) return false;
  if (hasOtherWork(live, owner.uid)) {
    await setOwner(objects, object, live, { owner, wanted: false, fieldManager: defaultFieldManager });
    return false;
  }
  // Without a recorded UID, the reference to this very AppliedManifestWork says that it was made for it.
  const uid = uidOf(live);
  if (recordedUid !== '' && uid !== recordedUid) return false;
  if (fieldOf(live, 'metadata', 'deletionTimestamp') === undefined) await objects.remove(object, uid);
  return true;
}

function isDenied(error: unknown): boolean {
  return (
    (error instanceof MemberRefusal && error.status === 403) ||
    (error instanceof GatewayError && error.code === 'IDENTITY_REFUSED')
  );
}

/** In the version that was recorded; a version that is not served any more has the same objects in another. */
async function kindOf(kinds: Kinds, { group, version, resource }: AppliedResource): Promise<ServedKind | undefined> {
  return await kinds.findResource(group, version, resource);
}
