// Ends a ManifestWork that is deleted on the hub: deletes its AppliedManifestWork, with that the objects it records,
// and then removes the work's finalizer. An AppliedManifestWork whose work is missing on the hub is deleted after a
// grace period.
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { conditionsOf, findCondition, generationOf, withConditions } from '../../controllers/conditions.ts';
import { setFinalizer } from '../../controllers/hub/hub-writer.ts';
import { isDeleting, textAt, textsAt } from '../../controllers/objects.ts';
import type { Outcome } from '../../controllers/queue/work-queue.ts';
import { ownerReferenceTo, setOwner } from '../apply/owners.ts';
import { executorAnnotation } from '../inventory/applied-works.ts';
import { evictionStart, recordedIn } from '../inventory/inventory.ts';
import { removeObjects, type RemoveParts } from '../inventory/remove-objects.ts';
import { executorFor, executorFromKey } from '../member/executor-identity.ts';
import type { WorkReference } from '../member/member-session.ts';
import { defaultFieldManager, isOwned } from '../work/manifest-config.ts';
import { appliedWorkFinalizer, manifestWorks, workFinalizer } from '../work/manifest-work.ts';
import { deletingFinding } from '../work/work-status.ts';
import { referenceOf, type WorkPassParts } from './work-pass.ts';

const pendingMs = 500;
const refusedMs = 30_000;

/**
 * Handles a ManifestWork that is being deleted: deletes its AppliedManifestWork, whose events cause the next call, and
 * at last removes the work's finalizer.
 */
export async function endWork(parts: WorkPassParts, work: HubObject): Promise<Outcome> {
  const { settings, session, appliedWorks, known, denied } = parts;
  const { writer } = settings;
  if (!textsAt(work, 'metadata', 'finalizers').includes(workFinalizer)) return 'done';
  session.follow(undefined, work.metadata.name, []);
  known.forget(work.metadata.name);
  denied.forget(work.metadata.name);
  if (findCondition(conditionsOf(work), 'Deleting')?.status !== 'True') {
    const conditions = withConditions(conditionsOf(work), [deletingFinding], generationOf(work));
    const { resourceVersion } = work.metadata;
    await writer.patch(manifestWorks, work, { metadata: { resourceVersion }, status: { conditions } }, '/status');
  }
  const appliedWork = appliedWorks.of(work.metadata.name);
  if (appliedWork === undefined) {
    const present = settings.work(work.metadata.namespace!, work.metadata.name) ?? work;
    await setFinalizer(writer, manifestWorks, present, { finalizer: workFinalizer, wanted: false });
    return 'done';
  }
  if (isDeleting(appliedWork)) return 'done';
  await orphan(removeParts(parts, appliedWork, referenceOf(work)), work, appliedWork);
  await appliedWorks.remove(appliedWork);
  return 'done';
}

/**
 * Removes the ManifestWork's owner reference from objects that must stay, since the work's `deleteOption` orphans them.
 * The option may have changed after the last apply.
 */
async function orphan({ kinds, objects, owner }: RemoveParts, work: HubObject, appliedWork: HubObject): Promise<void> {
  for (const resource of recordedIn(appliedWork)) {
    if (isOwned(work, resource)) continue;
    const kind = await kinds.findResource(resource.group, resource.version, resource.resource);
    if (kind === undefined) continue;
    const object = { kind, namespace: resource.namespace, name: resource.name };
    const live = await objects.get(object);
    if (live !== undefined)
      await setOwner(objects, object, live, { owner, wanted: false, fieldManager: defaultFieldManager });
  }
}

/**
 * Handles one AppliedManifestWork that this gateway made. If it is being deleted, deletes the objects that it records.
 * If its ManifestWork is missing on the hub, deletes it after the grace period.
 */
export async function endAppliedWork(parts: WorkPassParts, namespace: string, name: string): Promise<Outcome> {
  const { settings, appliedWorks } = parts;
  const appliedWork = appliedWorks.get(name);
  if (appliedWork === undefined || textAt(appliedWork, 'spec', 'agentID') !== settings.agentId) return 'done';
  const workName = textAt(appliedWork, 'spec', 'manifestWorkName');
  const work = settings.work(namespace, workName);
  if (!isDeleting(appliedWork))
    return await evict(parts, appliedWork, work !== undefined && isOfHub(parts, appliedWork));
  if (!textsAt(appliedWork, 'metadata', 'finalizers').includes(appliedWorkFinalizer)) return 'done';
  // The objects are being deleted, so what is remembered of them must not be used when the ManifestWork is applied
  // again.
  parts.known.forget(workName);
  const reference = work === undefined ? { namespace, name: workName, uid: '' } : referenceOf(work);
  const recorded = recordedIn(appliedWork);
  const left = await removeObjects(removeParts(parts, appliedWork, reference), recorded);
  if (left.resources.length === 0) {
    await appliedWorks.removeFinalizer(appliedWork);
    return 'done';
  }
  if (left.resources.length < recorded.length)
    await appliedWorks.writeStatus(appliedWork, { appliedResources: left.resources });
  return { afterMs: left.faults.length === 0 ? pendingMs : refusedMs };
}

function isOfHub({ settings: { hubHash } }: WorkPassParts, { metadata: { name } }: HubObject): boolean {
  return name.startsWith(`${hubHash}-`);
}

function removeParts(
  { settings, session }: WorkPassParts,
  appliedWork: HubObject,
  reference: WorkReference,
): RemoveParts {
  const own = executorFor('gateway', false);
  const written = executorFromKey(textAt(appliedWork, 'metadata', 'annotations', executorAnnotation)) ?? own;
  return {
    kinds: session.kinds,
    objects: session.objects(written, reference),
    ownObjects: settings.holdOnDenied ? undefined : session.objects(own, reference),
    owner: ownerReferenceTo(appliedWork.metadata),
  };
}

async function evict(
  { settings, appliedWorks }: WorkPassParts,
  appliedWork: HubObject,
  hasWork: boolean,
): Promise<Outcome> {
  const { evictionGraceMs } = settings;
  const start = evictionStart(appliedWork);
  if (hasWork || evictionGraceMs === Infinity) {
    if (start !== undefined) await appliedWorks.writeStatus(appliedWork, { evictionStartTime: null });
    return 'done';
  }
  const now = new Date();
  if (start === undefined) {
    await appliedWorks.writeStatus(appliedWork, { evictionStartTime: now.toISOString().replace(/\.\d+Z$/, 'Z') });
    return { afterMs: evictionGraceMs };
  }
  const leftMs = Date.parse(start) + evictionGraceMs - now.getTime();
  if (leftMs > 0) return { afterMs: leftMs };
  await appliedWorks.remove(appliedWork);
  return 'done';
}
