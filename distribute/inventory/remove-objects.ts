// Deletes objects that an AppliedManifestWork records. An object is only deleted if it has the recorded UID and no
// other ManifestWork owns it.
import { GatewayError } from '../../model/errors.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import type { OwnerReference } from '../../kube/objects/objects.ts';
import { hasOtherWork, isOwnedBy, setOwner, uidOf } from '../apply/owners.ts';
import type { RestMapper } from '../../kube/discovery/rest-mapper.ts';
import { MemberRefusal, type MemberObjects, type ObjectName } from '../member/member-objects.ts';
import { defaultFieldManager } from '../work/manifest-config.ts';
import type { AppliedResource } from './applied-works.ts';

export interface RemoveParts {
  readonly kinds: RestMapper;
  /** Sends requests with the identity of the executor that wrote the objects. */
  readonly objects: MemberObjects;
  /**
   * Sends requests with the gateway's own credential, to delete objects whose executor has lost the right to do so.
   * Undefined when such objects stay until the executor has the right again.
   */
  readonly ownObjects: MemberObjects | undefined;
  /**
   * Whether the work on the hub has the object, or the gateway itself remembers that it had. The AppliedManifestWork in
   * the member may be forged, so an object that only it names is never deleted with the gateway's own credential.
   */
  readonly isOfWork: (object: ObjectName) => boolean;
  readonly owner: OwnerReference;
}

/** The objects that `removeObjects` has not yet deleted. */
export interface Remaining {
  /**
   * Objects that are still being deleted or could not be deleted. All others are gone, or the ManifestWork does not own
   * them any more.
   */
  readonly resources: readonly AppliedResource[];
  /** A message for each object that could not be deleted. */
  readonly faults: readonly string[];
}

/**
 * Deletes the objects, and returns those that still exist.
 * @param kept UIDs of objects that the work still has. They are left alone, under whichever name `resources` has them
 * @throws GatewayError when the member cannot be reached
 */
export async function removeObjects(
  parts: RemoveParts,
  resources: readonly AppliedResource[],
  kept: ReadonlySet<string> = new Set(),
): Promise<Remaining> {
  const left: AppliedResource[] = [];
  const faults: string[] = [];
  for (const resource of resources) {
    try {
      if (await removeOne(parts, resource, kept)) left.push(resource);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      left.push(resource);
      faults.push(`${resource.resource} ${resource.namespace}/${resource.name}: ${(error as Error).message}`);
    }
  }
  return { resources: left, faults };
}

/** Deletes one object. @returns whether it still exists, so that it has to be looked at again */
async function removeOne(parts: RemoveParts, resource: AppliedResource, kept: ReadonlySet<string>): Promise<boolean> {
  const kind = await parts.kinds.findResource(resource.group, resource.version, resource.resource);
  // The member does not serve the type in the recorded version any more. Its objects are treated as gone.
  if (kind === undefined) return false;
  const object: ObjectName = { kind, namespace: resource.namespace, name: resource.name };
  try {
    return await removeAs(parts.objects, object, parts.owner, { recorded: resource.uid, kept });
  } catch (error) {
    if (parts.ownObjects === undefined || !isDenied(error) || !parts.isOfWork(object)) throw error;
    return await removeAs(parts.ownObjects, object, parts.owner, { recorded: resource.uid, kept });
  }
}

async function removeAs(
  objects: MemberObjects,
  object: ObjectName,
  owner: OwnerReference,
  uids: { readonly recorded: string; readonly kept: ReadonlySet<string> },
): Promise<boolean> {
  const live = await objects.get(object);
  if (live === undefined || !isOwnedBy(live, owner.uid)) return false;
  const uid = uidOf(live);
  // An entry without a recorded UID may name, in another API group, an object that the work still has.
  if (uids.kept.has(uid)) return false;
  if (hasOtherWork(live, owner.uid)) {
    await setOwner(objects, object, live, { owner, wanted: false, fieldManager: defaultFieldManager });
    return false;
  }
  // Without a recorded UID, the owner reference to this AppliedManifestWork is enough: it shows that the object was
  // created for the ManifestWork.
  if (uids.recorded !== '' && uid !== uids.recorded) return false;
  if (fieldOf(live, 'metadata', 'deletionTimestamp') === undefined) await objects.remove(object, uid);
  return true;
}

function isDenied(error: unknown): boolean {
  return (
    (error instanceof MemberRefusal && error.status === 403) ||
    (error instanceof GatewayError && error.code === 'IDENTITY_REFUSED')
  );
}
