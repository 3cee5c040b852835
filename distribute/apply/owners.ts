// Owner references from applied objects to AppliedManifestWorks. An AppliedManifestWork records in the member what one
// ManifestWork has applied. Several works may own one object, so a reference is added or removed without touching the
// others.
import { fieldOf, listAt, textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import type { OwnerReference } from '../../kube/objects/objects.ts';
import type { MemberObjects, ObjectName } from '../member/member-objects.ts';
import { workApiVersion } from '../work/manifest-work.ts';

const kind = 'AppliedManifestWork';

/**
 * Makes the reference to an AppliedManifestWork. `controller` is not set, since several ManifestWorks may own the same
 * object.
 */
export function ownerReferenceTo({ name, uid }: { readonly name: string; readonly uid: string }): OwnerReference {
  return { apiVersion: workApiVersion, kind, name, uid };
}

export function ownersIn(object: JsonObject): readonly OwnerReference[] {
  return listAt(object, 'metadata', 'ownerReferences') as readonly OwnerReference[];
}

export function isOwnedBy(object: JsonObject, uid: string): boolean {
  return ownersIn(object).some((owner) => owner.uid === uid);
}

/** Whether an AppliedManifestWork with another UID than this one owns the object too. */
export function hasOtherWork(object: JsonObject, uid: string): boolean {
  return ownersIn(object).some(
    (owner) => owner.apiVersion === workApiVersion && owner.kind === kind && owner.uid !== uid,
  );
}

/** Returns the list with `owner` added or removed; the same JavaScript array when nothing changes. */
export function withOwner(
  owners: readonly OwnerReference[],
  owner: OwnerReference,
  wanted: boolean,
): readonly OwnerReference[] {
  const present = owners.some(({ uid }) => uid === owner.uid);
  if (present === wanted) return owners;
  return wanted ? [...owners, owner] : owners.filter(({ uid }) => uid !== owner.uid);
}

/**
 * Adds `owner` to the owner references of an existing object, or removes it if `wanted` is false. Sends no request when
 * nothing changes.
 * @returns the object as it is afterwards
 * @throws MemberRefusal, with status 409 when the object has changed since it was read
 */
export async function setOwner(
  objects: MemberObjects,
  object: ObjectName,
  live: JsonObject,
  {
    owner,
    wanted,
    fieldManager,
  }: { readonly owner: OwnerReference; readonly wanted: boolean; readonly fieldManager: string },
): Promise<JsonObject> {
  const owners = ownersIn(live);
  const ownerReferences = withOwner(owners, owner, wanted);
  if (ownerReferences === owners) return live;
  const metadata = { uid: uidOf(live), resourceVersion: fieldOf(live, 'metadata', 'resourceVersion'), ownerReferences };
  return await objects.patch(object, { type: 'merge', fieldManager, body: { metadata } });
}

export function uidOf(object: JsonObject): string {
  return textAt(object, 'metadata', 'uid');
}
