// Applies a manifest by one of the four update strategies. Each strategy gets the object as it was read and returns it
// as it is after the write.
import { setTimeout as pause } from 'node:timers/promises';
import { MemberRefusal } from '../member/member-objects.ts';
import { defaultFieldManager } from '../work/manifest-config.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import type { ApplyTask } from './apply-task.ts';
import { contentHash } from './content-hash.ts';
import { changedObject, isAsWanted, isSameMetadata, newObject } from './desired.ts';
import { setOwner } from './owners.ts';
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
  const wanted = changedObject(live, manifest, ownership);
  if (isAsWanted(live, wanted)) return live;
  // The object is as the last apply left it, so it differs from the manifest only by defaults that the API server has
  // set.
  const isUntouched = task.lastContent !== undefined && task.lastContent === contentHash(live);
  if (isUntouched && isSameMetadata(live['metadata'], wanted['metadata'])) return live;
  return await objects.update(object, wanted);
}
