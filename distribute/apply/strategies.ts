// Applies a manifest by one of the four update strategies. Each strategy takes the object as it is and returns it as it
// is afterwards.
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
 * Applies the manifest to an object, and again if somebody else changes the object at the same time.
 * @param live the object as it was just read; undefined when it does not exist
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
      // Somebody else wrote the object after it was read, so it is read and applied again.
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
  // If nobody has changed the object since it was applied, it differs from the manifest only by defaults of the server.
  const isUntouched = task.lastContent !== undefined && task.lastContent === contentHash(live);
  if (isUntouched && isSameMetadata(live['metadata'], wanted['metadata'])) return live;
  return await objects.update(object, wanted);
}
