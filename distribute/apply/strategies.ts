// Applies a manifest by one of the four update strategies. Each strategy gets the object as it was read and returns it
// as it is after the write.
import { objectAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { setTimeout as pause } from 'node:timers/promises';
import type { OwnerReference } from '../../kube/objects/objects.ts';
import { MemberRefusal } from '../member/member-objects.ts';
import { defaultFieldManager } from '../work/manifest-config.ts';
import { groupKindIn } from '../work/manifest-work.ts';
import { neededUpdate, newObject, type ApplyTask } from './desired.ts';
import { ownersIn, setOwner, uidOf } from './owners.ts';
import { applyServerSide } from './server-side.ts';

const conflictRetries = 4;
const firstRetryMs = 10;

/**
 * Applies the manifest to an object. If somebody else changes the object at the same time, reads and applies it again,
 * up to four times.
 * @param live the object as it was just read; undefined when it does not exist
 * @returns the object as it is afterwards
 * @throws MemberRefusal, GatewayError, IgnoreFieldFault, ApplyConflict
 */
export async function applyManifest(task: ApplyTask, live: JsonObject | undefined): Promise<JsonObject> {
  let before = live;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await applyOnce(task, before);
    } catch (error) {
      const mayPass = error instanceof MemberRefusal && error.status === 409 && attempt < conflictRetries;
      if (!mayPass) throw error;
      // Status 409: somebody else wrote the object after it was read.
      await pause(firstRetryMs * 5 ** attempt);
      before = await task.objects.get(task.object);
    }
  }
}

async function applyOnce(task: ApplyTask, live: JsonObject | undefined): Promise<JsonObject> {
  const { objects, object, manifest, ownership, strategy } = task;
  if (strategy.type === 'ReadOnly') return live ?? {};
  if (strategy.type === 'ServerSideApply') return await applyServerSide(task, live);
  if (live === undefined) return await objects.create(object, newObject(manifest, ownership));
  if (strategy.type === 'CreateOnly')
    return await setOwner(objects, object, live, { ...ownership, fieldManager: defaultFieldManager });
  const wanted = neededUpdate(task, live);
  return wanted === undefined ? live : await updated(task, live, wanted);
}

const immutable = /field is immutable|updates to \S+ are forbidden/;
/**
 * Kinds with immutable fields. When such a field is to be changed, OCM's agent deletes the object and creates it again.
 */
const remade = new Set(['Secret', 'StorageClass.storage.k8s.io', 'CSIDriver.storage.k8s.io']);

/**
 * Updates the object. If the member refuses the change of an immutable field, an object of a kind in `remade` is
 * deleted and created again, provided that no other owner has it.
 */
async function updated(task: ApplyTask, live: JsonObject, wanted: JsonObject): Promise<JsonObject> {
  const { objects, object, manifest, ownership } = task;
  try {
    return await objects.update(object, wanted);
  } catch (error) {
    const isImmutable = error instanceof MemberRefusal && error.status === 422 && immutable.test(error.message);
    if (!isImmutable || !remade.has(groupKindIn(live)) || !isOnlyOwner(live, ownership.owner)) throw error;
  }
  await objects.remove(object, uidOf(live));
  if ((await objects.get(object)) !== undefined)
    throw new Error('a field of the object is immutable, so it is being deleted to be made anew');
  const { labels, annotations } = objectAt(wanted, 'metadata');
  const metadata = { ...objectAt(manifest, 'metadata'), labels, annotations };
  return await objects.create(object, newObject({ ...manifest, metadata }, ownership));
}

/** Whether this AppliedManifestWork is the only owner of the object. */
function isOnlyOwner(live: JsonObject, owner: OwnerReference): boolean {
  const owners = ownersIn(live);
  return owners.length === 1 && owners[0]!.uid === owner.uid;
}
