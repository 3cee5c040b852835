// After a ManifestWork was applied, records its objects in the AppliedManifestWork, and deletes recorded objects that
// the work does not contain any more. Nothing is deleted unless every manifest was applied and every object could be
// read.
import { isDeepStrictEqual } from 'node:util';
import { findCondition, type Finding } from '../../kube/objects/conditions.ts';
import { hashOf } from '../work/content-hash.ts';
import type { ManifestResult } from '../work/work-status.ts';
import type { RestMapper } from '../../kube/discovery/rest-mapper.ts';
import { allowPruneAnnotation, objectKey, ownPrefix, placed } from '../work/manifest-work.ts';
import type { Work } from '../work/work.ts';
import { appliedSpecAnnotation, type AppliedResource, type AppliedWork, type AppliedWorks } from './applied-works.ts';
import { removeObjects, type RemoveParts } from './remove-objects.ts';

export interface KeepInventoryParts extends RemoveParts {
  readonly appliedWorks: AppliedWorks;
  readonly appliedWork: AppliedWork;
  readonly work: Work;
}

/**
 * Records the objects that are about to be created, still without UIDs. Otherwise nobody would delete an object if the
 * process ended after creating and before recording it.
 * @returns the AppliedManifestWork as it is afterwards
 * @throws HubRefusal, GatewayError
 */
export async function announceObjects(
  appliedWorks: AppliedWorks,
  appliedWork: AppliedWork,
  work: Work,
  kinds: RestMapper,
): Promise<AppliedWork> {
  if (appliedWork.appliedSpec === textOfSpec(specOf(work))) return appliedWork;
  const recorded = appliedWork.resources;
  const known = new Set(recorded.map(objectKey));
  const announced: AppliedResource[] = [];
  for (const { meta, fault } of work.manifests) {
    const found = fault === undefined ? await placed(meta, kinds) : undefined;
    if (found === undefined) continue;
    const { group, version, resource, namespace, name } = found.meta;
    const object = { group, version, resource, namespace, name, uid: '' };
    if (!known.has(objectKey(object))) announced.push(object);
  }
  if (announced.length === 0) return appliedWork;
  return await appliedWorks.writeStatus(appliedWork, { appliedResources: inOrder([...recorded, ...announced]) });
}

export interface KeptInventory {
  /**
   * A condition with the reason why objects that the ManifestWork does not contain any more were not deleted; undefined
   * when none were kept.
   */
  readonly held: Finding | undefined;
  /**
   * Whether the ManifestWork has to be handled again soon, since objects are still being deleted or their deletion was
   * put off.
   */
  readonly isPending: boolean;
}

/**
 * Records the objects of a ManifestWork, and deletes those that it does not contain any more. @throws HubRefusal,
 * GatewayError
 */
export async function keepInventory(
  parts: KeepInventoryParts,
  results: readonly ManifestResult[],
): Promise<KeptInventory> {
  const { appliedWorks, appliedWork, work } = parts;
  const recorded = appliedWork.resources;
  const found = foundIn(results);
  const gone = untracked(recorded, found);
  const record = async (kept: readonly AppliedResource[]): Promise<AppliedWork> => {
    const appliedResources = inOrder([...found, ...kept]);
    if (isDeepStrictEqual(appliedResources, recorded)) return appliedWork;
    return await appliedWorks.writeStatus(appliedWork, { appliedResources });
  };
  const obstacle = obstacleTo(parts, results, gone);
  if (obstacle !== undefined) {
    await record(gone);
    return { held: obstacle.held, isPending: obstacle.isPending && gone.length > 0 };
  }
  const left = gone.length === 0 ? { resources: [], faults: [] } : await removeObjects(parts, gone, uidsOf(found));
  const kept = await record(left.resources);
  const applied = textOfSpec(specOf(work));
  if (appliedWork.appliedSpec !== applied) await appliedWorks.annotate(kept, { [appliedSpecAnnotation]: applied });
  const held = left.faults.length === 0 ? undefined : heldBecause('DeletionFailed', left.faults.join('; '));
  return { held, isPending: left.resources.length > 0 };
}

