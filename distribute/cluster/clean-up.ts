// Ends a ManifestWork that is deleted on the hub: deletes its AppliedManifestWork, with that the objects it records,
// and then removes the work's finalizer. An AppliedManifestWork whose work is missing on the hub is deleted after a
// grace period. Easy to get wrong: anyone who may write AppliedManifestWorks in the member may have forged one. So the
// identity that deletes the objects is taken from the work on the hub, where a finalizer keeps the work until the
// objects are gone.
import { findCondition, withConditions } from '../../kube/objects/conditions.ts';
import { setFinalizer } from '../../kube/objects/object-writer.ts';
import type { Outcome } from '../../controllers/queue/work-queue.ts';
import { isGroup, isLabel, isName } from '../../lib/objects/api-names.ts';
import { ownerReferenceTo, setOwner } from '../apply/owners.ts';
import type { AppliedResource, AppliedWork } from '../inventory/applied-works.ts';
import { removeObjects, type RemoveParts } from '../inventory/remove-objects.ts';
import { heldBecause } from '../inventory/keep-inventory.ts';
import { executorFor, ExecutorRefused, executorOf, ownExecutor, type Executor } from '../member/executor-identity.ts';
import type { ObjectName } from '../member/member-objects.ts';
import { defaultFieldManager, makeOwnership } from '../work/manifest-config.ts';
import { manifestWorks, workFinalizer } from '../work/manifest-work.ts';
import type { Work } from '../work/work.ts';
import { deletingFinding } from '../work/work-status.ts';
import { rightOf } from './executor-right.ts';
import { writeOwnConditions, type ReconcileParts } from './reconcile-work.ts';

const pendingMs = 500;
const refusedMs = 30_000;
/**
 * An AppliedManifestWork without a work on the hub, whose objects cannot be deleted, is tried again and logged again
 * after this many milliseconds.
 */
const untoldMs = 600_000;

/**
 * Handles a ManifestWork that is being deleted: deletes its AppliedManifestWork, whose events cause the next call, and
 * at last removes the work's finalizer.
 */
export async function endWork(parts: ReconcileParts, work: Work): Promise<Outcome> {
  const { settings, session, appliedWorks, known } = parts;
  const { writer } = settings;
  const { object, name, namespace } = work;
  if (!work.hasFinalizer) return 'done';
  session.forget(name);
  known.forget(name);
  if (findCondition(work.conditions, 'Deleting')?.status !== 'True') {
    const conditions = withConditions(work.conditions, [deletingFinding], work.generation);
    await writer.patchStatus(manifestWorks, object, { conditions });
  }
  const appliedWork = appliedWorks.of(name);
  if (appliedWork === undefined) {
    const present = settings.work(namespace, name) ?? work;
    await setFinalizer(writer, manifestWorks, present.object, { finalizer: workFinalizer, wanted: false });
    return 'done';
  }
  if (appliedWork.isDeleting) return 'done';
  const remover = await removerOf(parts, appliedWork, work);
  if ('held' in remover) return await hold(parts, appliedWork, work, remover.held);
  await orphan(removeParts(parts, appliedWork, work, remover.executor), work, appliedWork);
  await appliedWorks.remove(appliedWork);
  return 'done';
}

/**
 * Removes the ManifestWork's owner reference from objects that must stay, since the work's `deleteOption` orphans them.
 * The option may have changed after the last apply.
 */
