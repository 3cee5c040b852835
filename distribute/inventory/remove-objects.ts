// Deletes objects that an AppliedManifestWork records. The object must have the recorded UID, and no other work may own
// it.
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
  /** Accesses objects as the executor that wrote them. */
  readonly objects: MemberObjects;
  /**
   * Accesses objects with the gateway's own credential, to delete those whose executor lost its rights. Undefined when
   * such objects have to wait until the executor has the rights again.
   */
  readonly ownObjects: MemberObjects | undefined;
  readonly owner: OwnerReference;
}

/** What one call of `removeObjects` left over. */
export interface Remaining {
  /**
   * Objects that are still being deleted or could not be deleted. All others are gone, or are no longer owned by the
   * work.
   */
  readonly resources: readonly AppliedResource[];
  /** Sentences that say why some objects could not be deleted. */
  readonly faults: readonly string[];
}

/** Deletes the objects, and returns what is left. @throws GatewayError when the member cannot be reached */
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

/** Deletes one object. Returns whether it still exists and has to go. */
async function removeOne(parts: RemoveParts, resource: AppliedResource): Promise<boolean> {
  const kind = await kindOf(parts.kinds, resource);
  // The member does not serve the kind any more, so its objects are gone, too.
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
  // Without a recorded UID, the owner reference to this AppliedManifestWork shows that the object was created for it.
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

/**
 * Finds the kind of a recorded object. If the recorded version is not served any more, another version has the same
 * objects.
 */
async function kindOf(kinds: Kinds, { group, version, resource }: AppliedResource): Promise<ServedKind | undefined> {
  return await kinds.findResource(group, version, resource);
}