/** Why the objects `gone` are not deleted now; undefined when they are deleted. */
function obstacleTo(
  { work, appliedWork: { resources: recorded, appliedSpec } }: KeepInventoryParts,
  results: readonly ManifestResult[],
  gone: readonly AppliedResource[],
): KeptInventory | undefined {
  // The failed manifests are tried again anyway, and deletion is decided on again then.
  if (!isClean(results)) return { held: undefined, isPending: false };
  // A ManifestWork without the condition Applied is new to this hub. The recorded objects may come from another hub, or
  // from the time before this hub was restored or lost its state, so they are not deleted yet.
  if (findCondition(work.conditions, 'Applied') === undefined) return { held: undefined, isPending: true };
  if (work.allowsPrune) return undefined;
  const allow = `set the annotation ${allowPruneAnnotation}: "${work.generation}" if they are to go`;
  if (isOlderThan(specOf(work), appliedSpec)) {
    if (gone.length === 0) return { held: undefined, isPending: false };
    const message = `the work is older than what was applied before, so that ${gone.length} objects that it does not have are kept: ${allow}`;
    return { held: heldBecause('WorkIsOlder', message), isPending: false };
  }
  if (!isTooMuch(gone, recorded)) return undefined;
  const message = `${gone.length} of ${recorded.length} objects are no longer part of the work and are kept: ${allow}`;
  return { held: heldBecause('TooMuchAtOnce', message), isPending: false };
}

/** The condition that says why objects were kept that should have been deleted. */
export function heldBecause(reason: string, message: string): Finding {
  return { type: `${ownPrefix}PruneHeld`, status: 'True', reason, message };
}

function specOf({ uid, generation = 0, object }: Work): AppliedSpec {
  return { uid, generation, hash: hashOf(object['spec']) };
}

/** Returns those objects of the ManifestWork that exist after its manifests were applied. */
export function foundIn(results: readonly ManifestResult[]): readonly AppliedResource[] {
  return results.flatMap(({ meta, seen }) => {
    if (seen.state !== 'present') return [];
    const { group, version, resource, namespace, name } = meta;
    return [{ group, version, resource, namespace, name, uid: seen.uid }];
  });
}

/**
 * Whether every manifest was applied and every object could be read. Only then is it certain that a recorded object
 * which is missing in the results is no longer wanted.
 */
export function isClean(results: readonly ManifestResult[]): boolean {
  return results.every(
    ({ applied, seen }) => applied === 'done' && (seen.state === 'present' || seen.state === 'absent'),
  );
}

/**
 * Returns the recorded objects that are not among `found`. Two entries that differ only in the version of the kind are
 * the same object, and so are two of the same UID: a cluster can serve one object in two API groups, such as Events in
 * `v1` and `events.k8s.io`.
 */
export function untracked(
  recorded: readonly AppliedResource[],
  found: readonly AppliedResource[],
): readonly AppliedResource[] {
  const tracked = new Set(found.map(objectKey));
  const uids = uidsOf(found);
  return recorded.filter((each) => !tracked.has(objectKey(each)) && !uids.has(each.uid));
}

function uidsOf(found: readonly AppliedResource[]): ReadonlySet<string> {
  return new Set(found.map(({ uid }) => uid));
}

/**
 * Up to this number of objects may be deleted at once without a person's confirmation, whatever their share of all
 * objects.
 */
const freely = 3;

/**
 * Whether so many objects would be deleted that a person has to confirm it: more than `freely`, and more than half of
 * those that are recorded.
 */
export function isTooMuch(pruned: readonly AppliedResource[], recorded: readonly AppliedResource[]): boolean {
  return pruned.length > freely && pruned.length * 2 > recorded.length;
}

/** Sorts the objects by group, version, resource, namespace and name, as OCM's agent does. */
export function inOrder(resources: readonly AppliedResource[]): readonly AppliedResource[] {
  const keyOf = ({ group, version, resource, namespace, name }: AppliedResource): readonly string[] => [
    group,
    version,
    resource,
    namespace,
    name,
  ];
  return resources.toSorted((one, other) => {
    const [a, b] = [keyOf(one), keyOf(other)];
    const at = a.findIndex((part, index) => part !== b[index]);
    return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
  });
}

/**
 * The state of a ManifestWork that was applied without failures: its UID, its generation and a hash of its spec. It is
 * recorded in an annotation of the AppliedManifestWork.
 */
export interface AppliedSpec {
  readonly uid: string;
  readonly generation: number;
  readonly hash: string;
}

export function textOfSpec({ uid, generation, hash }: AppliedSpec): string {
  return `${uid}/${generation}/${hash}`;
}

/**
 * Whether the ManifestWork is older than the state that was applied last, which happens after the hub was restored from
 * a backup. The objects that this work does not contain may then be wanted: somebody may have added them after the
 * backup.
 */
export function isOlderThan(work: AppliedSpec, applied: string): boolean {
  const [uid = '', generation = '', hash = ''] = applied.split('/');
  if (uid !== work.uid || !/^\d+$/.test(generation)) return false;
  return work.generation < Number(generation) || (work.generation === Number(generation) && work.hash !== hash);
}