async function orphan({ kinds, objects, owner }: RemoveParts, work: Work, { resources }: AppliedWork): Promise<void> {
  const owns = makeOwnership(work.deleteOption);
  for (const resource of resources) {
    if (owns(resource) || !isUsable(resource)) continue;
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
export async function endAppliedWork(parts: ReconcileParts, namespace: string, name: string): Promise<Outcome> {
  const { settings, appliedWorks } = parts;
  const appliedWork = appliedWorks.get(name);
  if (appliedWork === undefined || appliedWork.agentId !== settings.agentId) return 'done';
  const { workName } = appliedWork;
  // An AppliedManifestWork is called `<hash of the hub>-<name of its ManifestWork>`. If its name does not match the
  // `workName` in it, it belongs to no ManifestWork.
  const work = name === `${settings.hubHash}-${workName}` ? settings.work(namespace, workName) : undefined;
  if (!appliedWork.isDeleting) return await evict(parts, appliedWork, work !== undefined);
  if (!appliedWork.hasFinalizer) return 'done';
  const remover = await removerOf(parts, appliedWork, work);
  if ('held' in remover) return await hold(parts, appliedWork, work, remover.held);
  // The objects are being deleted, so what is remembered of them must not be used when the ManifestWork is applied
  // again.
  parts.known.forget(workName);
  const recorded = appliedWork.resources;
  const left = await removeObjects(removeParts(parts, appliedWork, work, remover.executor), recorded);
  if (left.resources.length === 0) {
    await appliedWorks.removeFinalizer(appliedWork);
    return 'done';
  }
  if (left.resources.length < recorded.length)
    await appliedWorks.writeStatus(appliedWork, { appliedResources: left.resources });
  if (left.faults.length === 0) return { afterMs: pendingMs };
  return await hold(parts, appliedWork, work, left.faults.join('; '));
}

/** The identity that deletes the objects of an AppliedManifestWork, or the reason why they are not deleted. */
type Remover = { readonly executor: Executor } | { readonly held: string };

/**
 * Decides which identity deletes the objects. If the work still exists on the hub, it is the work's executor; if that
 * differs from the executor that the AppliedManifestWork records, the hub is asked whether the work's author may use
 * it, as before an apply. Without a work, only the default ServiceAccount of the operator is used, and only if it is
 * the recorded executor; the gateway's own credential is never used then.
 */
async function removerOf(
  { settings }: ReconcileParts,
  appliedWork: AppliedWork,
  work: Work | undefined,
): Promise<Remover> {
  const recorded = appliedWork.executor;
  const { defaultExecutor } = settings;
  try {
    if (work !== undefined) {
      const executor = executorOf(work.executor, defaultExecutor);
      const refused = executor.key === recorded ? undefined : (await rightOf(settings, work, executor)).refused;
      return refused === undefined ? { executor } : { held: refused };
    }
    // Without objects, no request is sent.
    if (appliedWork.resources.length === 0) return { executor: ownExecutor };
    const fallback = typeof defaultExecutor === 'string' ? undefined : executorFor(defaultExecutor, false);
    if (fallback?.key === recorded) return { executor: fallback };
  } catch (error) {
    if (error instanceof ExecutorRefused) return { held: error.message };
    throw error;
  }
  return {
    held: 'its work is not on the hub, so it is not known which identity may delete the objects: make a work of this name with the executor and delete it, or delete the objects and the finalizer of the AppliedManifestWork in the cluster',
  };
}

/**
 * Reports why objects are not deleted: in a condition of the work, or in the log when the hub does not have the work.
 */
async function hold(
  { settings, log }: ReconcileParts,
  appliedWork: AppliedWork,
  work: Work | undefined,
  fault: string,
): Promise<Outcome> {
  const message = `what was applied for the work is not deleted: ${fault}`;
  if (work === undefined) {
    log.warn(
      { record: appliedWork.name, fault },
      'works: the objects that an AppliedManifestWork records are not deleted',
    );
    return { afterMs: untoldMs };
  }
  await writeOwnConditions(settings, work, [heldBecause('DeletionFailed', message)]);
  return { afterMs: refusedMs };
}

function isUsable({ group, version, resource, namespace, name }: AppliedResource): boolean {
  const isPlace = namespace === '' || isLabel(namespace);
  return isGroup(group) && isLabel(version) && isLabel(resource) && isPlace && isName(name);
}

function removeParts(
  { settings, session }: ReconcileParts,
  appliedWork: AppliedWork,
  work: Work | undefined,
  executor: Executor,
): RemoveParts {
  const namespace = work?.namespace ?? '';
  const reference = work === undefined ? { namespace, name: appliedWork.workName, uid: '' } : work;
  const ofHub = work !== undefined && !settings.holdOnDenied;
  return {
    kinds: session.kinds,
    objects: session.objects(executor, reference),
    ownObjects: ofHub ? session.objects(ownExecutor, reference) : undefined,
    isOfWork: (object) => work !== undefined && hasManifestOf(work, object),
    owner: ownerReferenceTo(appliedWork),
  };
}

async function evict(parts: ReconcileParts, appliedWork: AppliedWork, hasWork: boolean): Promise<Outcome> {
  const { appliedWorks } = parts;
  const { evictionGraceMs } = parts.settings;
  const start = appliedWork.evictionStart;
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
  // When the AppliedManifestWork is gone, the member's garbage collector deletes the objects that it owns. So it is
  // kept while no identity may delete these objects.
  const remover = await removerOf(parts, appliedWork, undefined);
  if ('held' in remover) return await hold(parts, appliedWork, undefined, remover.held);
  await appliedWorks.remove(appliedWork);
  return 'done';
}

/** Whether the work on the hub contains a manifest of this object. */
function hasManifestOf({ manifests }: Work, { kind, namespace, name }: ObjectName): boolean {
  return manifests.some(({ meta }) => {
    const isThere = !kind.namespaced || meta.namespace === namespace;
    return isThere && meta.group === kind.group && meta.kind === kind.kind && meta.name === name;
  });
}
